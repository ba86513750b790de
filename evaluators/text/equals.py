"""Is an output what it should be?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from orglab.evaluators.base import JSON, Context, Output, OutputEvaluator, Scale, Score
from orglab.evaluators.structured.field_path import (
    ABSENT,
    no_field,
    no_reference,
    reference_answer,
    value_at,
)
from orglab.evaluators.text.normalize import fold, fold_case


@dataclass(frozen=True, kw_only=True)
class Equals(OutputEvaluator):
    """Whether the output is exactly this; texts are normalised.

    Attributes:
        to: What it should be; default: the unit's reference.
        field: Look at this field of a structured output alone.
        ignore_case: Capitals do not matter.
        reference: Column of the unit with the reference answer.
    """

    scale: ClassVar[Scale] = "binary"

    to: JSON = None
    field: str | None = None
    ignore_case: bool = False
    reference: str = "reference"

    async def look(self, output: Output, context: Context) -> Score:
        """Compare the values."""
        expected = self.to if self.to is not None else reference_answer(context, self.reference)
        if expected is ABSENT:
            return self.score(None, no_reference(self.reference, "to"))
        found = value_at(output, self.field)
        if found is ABSENT:
            return self.score(False, no_field(self.field))
        if same_value(found, expected, ignore_case=self.ignore_case):
            return self.score(True)
        return self.score(False, f"is {brief(found)}, expected {brief(expected)}")


def same_value(found: JSON, expected: JSON, *, ignore_case: bool = False) -> bool:
    """Return whether two JSON values are the same: 1 is 1.0, true is not 1, texts are normalised.

    Where one side is text and the other a number, true, false or null, their texts are compared:
    a reference from a CSV file is text.
    """
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        return found.keys() == expected.keys() and all(
            same_value(found[key], expected[key], ignore_case=ignore_case) for key in found
        )
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(
            same_value(one, other, ignore_case=ignore_case)
            for one, other in zip(found, expected, strict=True)
        )
    if isinstance(found, str) or isinstance(expected, str):
        return _comparable_text(found, ignore_case) == _comparable_text(expected, ignore_case)
    return isinstance(found, bool) == isinstance(expected, bool) and bool(found == expected)


def _comparable_text(value: JSON, ignore_case: bool) -> str:
    text = fold(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return fold_case(text) if ignore_case else text


def brief(value: JSON) -> str:
    """Return a value for a sentence, shortened where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else f"{text[:100]}… ({len(text)} characters)"
