"""Tables for the tools' tests: written on the spot, or those of the handed cases."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orglab.engine.tools.table.base import TableTool
from orglab.providers.base import JSON

Write = Callable[..., Path]


@pytest.fixture
def cases() -> Path:
    """The folder of the handed cases; the test is skipped where there is none."""
    folder = Path(__file__).parents[3] / "../shared/cases"
    if not folder.exists():
        pytest.skip("the handed cases are not beside the repository")
    return folder.resolve()


@pytest.fixture
def films() -> Path:
    """The real table of films; the test is skipped where there is none."""
    file = Path(__file__).parents[3] / "../shared/data/movies.csv"
    if not file.exists():
        pytest.skip("the handed data are not beside the repository")
    return file.resolve()


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
