"""Tables for the tests of tools: written by the test, or shipped with study 1."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orglab.engine.tools.table.base import TableTool
from orglab.providers.base import JSON

Write = Callable[..., Path]


@pytest.fixture
def films() -> Path:
    """Return the real table of films."""
    return Path(__file__).parents[3] / "specs/insight-review/data/films.csv"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a table's text (or bytes) to a file."""

    def to_file(text: str | bytes, name: str = "table.csv") -> Path:
        file = tmp_path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return to_file


@pytest.fixture
def ask(write: Write) -> Callable[..., object]:
    """Calls a tool on a table given as text or path."""

    async def call(
        tool: type[TableTool],
        table: str | bytes | Path,
        arguments: Mapping[str, JSON] | None = None,
        **settings: JSON,
    ) -> JSON:
        file = table if isinstance(table, Path) else write(table)
        return await tool(file=file, **settings).call(arguments or {})

    return call
