"""The value of one field of a structured output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
)
from orglab.evaluators.structured.field_path import ABSENT, value_at
from orglab.evaluators.text.equals import brief, same_value


@dataclass(frozen=True, kw_only=True)
class FieldEquals(OutputEvaluator):
    """A field of the output: its value, or whether it is one of those named.

    Attributes:
        path: Where: ``verdict``, ``evidence.0.value``; -1 is the last of a list.
        equals: The value it should have.
        one_of: Values of which it should have one.
        measured: Scale of the value, where neither ``equals`` nor ``one_of`` is given; default:
            ``interval`` for a number, ``binary`` for true and false, ``nominal`` for text.
    """

    path: str
    equals: JSON = None
    one_of: Sequence[JSON] = ()
    measured: Scale | None = None

    def score_name(self) -> str:
        """Return ``field.PATH``."""
        return f"field.{self.path}"

    def score_scale(self) -> Scale:
        """Return ``binary`` for a comparison; else what was written, or ``interval`` until it is seen."""
        return "binary" if self._allowed() else self.measured or "interval"

    def _allowed(self) -> list[JSON]:
        return [*self.one_of, *([] if self.equals is None else [self.equals])]

    async def look(self, output: Output, context: Context) -> Score:
        """Look the field up."""
        found = value_at(output, self.path)
        allowed = self._allowed()
        if found is ABSENT or found is None:
            what = "has no field" if found is ABSENT else "has null in the field"
            return self.score(False if allowed else None, f"the output {what} {self.path!r}")
        if not allowed:
            return self._value_score(found)
        if any(same_value(found, each) for each in allowed):
            return self.score(True)
        wanted = " or ".join(brief(each) for each in allowed)
        return self.score(False, f"{self.path} is {brief(found)}, expected {wanted}")

    def _value_score(self, found: JSON) -> Score:
        if not isinstance(found, bool | int | float | str):
            raise EvaluationError(
                f"the field {self.path!r} holds {brief(found)}: name a number, text, true or false"
            )
        scale: Scale = "interval"
        if isinstance(found, bool | str):
            scale = "binary" if isinstance(found, bool) else "nominal"
        return Score(name=self.score_name(), value=found, scale=self.measured or scale)
