"""The tool `get_record`: one record by its id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from orglab.engine.spec.messages import nearest
from orglab.engine.tools.file_cache import TableError
from orglab.engine.tools.records.base import RecordsTool
from orglab.engine.tools.records.store import RecordStore
from orglab.engine.tools.table.base import arguments_schema, optional_text
from orglab.providers.base import JSON, ToolError
from orglab.providers.structured_output.strict_json import spaced

_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class GetRecord(RecordsTool):
    """One record."""

    description: ClassVar[str] = (
        "One record of the store, whole. Without `id`, where there is only one record, that one."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        id={"type": "string", "description": "The record's id, as a search gave it."},
    )

    def compute(self, store: RecordStore, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the record, under its id."""
        places = store.once(("ids", self.id), lambda: _places(store, self.id))
        allowed = self.allowed(store)
        mine = {key: at for key, at in places.items() if allowed is None or allowed[at]}
        wanted = optional_text(arguments, "id")
        if wanted is None and len(mine) != 1:
            raise ToolError(f"`id` is required: there are {len(mine)} records. {_ids_are(mine)}")
        key = next(iter(mine)) if wanted is None else wanted.strip()
        if key not in mine:
            like = nearest(key, list(mine))
            hint = f", did you mean `{like}`?" if like else "."
            raise ToolError(f"no record `{key[:80]}`{hint} {_ids_are(mine)}")
        return {"id": key, "record": self.shown(store.records[mine[key]])}


def _places(store: RecordStore, field: str) -> dict[str, int]:
    """Return the place of each record by its id.

    Raises:
        TableError: Two records have one id, or a record has none.
    """
    places: dict[str, int] = {}
    for at, (record, line) in enumerate(zip(store.records, store.lines, strict=True)):
        value = record.get(field)
        if value is None or isinstance(value, list | dict | bool):
            raise TableError(f"line {line}: `{field}` must be a text or a number, the record's id")
        key = value.strip() if isinstance(value, str) else spaced(value)
        if key in places:
            first = store.lines[places[key]]
            raise TableError(f"lines {first} and {line} have one id, `{key}`: set another `id:`")
        places[key] = at
    return places


def _ids_are(places: Mapping[str, int]) -> str:
    shown = ", ".join(f"`{key}`" for key in list(places)[:_SHOWN])
    more = len(places) - _SHOWN
    return f"Ids: {shown or 'none'}" + (f" and {more} more" if more > 0 else "")
