"""What all record tools share: their settings, the store they load once, the bound of results."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orglab.engine.tools.bounded_json import CHARACTERS, bounded, to_strict_json
from orglab.engine.tools.file_cache import TableError
from orglab.engine.tools.records.store import RecordStore, load_store
from orglab.providers.base import JSON, Tool, ToolError
from orglab.providers.structured_output.strict_json import spaced

_LENGTHS = (2_000, 1_000, 400, 60)  # of a text, where the whole is too large


@dataclass(frozen=True, kw_only=True)
class RecordsTool(Tool):
    """A tool on a store of records.

    Attributes:
        file: The records: JSON lines, an object a line.
        id: The field that identifies a record.
        where: Only records with these values: the others are not there for the tool.
        show: The fields that results show; default all.
        characters: The largest result, in characters of JSON.
    """

    file: Path
    id: str = "id"
    where: Mapping[str, JSON] = field(default_factory=dict)
    show: Sequence[str] = ()
    characters: int = CHARACTERS

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is wrong; the text names it and what is allowed.
        """
        if self.characters < 200:
            raise ValueError(f"`characters: {self.characters}` is too small; at least 200")

    async def call(self, arguments: Mapping[str, JSON]) -> JSON:
        """Return the tool's result: strict JSON of at most ``characters`` characters.

        Raises:
            ToolError: The arguments do not fit, or the records cannot be read.
        """
        return await asyncio.to_thread(self._answer, arguments)

    def _answer(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        try:
            store = load_store(self.file.resolve())
            store.need([self.id], "id")
            store.need(list(self.where), "where")
            store.need(self.show, "show")
            found = self.compute(store, arguments)
        except TableError as error:
            raise ToolError(f"the records cannot be read: {error}") from None
        return bounded(to_strict_json(found), self.characters, (self.characters, *_LENGTHS))

    def allowed(self, store: RecordStore) -> Sequence[bool] | None:
        """Return which records the tool may see; None: all."""
        key = ("where", spaced(to_strict_json(self.where)))
        return store.once(key, lambda: store.where(self.where))

    def shown(self, record: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the fields of a record that results show."""
        if not self.show:
            return dict(record)
        return {name: record[name] for name in self.show if name in record}

    @abstractmethod
    def compute(self, store: RecordStore, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the result.

        Raises:
            ToolError: The arguments do not fit the records.
            TableError: The settings do not.
        """
