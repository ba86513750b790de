"""Does an output fit a JSON Schema?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from orglab.evaluators.base import JSON, Context, Output, OutputEvaluator, Scale, Score
from orglab.evaluators.structured.field_path import ABSENT, no_field, value_at
from orglab.providers.structured_output.strict_json import JSONError, loads
from orglab.providers.structured_output.validation import SchemaChecker, checker_for

_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class MatchesSchema(OutputEvaluator):
    """Whether the output fits a JSON Schema (2020-12).

    Free text is read as JSON, unless the schema admits the text as it is.

    Attributes:
        schema: The schema; ``$ref`` reaches its own parts only.
        field: Look at this field of a structured output alone.
    """

    scale: ClassVar[Scale] = "binary"

    schema: Mapping[str, JSON]
    field: str | None = None

    def __post_init__(self) -> None:
        checker_for(self.schema)

    async def look(self, output: Output, context: Context) -> Score:
        """Validate the value; report up to five errors."""
        value = value_at(output, self.field)
        if value is ABSENT:
            return self.score(False, no_field(self.field))
        faults = await asyncio.to_thread(_schema_errors, checker_for(self.schema), value)
        return self.score(not faults, "; ".join(faults), detail={"faults": list(faults)})


def _schema_errors(checker: SchemaChecker, value: JSON) -> tuple[str, ...]:
    faults = checker.errors(value, _SHOWN)
    if not faults or not isinstance(value, str):
        return faults
    try:
        return checker.errors(loads(value), _SHOWN)
    except JSONError as fault:
        return (*faults, f"and the text is no JSON: {fault}")
