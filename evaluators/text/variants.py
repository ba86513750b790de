"""Exact variants of a product's parts, found by patterns that a study declares.

A *variant* has one spelling (``i7-13620h``, ``16 GB``), so that two texts can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import regex

from orglab.evaluators.base import JSON, EvaluationError
from orglab.evaluators.text.normalize import fold, fold_case
from orglab.evaluators.text.pattern import SECONDS, compile_pattern

_KEYS = {"patterns", "listed", "join", "unit", "units", "binary", "rounded", "required"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One variant of a part.

    Attributes:
        name: In one spelling.
        size: The size, for parts whose sizes texts round; else None.
        rounding: Half a unit of the last digit that was given.
    """

    name: str
    size: float | None = None
    rounding: float = 0.0

    def fits(self, other: Variant) -> bool:
        """Return whether the two name one thing; sizes may differ by the coarser rounding."""
        if self.size is None or other.size is None:
            return self.name == other.name
        return abs(self.size - other.size) <= max(self.rounding, other.rounding) + 1e-9


@dataclass(frozen=True, kw_only=True)
class PartPatterns:
    """How the variants of one part are written.

    Attributes:
        patterns: Regular expressions for a folded text in lower case.
        listed: Other patterns for listings, where they say more than a report must.
        join: Joins the groups of a match to the variant's name.
        unit: The groups are a number and, if there is a second one, its unit; this is the unit of
            the name. "": the name is the joined groups.
        units: Factor to ``unit`` by the beginning of the unit that is written.
        binary: Multiples of 1024 count as multiples of 1000.
        rounded: Sizes are compared with their rounding.
        required: A text must name it to name the specification exactly.
    """

    patterns: Sequence[str]
    listed: Sequence[str] = ()
    join: str = " "
    unit: str = ""
    units: Mapping[str, float] = field(default_factory=dict)
    binary: bool = False
    rounded: bool = False
    required: bool = False

    def variants(self, text: str, *, listing: bool = False) -> list[Variant]:
        """Return the variants in ``text``, each once, in order.

        Raises:
            EvaluationError: A pattern took too long.
        """
        folded = fold_case(fold(text))
        try:
            matches = [
                match
                for pattern in (self.listed if listing and self.listed else self.patterns)
                for match in compile_pattern(pattern).finditer(folded, timeout=SECONDS)
            ]
        except TimeoutError:
            raise EvaluationError(f"a pattern took longer than {SECONDS:g} s") from None
        found = (self._variant(match) for match in sorted(matches, key=lambda match: match.start()))
        return list({each.name: each for each in found}.values())

    def _variant(self, match: regex.Match[str]) -> Variant:
        if not self.unit:
            return Variant(name=self.join.join(each.strip() for each in match.groups() if each))
        written, *units = match.groups()
        factor = next(
            (self.units[start] for start in self.units if units and units[0].startswith(start)), 1.0
        )
        size = float(written) * factor
        if self.rounded:
            digits = len(written.partition(".")[2])
            return Variant(name=match[0], size=size, rounding=0.5 * 10.0**-digits * factor)
        if self.binary and size % 1024 == 0:
            size /= 1.024
        return Variant(name=f"{size:g} {self.unit}")

    def amount_pattern(self, name: str) -> str:
        """Return a pattern for the amount ``name``, in any unit that divides it into halves."""
        size = float(name.removesuffix(f" {self.unit}"))
        units = self.units or {self.unit.lower(): 1.0}
        ways = [
            f"{size / factor:g} ?{unit}"
            for unit, factor in units.items()
            if factor == 1 or size % (factor / 2) == 0
        ]
        return rf"(?<![\d.])(?:{'|'.join(ways)})\b"


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Parts by name.

    Attributes:
        parts: The parts.
        loose: Parts of the loose form: ``text`` or ``amount``, how each is looked for.
    """

    parts: Mapping[str, PartPatterns] = field(default_factory=dict)
    loose: Mapping[str, str] = field(default_factory=dict)

    def loosely_named(self, text: str, specs: str) -> Iterator[tuple[str, bool]]:
        """Yield each loose part that ``specs`` lists, and whether it stands anywhere in ``text``."""
        folded = fold_case(fold(text))
        for name, way in self.loose.items():
            part = self.parts[name]
            if listed := [each.name for each in part.variants(specs, listing=True)]:
                form = part.amount_pattern if way == "amount" else _text_pattern
                yield name, any(regex.search(form(each), folded) for each in listed)


def _text_pattern(name: str) -> str:
    return rf"\b{regex.escape(name).replace(chr(92) + ' ', ' ?')}\b"


def read_vocabulary(document: JSON, file: str) -> Vocabulary:
    """Read a vocabulary from the YAML document of ``file``.

    Raises:
        EvaluationError: It is wrong.
    """
    if not isinstance(document, Mapping) or document.keys() - {"parts", "loose"}:
        raise EvaluationError(f"{file}: write the maps `parts` and `loose`")
    parts: dict[str, PartPatterns] = {}
    for name, written in (document.get("parts") or {}).items():
        place = f"{file}: parts.{name}"
        if not isinstance(written, Mapping) or not written.get("patterns"):
            raise EvaluationError(f"{place}: `patterns` is required (list of regular expressions)")
        if unknown := written.keys() - _KEYS:
            raise EvaluationError(f"{place}: unknown {', '.join(sorted(unknown))}")
        parts[name] = PartPatterns(**written)
        for pattern in (*parts[name].patterns, *parts[name].listed):
            try:
                groups = compile_pattern(pattern).groups
            except (TypeError, ValueError) as error:
                raise EvaluationError(f"{place}: {error}") from None
            if not groups:
                raise EvaluationError(f"{place}: {pattern!r} has no group that names the variant")
    loose = document.get("loose") or {}
    for name, way in loose.items():
        if name not in parts or way not in ("text", "amount"):
            raise EvaluationError(f"{file}: loose.{name}: a part, `text` or `amount`")
    return Vocabulary(parts=parts, loose=loose)
