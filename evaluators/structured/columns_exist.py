"""Do the columns that an output names exist in the table?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
)
from orglab.evaluators.structured.field_path import ABSENT
from orglab.evaluators.structured.table import foreign_columns, listed, structured, table_columns


@dataclass(frozen=True, kw_only=True)
class ColumnsExist(OutputEvaluator):
    """How many of the columns that the output names are not in the table; passes with none.

    Names are compared exactly, capitals too. Looked at are the list in ``field`` and the lists
    ``columns`` of the items in ``evidence``.

    Attributes:
        table: The table.
        field: The field with the list of columns.
        evidence: The field with items that have ``columns``, where the output has one.
    """

    scale: ClassVar[Scale] = "count"

    table: Path
    field: str = "columns"
    evidence: str = "evidence"

    async def look(self, output: Output, context: Context) -> Score:
        """Compare the names with the table's columns."""
        named = list(dict.fromkeys(self._named(output)))
        known = await table_columns(context, self.table)
        foreign = [name for name in named if name not in known]
        reason = foreign_columns(foreign[:10], known, self.table)
        if not named:
            reason = "the output names no column"
        detail = {"foreign": foreign, "named": named}
        return self.score(len(foreign), reason, passed=not foreign, detail=detail)

    def _named(self, output: Output) -> Iterator[str]:
        listed_names = listed(structured(output, self.field), self.field)
        yield from (_column_name(each, self.field) for each in listed_names)
        items = structured(output, self.evidence)
        if items is ABSENT or items is None:
            return
        for item in listed(items, self.evidence):
            columns = item.get("columns") if isinstance(item, Mapping) else None
            for each in listed([] if columns is None else columns, f"{self.evidence}[].columns"):
                yield _column_name(each, f"{self.evidence}[].columns")


def _column_name(value: JSON, place: str) -> str:
    if not isinstance(value, str):
        raise EvaluationError(f"{place} must hold names of columns, not {value!r}")
    return value
