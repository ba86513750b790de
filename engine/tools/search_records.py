"""The tool `search_records`: the records whose text is nearest to some words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from orglab.engine.tools.records import RecordStore
from orglab.engine.tools.records_tool import RecordsTool
from orglab.engine.tools.table_tool import arguments_schema, integer, text
from orglab.providers.base import JSON, ToolError

__all__ = ["LONGEST_QUERY", "SearchRecords"]

LONGEST_QUERY = 1_000  # characters
_MOST = 50


@dataclass(frozen=True, kw_only=True)
class SearchRecords(RecordsTool):
    """Lexical search by BM25.

    Attributes:
        text: The field, or fields, that are searched; a map or list in it counts with all it holds.
        limit: Results where the call does not say how many.
    """

    text: str | Sequence[str]
    limit: int = 5

    description: ClassVar[str] = (
        "Searches the records for words and gives the nearest ones, nearest first. "
        "It compares words, not meanings: try other words where little is found."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["query"],
        query={
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_QUERY,
            "description": "A few words to look for.",
        },
        limit={
            "type": "integer",
            "minimum": 1,
            "maximum": _MOST,
            "description": "How many records, at most.",
        },
    )

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ValueError: A setting is wrong.
        """
        super().__post_init__()
        if not 1 <= self.limit <= _MOST:
            raise ValueError(f"`limit: {self.limit}` must be a whole number from 1 to {_MOST}")

    def compute(self, store: RecordStore, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """The nearest records, each with its score."""
        fields = [self.text] if isinstance(self.text, str) else list(self.text)
        store.need(fields, "text")
        query = text(arguments, "query")
        if len(query) > LONGEST_QUERY:
            raise ToolError(f"`query` is longer than {LONGEST_QUERY} characters: ask for less")
        limit = integer(arguments, "limit", self.limit, _MOST)
        allowed = self.allowed(store)
        found = store.index(fields).search(query, limit, allowed)
        records = [
            {"id": store.records[at].get(self.id), "score": score, **self._rest(store.records[at])}
            for at, score in found
        ]
        searched = len(store.records) if allowed is None else sum(allowed)
        note = {} if found else {"note": "no record has any of these words: try others"}
        return {"query": query, "searched": searched, "records": records, **note}

    def _rest(self, record: Mapping[str, JSON]) -> dict[str, JSON]:
        """The record's other fields; one that is called ``id`` or ``score`` keeps out of the way."""
        shown = {name: value for name, value in self.shown(record).items() if name != self.id}
        return {
            f"record.{name}" if name in ("id", "score") else name: value
            for name, value in shown.items()
        }
