"""Hardware as listings and reports name it: exact variants, found by pattern.

The patterns are for computers: processors, graphics, memory, storage, screens, batteries, weight.
Each gives a *variant* in one spelling (``i7-13620h``, ``16 GB``), so that two texts can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from orglab.evaluators.text.normalize import fold, fold_case

__all__ = ["KEY", "PARTS", "Part", "Variant", "by_pattern", "variants"]

_LABEL = r"[ *:|=\u2013\u2014-]{1,8}"
_DRIVE = r"(?:ssd|nvme|hdd|emmc|storage|drive|solid[- ]state)"
_BETWEEN = (
    r"(?:[ -](?:of|pcie|gen ?\d|\d\.\d|x\d|m\.2|fast|internal|primary|total|local|solid[- ]state))"
)
_NO_RAM = rf"(?! ?(?:gddr|of v|vram|video|graphics|pcie|m\.2|{_DRIVE}|of {_DRIVE}))"
_KILOGRAMS = 0.45359237


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One variant of a part.

    Attributes:
        name: In one spelling.
        size: For what has a size that texts round (weights): the size; else None.
        rounding: Half a unit of the last digit that was given.
    """

    name: str
    size: float | None = None
    rounding: float = 0.0

    def fits(self, other: Variant) -> bool:
        """The two name one thing; sizes may differ by the coarser rounding."""
        if self.size is None or other.size is None:
            return self.name == other.name
        return abs(self.size - other.size) <= max(self.rounding, other.rounding) + 1e-9


Read = Callable[[regex.Match[str]], Variant]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a computer.

    Attributes:
        patterns: Where variants stand in a folded text without capitals.
        read: The variant of a match.
        listed: Other patterns for listings, where they say more than a report must.
    """

    patterns: Sequence[regex.Pattern[str]]
    read: Read
    listed: Sequence[regex.Pattern[str]] = ()


def _joined(separator: str = " ") -> Read:
    return lambda match: Variant(
        name=separator.join(each.strip() for each in match.groups() if each)
    )


def _number(unit: str) -> Read:
    return lambda match: Variant(name=f"{float(match[1]):g} {unit}")


def _capacity(match: regex.Match[str]) -> Variant:
    size = float(match["n"]) * (1000 if match["u"] == "tb" else 1)
    return Variant(name=f"{size / 1.024 if size % 1024 == 0 else size:g} GB")


def _weight(match: regex.Match[str]) -> Variant:
    times = 1.0 if match[2].startswith("k") else _KILOGRAMS
    digits = len(match[1].partition(".")[2])
    return Variant(
        name=match[0], size=float(match[1]) * times, rounding=0.5 * 10.0**-digits * times
    )


def _resolution(match: regex.Match[str]) -> Variant:
    return Variant(name=f"{match[1]}x{match[2]}")


def _part(*patterns: str, read: Read, listed: str = "") -> Part:
    return Part(
        patterns=[regex.compile(each) for each in patterns],
        read=read,
        listed=[regex.compile(listed)] if listed else (),
    )


PARTS: Mapping[str, Part] = {
    "cpu": _part(
        r"\b(i[3579])[- ]?(\d{4,5}(?:[a-z]{1,2}\d?)?)\b",
        r"\b(ultra [579])[- ](\d{3}[a-z]{0,2})\b",
        r"\b(ryzen)(?: ai)?(?: [3579])?(?: pro)?[- ]((?:hx )?\d{3,4}(?:[a-z]{1,2}3?d?)?)\b",
        read=_joined("-"),
    ),
    "cpu_family": _part(  # a family alone, such as "a Core i7"
        r"\b(i[3579]|ultra [579]|ryzen(?: ai)? [3579])\b(?![- ]?(?:pro )?(?:hx )?\d{3})",
        read=_joined(),
        listed=r"\b(i[3579]|ultra [579]|ryzen(?: ai)? [3579])\b",
    ),
    "gpu": _part(
        r"\b(rtx|gtx|rx|arc|mx)[- ]?(a?\d{3,4}[ms]?)(?:[- ]?(ti|super|xt))?\b", read=_joined()
    ),
    "vram": _part(
        r"(?<![\d.])(\d+) ?gb(?: of)?(?: dedicated)? (?:gddr\d|vram\b|(?:video|graphics) (?:memory|ram)\b)",
        read=_number("GB"),
    ),
    "ram": _part(
        r"(?<![\d.])(\d+) ?gb(?: of)?(?: [a-z-]+)? (?:lp)?ddr\d",
        r"(?<![\d.])(\d+) ?gb(?: of)?(?: (?:system|main|total|installed|fast))? (?:ram|memory)\b",
        rf"(?<!video )(?<!graphics )\b(?:ram|memory){_LABEL}(\d+) ?gb\b{_NO_RAM}",
        read=_number("GB"),
    ),
    "ram_type": _part(r"\b((?:lp)?ddr\dx?)\b", read=_joined()),
    "ram_speed": _part(r"\b(?:lp)?ddr\dx?[- ](\d{4})\b", read=_joined()),
    "storage": _part(
        rf"(?<![\d.])(?P<n>\d+(?:\.\d+)?) ?(?P<u>[gt]b){_BETWEEN}{{0,5}}[ -]{_DRIVE}\b",
        r"(?<![\d.])(?P<n>\d+(?:\.\d+)?) ?(?P<u>tb)\b",
        rf"\b(?:storage|ssd){_LABEL}(?P<n>\d+(?:\.\d+)?) ?(?P<u>[gt]b)\b",
        read=_capacity,
    ),
    "screen": _part(r"(?<![\d.])(1\d(?:\.\d)?)(?:[- ]?inch(?:es)?\b| ?\")", read=_number("inch")),
    "resolution": _part(r"(?<!\d)(\d{4}) ?[x\u00d7] ?(\d{3,4})(?!\d)", read=_resolution),
    "panel": _part(r"\b(ips|oled|mini[- ]led)\b", read=_joined()),
    "refresh_rate": _part(r"(?<![\d.])(\d{2,3}) ?hz\b", read=_number("Hz")),
    "battery": _part(r"(?<![\d.])(\d+(?:\.\d+)?)[ -]?(?:wh|watt[- ]hours?)\b", read=_number("Wh")),
    "weight": _part(
        r"(?<![\d.])(\d+(?:\.\d+)?)[ -]?(kg|kilograms?|kilos?|lbs?|pounds?)\b", read=_weight
    ),
    "os": _part(r"\bwindows (\d+)\b", read=_joined()),
    "os_edition": _part(r"\bwindows \d+ (home|pro)\b", read=_joined()),
}
"""Parts by name."""

KEY = frozenset(
    {"cpu", "gpu", "ram", "storage", "screen", "resolution", "refresh_rate", "battery", "weight"}
) | {"os"}
"""What a report must name of a specification; the other parts may be left out, but not wrong."""


def variants(text: str, part: Part, *, listing: bool = False) -> list[Variant]:
    """The variants of a part in a text, each once, in order."""
    folded = fold_case(fold(text))
    patterns = part.listed if listing and part.listed else part.patterns
    matches = [match for each in patterns for match in each.finditer(folded)]
    found = (part.read(match) for match in sorted(matches, key=lambda match: match.start()))
    return list({each.name: each for each in found}.values())


def by_pattern(text: str, specs: str) -> Iterator[tuple[str, bool]]:
    """The loose form: does a text name the graphics, memory, processor and storage of a listing?

    As it was first published: the model of the graphics, the family of the processor, and the two
    amounts wherever they stand. An ``i7-13620H`` passes for an ``i7-13650HX``.

    Args:
        text: The report.
        specs: The listing's specifications, one a line.
    """
    folded = fold_case(fold(text))
    for part, loose in _LOOSE.items():
        listed = variants(specs, PARTS[part], listing=True)
        if listed:
            yield part, any(loose(each.name, folded) for each in listed)


def _stands(name: str, text: str) -> bool:
    return regex.search(rf"\b{regex.escape(name).replace(chr(92) + ' ', ' ?')}\b", text) is not None


def _amount(name: str, text: str) -> bool:
    size = float(name.removesuffix(" GB"))
    ways = [f"{size:g} ?gb", *([f"{size / 1000:g} ?tb"] if size % 500 == 0 else [])]
    return regex.search(rf"(?<![\d.])(?:{'|'.join(ways)})\b", text) is not None


_LOOSE: Mapping[str, Callable[[str, str], bool]] = {
    "gpu": _stands,
    "ram": _amount,
    "cpu_family": _stands,
    "storage": _amount,
}
