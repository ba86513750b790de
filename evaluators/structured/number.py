"""Is the number that an output gives the right one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
)
from orglab.evaluators.reference import no_reference, reference_answer
from orglab.evaluators.structured.field_path import ABSENT, value_at
from orglab.evaluators.structured.numbers import Found, last_number, near
from orglab.evaluators.text.equals import brief

__all__ = ["Number"]


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
        """Finds the number and compares it."""
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

    def _found(self, output: Output) -> Found | str:
        value = output.text if self.field is None else value_at(output, self.field)
        if value is ABSENT:
            return f"the output has no field {self.field!r}"
        return _number_of(value, self.decimal) or f"no number in {brief(value)}"


def _number_of(value: JSON, decimal: Literal[".", ","]) -> Found | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Found(float(value), f"{value}")
    return last_number(value, decimal) if isinstance(value, str) else None
