"""Is the number that an output gives the right one?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import regex

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
)
from orglab.evaluators.structured.field_path import (
    ABSENT,
    no_field,
    no_reference,
    reference_answer,
    value_at,
)
from orglab.evaluators.text.equals import brief
from orglab.evaluators.text.normalize import fold

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


class ParsedNumber(NamedTuple):
    """A number as it stands in a text."""

    value: float
    written: str


def last_number(text: str, decimal: Literal[".", ","] = ".") -> ParsedNumber | None:
    """Return the last number of a text; None where it has none.

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
    value = float(_plain_number(written, decimal))
    if not math.isfinite(value):
        raise EvaluationError(f"the number {written} is too large to compare")
    return ParsedNumber(value, written)


def _plain_number(written: str, decimal: Literal[".", ","]) -> str:
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
    """Return whether two numbers differ by no more than the larger of the two allowances.

    Args:
        found: One number.
        expected: The other, to which ``relative`` refers.
        tolerance: Largest difference, in the numbers' own unit.
        relative: Largest difference as a share of ``expected``.
    """
    rounding = 1e-12 * max(abs(found), abs(expected))  # 0.4 - 0.3 is more than 0.1
    return abs(found - expected) <= max(tolerance, relative * abs(expected)) + rounding


@dataclass(frozen=True, kw_only=True)
class Number(OutputEvaluator):
    """Whether the last number of the output, or the number in a field, is the right one.

    Attributes:
        to: The right number; default: the unit's reference.
        field: The field of a structured output that holds the number.
        tolerance: Largest difference, in the number's own unit.
        relative: Largest difference as a share of the right number; the larger allowance counts.
        decimal: The decimal mark of the output's text.
        reference: Column of the unit with the reference answer.
    """

    scale: ClassVar[Scale] = "binary"

    to: float | None = None
    field: str | None = None
    tolerance: float = 0.0
    relative: float = 0.0
    decimal: Literal[".", ","] = "."
    reference: str = "reference"

    def __post_init__(self) -> None:
        if self.tolerance < 0 or self.relative < 0:
            raise ValueError("tolerance and relative must not be negative")

    async def look(self, output: Output, context: Context) -> Score:
        """Find the number and compare it."""
        expected = self._expected(context)
        if expected is None:
            return self.score(None, no_reference(self.reference, "to"))
        found = self._found(output)
        if isinstance(found, str):
            return self.score(False, found, detail={"found": None, "expected": expected})
        detail = {"found": found.value, "expected": expected}
        if near(found.value, expected, tolerance=self.tolerance, relative=self.relative):
            return self.score(True, detail=detail)
        return self.score(False, f"gives {found.written}, expected {expected:.15g}", detail=detail)

    def _expected(self, context: Context) -> float | None:
        if self.to is not None:
            return float(self.to)
        reference = reference_answer(context, self.reference)
        if reference is ABSENT:
            return None
        number = _number_of(reference, ".")
        if number is None:
            raise EvaluationError(f"the unit's {self.reference!r} holds no number: {reference!r}")
        return number.value

    def _found(self, output: Output) -> ParsedNumber | str:
        value = output.text if self.field is None else value_at(output, self.field)
        if value is ABSENT:
            return no_field(self.field)
        return _number_of(value, self.decimal) or f"no number in {brief(value)}"


def _number_of(value: JSON, decimal: Literal[".", ","]) -> ParsedNumber | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ParsedNumber(float(value), f"{value}")
    return last_number(value, decimal) if isinstance(value, str) else None
