"""What a sentence states: its stems, its quantities, whether it denies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from orglab.engine.tools.records.bm25 import STOP_WORDS, stem
from orglab.evaluators.text.normalize import fold_case, words

REPORTING = frozenset(
    """
    according buyer buyers customer customers describe describes described few find found many
    mention mentioned mentions multiple note noted notes owner owners people report reported reports
    review reviewer reviewers reviews said say says several state stated states user users various
    """.split()  # noqa: SIM905 - a list would be four times as long
)
"""Words that name the speaker, not the statement."""

UNITS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("gb", "gigabyte", "gigabytes"), ("GB", 1.0)),
    **dict.fromkeys(("tb", "terabyte", "terabytes"), ("GB", 1000.0)),
    **dict.fromkeys(("mb", "megabyte", "megabytes"), ("GB", 0.001)),
    **dict.fromkeys(("inch", "inches"), ("inch", 1.0)),
    **dict.fromkeys(("kg", "kilogram", "kilograms"), ("kg", 1.0)),
    **dict.fromkeys(("lb", "lbs", "pound", "pounds"), ("kg", 0.45359237)),
    **dict.fromkeys(("hour", "hours", "hr", "hrs"), ("hour", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("hour", 1 / 60)),
    **dict.fromkeys(("w", "watt", "watts"), ("W", 1.0)),
    **dict.fromkeys(("star", "stars"), ("star", 1.0)),
    **dict.fromkeys(("nit", "nits"), ("nit", 1.0)),
    **dict.fromkeys(("percent", "percentage"), ("%", 1.0)),
    **dict.fromkeys(("dollar", "dollars", "usd"), ("USD", 1.0)),
    "wh": ("Wh", 1.0),
    "hz": ("Hz", 1.0),
    "ghz": ("GHz", 1.0),
    "mhz": ("GHz", 0.001),
    "mah": ("mAh", 1.0),
    "fps": ("fps", 1.0),
}
"""Units by the words for them: the unit that counts, and how many of it one is."""

_NEGATIONS = frozenset({"cannot", "neither", "never", "no", "none", "nor", "not", "without"})
_MODELS = frozenset({"ti", "super", "max", "pro", "plus"})  # `4060 Ti` is another thing than `4060`
_NUMBER = regex.compile(r"(\d[\d,]*(?:\.\d+)?)(\p{L}*)")
_TIMES = regex.compile(r"(\d) ?[x\u00d7] ?(\d)")
_DOLLARS = regex.compile(r"\$ ?(\d[\d,]*(?:\.\d+)?)")
_SAME = 0.005  # relative: 5.07 lb are 2.3 kg


class Quantity(NamedTuple):
    """A quantity or a code.

    Attributes:
        kind: What it is a figure of: a unit (``GB``), or the word before it (``rtx``), or the one
            after it where that says nothing; "" unknown.
        value: A number in that unit, or the code (``13620h``).
        written: As it stands in the text, folded.
        converted: It was given in another unit, so that it may be rounded.
    """

    kind: str
    value: float | str
    written: str
    converted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """What a text states.

    Attributes:
        stems: The stems of its words, figures and words of no weight left out.
        figures: Its figures.
        denies: It holds a negation.
    """

    stems: frozenset[str]
    figures: tuple[Quantity, ...]
    denies: bool


def read_statement(
    text: str, synonyms: Mapping[str, str] | None = None, ignore: frozenset[str] = frozenset()
) -> Statement:
    """Read a text.

    Args:
        text: A sentence, or some.
        synonyms: The stem that stands for each stem.
        ignore: Words that do not count, beside those that never do.
    """
    tokens = words(_signs_as_words(fold_case(text)))
    figures, used = _quantities(tokens)
    kept = [
        stem(token)
        for place, token in enumerate(tokens)
        if place not in used and not _weightless(token) and token not in ignore
    ]
    return Statement(
        stems=frozenset((synonyms or {}).get(each, each) for each in kept),
        figures=tuple(figures),
        denies=any(_negation(token) for token in tokens),
    )


def _signs_as_words(text: str) -> str:
    """Write signs as words: percent, dollars, ``2560 x 1600`` as one."""
    text = _TIMES.sub(r"\1x\2", text.replace("%", " percent "))
    return _DOLLARS.sub(r"\1 dollars", text).replace("us dollars", "dollars")


def agree(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities agree; one of unknown kind agrees with an equal one of any kind."""
    alike = one.kind == other.kind or not one.kind or not other.kind
    if isinstance(one.value, str) or isinstance(other.value, str):
        return one.value == other.value  # a code is rare enough to be known anywhere
    if not alike:
        return False
    rounded = _SAME if one.converted or other.converted else 1e-9
    return math.isclose(one.value, other.value, rel_tol=rounded)


def _quantities(tokens: Sequence[str]) -> tuple[list[Quantity], set[int]]:
    """Return the figures, and the places of the tokens that they are made of."""
    found: list[Quantity] = []
    used: set[int] = set()
    for place, token in enumerate(tokens):
        if place in used or not _digits(token):
            continue
        figure, length = _quantity_at(tokens, place)
        found.append(figure)
        used.update(range(place, place + length))
    return found, used


def _quantity_at(tokens: Sequence[str], place: int) -> tuple[Quantity, int]:
    token = tokens[place]
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    before = tokens[place - 1] if place else ""
    beside = [before, "" if _digits(after) else after]
    kind = next((stem(each) for each in beside if _names_a_kind(each)), "")
    match = _NUMBER.fullmatch(token)
    if match is not None:
        number, suffix = float(match[1].replace(",", "")), match[2]
        if suffix in UNITS:
            unit, times = UNITS[suffix]
            return Quantity(unit, number * times, token, times != 1), 1
        if not suffix and after in UNITS:
            unit, times = UNITS[after]
            return Quantity(unit, number * times, f"{token} {after}", times != 1), 2
        if not suffix and after not in _MODELS:
            return Quantity(kind, number, token), 1
    if after in _MODELS:
        return Quantity(kind, f"{token} {after}", f"{token} {after}"), 2
    return Quantity(kind, token, token), 1


def _digits(token: str) -> bool:
    return any(sign.isdigit() for sign in token)


def _names_a_kind(token: str) -> bool:
    """Return whether the token can name the kind of a quantity beside it."""
    return not _weightless(token) and token not in UNITS and token not in _MODELS


def _weightless(token: str) -> bool:
    return not token or token in STOP_WORDS or _negation(token)


def _negation(token: str) -> bool:
    return token in _NEGATIONS or token.endswith("n't")
