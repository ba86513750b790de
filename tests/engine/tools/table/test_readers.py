"""Files become tables rightly, or are refused in words."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from case_files import case_folder

from orglab.engine.tools.file_cache import TableError
from orglab.engine.tools.table.describe import GetSchema, Head
from orglab.engine.tools.table.query import Query
from orglab.engine.tools.table.table import Table, TableFormat, load_table
from orglab.providers.base import JSON, ToolError

Ask = Callable[..., JSON]
Write = Callable[..., Path]


def names(schema: Mapping[str, JSON]) -> list[str]:
    """The columns that a schema names."""
    return [one["name"] for one in schema["columns"]]


def load(file: Path, **form: JSON) -> Table:
    """The table in `file`, as the author declares it."""
    return load_table(file, TableFormat(**form))


async def test_a_byte_order_mark_belongs_to_no_name(ask: Ask) -> None:
    """Case 42: the first column is `name`, and a query finds it."""
    file = case_folder("42-data-encodings") / "bom.csv"
    schema = await ask(GetSchema, file)
    assert (names(schema), schema["rows"]) == (["name", "score"], 2)
    found = await ask(Query, file, {"sql": "SELECT name FROM data WHERE score = 2"})
    assert found["rows"] == [["Zoë"]]


async def test_latin_1_is_refused_with_its_line_or_read_as_declared(ask: Ask) -> None:
    """Case 42: no mojibake in silence."""
    file = case_folder("42-data-encodings") / "latin1.csv"
    with pytest.raises(ToolError, match=r"not UTF-8, line 2 \(byte 0xEB\): set `encoding:`"):
        await ask(Head, file)
    assert (await ask(Head, file, encoding="latin-1"))["rows"][0] == ["Zoë", 2.0]


async def test_utf_16_is_refused_with_the_hint_or_read_as_declared(ask: Ask) -> None:
    """Case 42: its mark tells the encoding."""
    file = case_folder("42-data-encodings") / "utf16.csv"
    with pytest.raises(ToolError, match="set `encoding: utf-16`"):
        await ask(Head, file)
    assert (await ask(Head, file, encoding="utf-16"))["rows"] == [["Ann", 1.5]]


async def test_another_separator_is_refused_or_read_as_declared(ask: Ask) -> None:
    """Case 42: a decimal comma is never a separator by accident."""
    file = case_folder("42-data-encodings") / "semicolon.csv"
    with pytest.raises(ToolError, match="looks like `;` as separator"):
        await ask(Head, file)
    found = await ask(Head, file, separator=";", decimal=",")
    assert found["rows"] == [["Ann", 1.5], ["Zoë", 2.0]]


@pytest.mark.parametrize("name", ["quoted-newline.csv", "cr-only.csv"])
async def test_line_breaks_of_every_kind(ask: Ask, name: str) -> None:
    """Case 42: a break within quotes ends no row, a bare CR ends one."""
    assert (await ask(GetSchema, case_folder("42-data-encodings") / name))["rows"] == 2


async def test_a_short_row_is_missing_and_said(ask: Ask) -> None:
    """Case 42: the cell that is not there is missing; a note names the line."""
    schema = await ask(GetSchema, case_folder("42-data-encodings") / "short-row.csv")
    assert {one["name"]: one["missing"] for one in schema["columns"]}["age"] == 1
    assert schema["notes"] == [
        "1 rows are shorter than the header (lines 2): their last cells are missing"
    ]


async def test_a_long_row_is_an_error_that_names_the_line(ask: Ask) -> None:
    """Case 42: columns are never shifted."""
    with pytest.raises(ToolError, match="line 3: 4 cells, but the header names 2 columns"):
        await ask(Head, case_folder("42-data-encodings") / "long-row.csv")


async def test_a_nul_is_a_character(ask: Ask) -> None:
    """Case 42: no crash, neither in reading nor in a query."""
    file = case_folder("42-data-encodings") / "nul.csv"
    assert (await ask(Head, file))["rows"] == [["A\0nn", 1]]
    found = await ask(Query, file, {"sql": "SELECT length(name) AS n FROM data"})
    assert found["rows"] == [[4]]


def test_odd_names_work_and_changed_ones_are_said(write: Write) -> None:
    """Names with blanks, quotes or SQL words work; empty and double ones are renamed."""
    table = load(write('select,"say ""hi""", b ,,A,a,a_2,größe\n1,2,3,4,5,6,7,8\n'))
    assert list(table.columns) == [
        "select",
        'say "hi"',
        "b",
        "column_4",
        "A",
        "a_3",
        "a_2",
        "größe",
    ]
    assert table.notes == (
        "spaces around the name of column 3 (`b`) are left out",
        "column 4 has no name; it is called `column_4` here",
        "column 6 is a second `a`; it is called `a_3` here",
    )
    found = table.database.ask('SELECT "select", "say ""hi""", größe, "column_4" FROM data')
    assert found.rows == [(1, 2, 8, 4)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ('a,b\n1,"2\n', "ends inside a quoted cell"),
        ('a,b\n"1"2,3\n', "line 2: text after a closing quote"),
        ("a,b\n1," + "x" * 140_000, "line 2: a cell longer than"),
        ("a\0b,c\n1,2\n", "the name of column 1 holds a NUL"),
        ("a\tb\n1\t2\n", "looks like a tab as separator"),
        (",".join(map(str, range(2001))), "2,001 columns"),
    ],
)
def test_faults_of_a_csv_file_are_said(write: Write, text: str, said: str) -> None:
    """Each fault names the line and what to do."""
    with pytest.raises(TableError, match=rf"table\.csv: .*{said}"):
        load(write(text))


def test_a_declared_comma_is_believed(write: Write) -> None:
    """A header that looks otherwise is read as its author says."""
    table = load(write("a;b\n1\n"), separator=",")
    assert list(table.columns) == ["a;b"]


def test_only_a_table_is_read(write: Write, tmp_path: Path) -> None:
    """Other endings and files that are not there are refused by name."""
    with pytest.raises(TableError, match=r"a table is a .csv, .tsv, .jsonl or .parquet file"):
        load(write("x", "notes.txt"))
    with pytest.raises(TableError, match=r"gone\.csv: no such file"):
        load(tmp_path / "gone.csv")


def test_tabs_json_lines_and_parquet(write: Write, tmp_path: Path) -> None:
    """The other endings give the same table; JSON's texts stay texts."""
    assert load(write("a\tb\n1\tx\n", "t.tsv")).columns["a"].values == (1,)
    lines = '{"a": 1, "b": "2", "c": [1, {"d": null}]}\n\n{"a": null, "d": "2024-01-05"}\n'
    table = load(write(lines, "t.jsonl"))
    assert {name: one.type for name, one in table.columns.items()} == {
        "a": "integer",
        "b": "text",
        "c": "text",
        "d": "date",
    }
    assert table.columns["c"].values == ('[1, {"d": null}]', None)


def test_parquet(tmp_path: Path) -> None:
    """A Parquet file's types are kept, its decimals are numbers, its bytes are hex."""
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "t.parquet"
    select = "SELECT 1 AS a, 1.5::DECIMAL(4, 2) AS b, DATE '2024-01-05' AS c, 'x'::BLOB AS d"
    duckdb.connect().execute(f"COPY ({select}) TO '{file}'")
    columns = load(file).columns
    assert [one.type for one in columns.values()] == ["integer", "number", "date", "text"]
    assert columns["d"].values == ("78",)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    with pytest.raises(TableError, match="no Parquet file, or a damaged one"):
        load(broken)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": 1, "a": 2}', "a key occurs twice"),
        ("[1]", "not a JSON object"),
        ("{", "not strict JSON"),
    ],
)
def test_faults_of_json_lines_are_said(write: Write, line: str, said: str) -> None:
    """The line and what is wrong with it."""
    with pytest.raises(TableError, match=f"line 2: .*{said}"):
        load(write('{"a": 0}\n' + line + "\n", "t.jsonl"))
