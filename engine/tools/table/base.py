"""What all table tools share: their settings, the table they load once, the bound of results."""

from __future__ import annotations

import asyncio
import codecs
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast, get_args

from orglab.engine.tools.bounded_json import CHARACTERS, bounded, to_strict_json
from orglab.engine.tools.file_cache import TableError
from orglab.engine.tools.table.column_types import CellType, Column
from orglab.engine.tools.table.table import Table, TableFormat, load_table, loaded
from orglab.providers.base import JSON, Tool, ToolError
from orglab.providers.structured_output.schema_merge import closed_object

_BIG = 500_000  # cells; below, the work takes less time than a change of thread is worth

_MOST_CHARACTERS = 1_000_000

WHERE: JSON = {
    "type": "string",
    "description": "Condition on rows, e.g. price > 10 and genre = 'Drama'. Default: all rows.",
}


def arguments_schema(required: Sequence[str] = (), **properties: JSON) -> Mapping[str, JSON]:
    """Return the JSON Schema of a tool's arguments."""
    return closed_object(properties, required)


@dataclass(frozen=True, kw_only=True)
class TableTool(Tool):
    """A tool on one table.

    Attributes:
        file: The table: CSV, TSV, JSON lines or Parquet.
        encoding: The text's encoding; default UTF-8.
        separator: Between cells; default a comma, and a file that looks otherwise is refused.
        decimal: The decimal mark, ``.`` or ``,``.
        missing: Texts that mean missing, beside the empty cell.
        columns: Types of columns by name, where the cells alone are ambiguous.
        characters: The largest result, in characters of JSON.
    """

    file: Path
    encoding: str | None = None
    separator: str | None = None
    decimal: str = "."
    missing: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    characters: int = CHARACTERS

    def __post_init__(self) -> None:
        """Check the settings and normalise them.

        Raises:
            ValueError: A setting is wrong; the text names it and what is allowed.
        """
        _check_marks(self.separator, self.decimal)
        _check_encoding(self.encoding)
        if not 200 <= self.characters <= _MOST_CHARACTERS:
            small = self.characters < 200
            bound = "small; at least 200" if small else f"large; at most {_MOST_CHARACTERS:,}"
            raise ValueError(f"`characters: {self.characters}` is too {bound}")
        _ = self._path, self._form  # wrong settings are refused before anything runs

    @cached_property
    def _path(self) -> Path:
        return self.file.resolve()

    @cached_property
    def _form(self) -> TableFormat:
        types = get_args(CellType)
        for name, one in self.columns.items():
            if one not in types:
                raise ValueError(f"`columns: {{{name}: {one}}}`: allowed are {', '.join(types)}")
        return TableFormat(
            encoding=self.encoding,
            separator=self.separator,
            decimal=self.decimal,
            missing=tuple(self.missing),
            columns=tuple(sorted(cast("Mapping[str, CellType]", self.columns).items())),
        )

    async def prepare(self) -> Table:
        """Check what it needs before anything runs or costs money.

        Raises:
            TableError: The file cannot be read rightly; the text is for the spec's author.
        """
        table = loaded(self._path, self._form)
        if table is None:
            table = await asyncio.to_thread(load_table, self._path, self._form)
        return table

    async def call(self, arguments: Mapping[str, JSON]) -> JSON:
        """Return the tool's result: strict JSON of at most ``characters`` characters.

        Raises:
            ToolError: The arguments do not fit the table, or the table cannot be read.
        """
        try:
            table = await self.prepare()
        except TableError as error:
            raise ToolError(f"the table cannot be read: {error}") from None
        filling = not table.filled and arguments.get("where") is not None
        if filling or self.slow(table):
            return await asyncio.to_thread(self.answer, table, arguments)
        return self.answer(table, arguments)

    def answer(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the result of ``compute`` as bounded strict JSON."""
        return self.fit(to_strict_json(self.compute(table, arguments)))

    def fit(self, result: dict[str, JSON]) -> dict[str, JSON]:
        """Return ``result`` cut to the bound."""
        return bounded(result, self.characters)

    def slow(self, table: Table) -> bool:
        """Return whether the work takes too long for the event loop."""
        return table.cells > _BIG

    @abstractmethod
    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the result.

        Raises:
            ToolError: The arguments do not fit the table.
        """


def _check_marks(separator: str | None, decimal: str) -> None:
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise ValueError(f"`separator: {separator!r}` must be one character, such as `;`")
    if decimal not in (".", ","):
        raise ValueError(f"`decimal: {decimal!r}` must be `.` or `,`")
    if decimal == (separator or ","):
        raise ValueError("the decimal mark is the separator too: set another `separator:`")


def _check_encoding(encoding: str | None) -> None:
    try:
        "".encode(encoding or "utf-8")
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise ValueError(
            f"`encoding: {encoding}` is not known; common ones: utf-8, latin-1, cp1252, utf-16"
        ) from None


def text(arguments: Mapping[str, JSON], name: str) -> str:
    """Return the argument ``name``, a text.

    Raises:
        ToolError: It is missing or no text.
    """
    value = arguments.get(name)
    if not isinstance(value, str):
        raise ToolError(f"`{name}` is required, a text")
    return value


def optional_text(arguments: Mapping[str, JSON], name: str) -> str | None:
    """Return the argument ``name``, a text, or None where it is left out."""
    return None if arguments.get(name) is None else text(arguments, name)


def integer(arguments: Mapping[str, JSON], name: str, default: int, most: int) -> int:
    """Return the argument ``name``, a whole number from 1 to ``most``.

    Raises:
        ToolError: It is something else.
    """
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ToolError(f"`{name}` must be a whole number from 1 to {most}, not {value!r:.40}")
    return value


def numeric(table: Table, name: str) -> Column:
    """Return the column called ``name``, which holds numbers.

    Raises:
        ToolError: There is none, or it holds something else.
    """
    column = table.column(name)
    if not column.numeric:
        numbers = [f"`{one.name}`" for one in table.columns.values() if one.numeric]
        raise ToolError(
            f"column `{column.name}` is not numeric, it is {column.type}; numeric columns: "
            + (", ".join(numbers[:40]) or "none")
        )
    return column
