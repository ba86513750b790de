"""Numbers in text, and when two numbers are near enough to be the same."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import regex

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.text.normalize import fold

__all__ = ["Found", "last_number", "near"]

_NUMBER = regex.compile(
    r"""
    (?<! [\p{L}\p{N}_] | \p{N}[.,] )                     # neither i7 nor the tail of 1.2.3
    [-+\u2212]?
    (?: [0-9]+ (?: [.,] [0-9]+ )* | [.,] [0-9]+ )
    (?: [eE] [-+]? [0-9]+ )?
    """,
    regex.VERBOSE,
)
_GROUPED = {
    ".": regex.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?:[eE].*)?"),
    ",": regex.compile(r"[-+]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?(?:[eE].*)?"),
}


class Found(NamedTuple):
    """A number as it stands in a text."""

    value: float
    written: str


def last_number(text: str, decimal: Literal[".", ","] = ".") -> Found | None:
    """The last number of a text; None where it has none.

    A sign, groups of three digits, a fraction and an exponent are read; a unit or a percent sign
    behind it is not looked at; digits glued to a letter before them (``i7``) are no number.

    Raises:
        EvaluationError: The last number can be read in two ways (``1,5`` with the point as decimal
            mark), or is too large.
    """
    every = _NUMBER.findall(fold(text))
    if not every:
        return None
    written = every[-1].replace("\u2212", "-")
    value = float(_plain(written, decimal))
    if not math.isfinite(value):
        raise EvaluationError(f"the number {written} is too large to compare")
    return Found(value, written)


def _plain(written: str, decimal: Literal[".", ","]) -> str:
    group = "," if decimal == "." else "."
    if group in written:
        if not _GROUPED[decimal].fullmatch(written):
            raise EvaluationError(
                f"the number {written} can be read in more than one way: "
                f"give `decimal: {group!r}`, or have the role write it plainly"
            )
        written = written.replace(group, "")
    if written.count(decimal) > 1:
        raise EvaluationError(f"{written} is no number: it has more than one {decimal!r}")
    return written.replace(decimal, ".")


def near(found: float, expected: float, *, tolerance: float = 0.0, relative: float = 0.0) -> bool:
    """Whether two numbers differ by no more than the larger of the two allowances.

    Args:
        found: One number.
        expected: The other, to which ``relative`` refers.
        tolerance: Largest difference, in the numbers' own unit.
        relative: Largest difference as a share of ``expected``.
    """
    rounding = 1e-12 * max(abs(found), abs(expected))  # 0.4 - 0.3 is more than 0.1
    return abs(found - expected) <= max(tolerance, relative * abs(expected)) + rounding
