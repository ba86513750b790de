"""One table in memory for all who ask, until its file changes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from orglab.engine.tools import file_cache
from orglab.engine.tools.table import table as table_module
from orglab.engine.tools.table.describe import GetSchema, Head
from orglab.engine.tools.table.measure import Measure
from orglab.engine.tools.table.table import TableFormat, load_table, loaded
from orglab.providers.base import JSON, ToolError

Ask = Callable[..., JSON]
Write = Callable[..., Path]


async def test_sixteen_runs_share_one_table(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask at once, the file is read once."""
    file = write("a,b\n1,2\n")
    reads: list[Path] = []
    read = table_module._read_table

    def counted(path: Path, form: TableFormat) -> table_module.Table:
        reads.append(path)
        return read(path, form)

    monkeypatch.setattr(table_module, "_read_table", counted)
    tools = [Head(file=file), GetSchema(file=file)] * 8
    tables = await asyncio.gather(*(tool.prepare() for tool in tools))
    assert len(reads) == 1
    assert all(one is tables[0] for one in tables)
    assert loaded(file, TableFormat()) is tables[0]


async def test_a_changed_file_is_read_again(write: Write) -> None:
    """The table in memory is that of the file as it is."""
    tool = Head(file=write("a\n1\n"))
    assert (await tool.call({}))["rows"] == [[1]]
    write("a\n2\n")
    assert (await tool.call({}))["rows"] == [[2]]


def test_other_settings_are_another_table(write: Write) -> None:
    """The same file read in two ways is two tables."""
    file = write("a\nNA\n1\n")
    assert load_table(file, TableFormat()).columns["a"].type == "text"
    assert load_table(file, TableFormat(missing=("NA",))).columns["a"].type == "integer"


def test_the_table_unused_longest_goes_first(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded whatever the number of tables."""
    monkeypatch.setattr(file_cache, "_MOST_FILES", 2)
    files = [write("a\n1\n", f"{one}.csv") for one in range(3)]
    for one in files:
        load_table(one, TableFormat())
    assert loaded(files[0], TableFormat()) is None
    assert loaded(files[2], TableFormat()) is not None


async def test_many_threads_ask_one_database(write: Write) -> None:
    """Conditions side by side give each its own answer."""
    file = write("a\n" + "".join(f"{one}\n" for one in range(2000)))
    table = load_table(file, TableFormat())
    asked = [asyncio.to_thread(table.where, f"a < {100 * one}") for one in range(20)]
    assert [sum(one or []) for one in await asyncio.gather(*asked)] == [100 * n for n in range(20)]


async def test_a_big_table_works_beside_the_event_loop(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its work is done in a thread, with the same result."""
    monkeypatch.setattr("orglab.engine.tools.table.base._BIG", 0)
    tool = Measure(file=write("a\n1\n3\n"))
    assert tool.slow(await tool.prepare())
    assert (await tool.call({"measure": "sum", "columns": ["a"]}))["value"] == 4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"separator": ";;"}, "`separator: ';;'` must be one character"),
        ({"decimal": ";"}, "`decimal: ';'` must be `.` or `,`"),
        ({"decimal": ","}, "the decimal mark is the separator too"),
        ({"encoding": "utf-9"}, "`encoding: utf-9` is not known"),
        ({"columns": {"a": "float"}}, "`columns: {a: float}`: allowed are boolean, date"),
        ({"characters": 10}, "`characters: 10` is too small"),
    ],
)
async def test_settings_are_checked_when_the_tool_is_made(
    ask: Ask, settings: dict[str, JSON], said: str
) -> None:
    """A wrong setting never waits for the first call."""
    with pytest.raises(ValueError, match=said):
        await ask(Head, "a\n1\n", **settings)


async def test_a_declared_column_must_exist(ask: Ask) -> None:
    """A misspelt declaration is not passed over."""
    with pytest.raises(ToolError, match="declares `b`, which the file has not; it has `a`"):
        await ask(Head, "a\n1\n", columns={"b": "text"})


async def test_an_empty_table_answers(ask: Ask) -> None:
    """A header without rows is a table of no rows."""
    assert (await ask(Head, "a,b\n"))["rows"] == []
    share = await ask(Measure, "a,b\n", {"measure": "share", "where": "a = 'x'"})
    assert (share["value"], share["reason"]) == (None, "no rows")


async def test_whole_numbers_of_every_size_reach_the_database(write: Write) -> None:
    """Beyond 64 bits too, exact."""
    large = 2**100 + 1
    table = load_table(write(f"a,b\n{large},1\n-5,2\n"), TableFormat())
    assert table.database.ask("SELECT a FROM data").rows == [(large,), (-5,)]
    assert table.where(f"a = {large}") == [True, False]


def test_a_link_and_its_target_are_one_table(write: Write, tmp_path: Path) -> None:
    """Tools know a file by where it really lies."""
    file = write("a\n1\n")
    link = tmp_path / "link.csv"
    link.symlink_to(file)
    assert Head(file=link).__dict__["_path"] == file.resolve()
