"""`query`: one SELECT on the table, within bounds; nothing else, whatever is tried."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orglab.engine.tools.table.describe import Head
from orglab.engine.tools.table.group_counts import GroupBy
from orglab.engine.tools.table.query import Query
from orglab.providers.base import JSON, ToolError

Ask = Callable[..., JSON]

TABLE = "id,x,s,day\n" + "".join(
    f"{i},{i / 2},text {i},2024-01-{i % 28 + 1:02d}\n" for i in range(300)
)


@pytest.fixture
def select(ask: Ask) -> Ask:
    """Runs SQL on a small table."""

    async def run(sql: str, **settings: JSON) -> JSON:
        return await ask(Query, TABLE, {"sql": sql}, **settings)

    return run


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT count(*) FROM data", [300]),
        (
            "WITH a AS (SELECT * FROM data WHERE x > 10) SELECT count(*) FROM a JOIN a b USING (id)",
            [279],
        ),
        (
            "SELECT id % 2 AS k, avg(x), count(*) FILTER (WHERE x > 3) FROM data GROUP BY k ORDER BY k",
            [0, 74.5, 146],
        ),
        (
            "SELECT s FROM data WHERE s LIKE '%9' AND day >= DATE '2024-01-05' ORDER BY id LIMIT 1",
            ["text 9"],
        ),
        ("SELECT id, row_number() OVER (ORDER BY x DESC) AS r FROM data QUALIFY r = 1", [299, 1]),
        (
            "SELECT strftime(day, '%Y-%m'), dayname(day), month(day) FROM data",
            ["2024-01", "Monday", 1],
        ),
        (
            "SELECT CASE WHEN x > 1 THEN 'a' ELSE 'b' END AS k, count(*) FROM data GROUP BY k HAVING count(*) > 9",
            ["a", 297],
        ),
        (
            "SELECT replace(s, 'text', ''), regexp_replace(s, '[0-9]', '', 'g') FROM data;",
            [" 0", "text "],
        ),
        (
            "SELECT CAST(x AS INTEGER), 1.10::DECIMAL(4, 2), INTERVAL 1 DAY FROM data",
            [0, 1.1, "1 day, 0:00:00"],
        ),
        ("SELECT x FROM data UNION SELECT id FROM data ORDER BY x", [0.0]),
        ("SELECT max(x) FROM (SELECT x FROM data LIMIT 3)", [1.0]),
        ("SELECT x AS a, a + 1 AS b FROM data", [0.0, 1.0]),
        ("VALUES (1, NULL)", [1, None]),
    ],
)
async def test_reading_works(select: Ask, sql: str, first: list[JSON]) -> None:
    """What a model needs to explore a table."""
    assert (await select(sql))["rows"][0] == first


READING = [
    "SELECT * FROM read_csv('secret.csv')",
    "SELECT * FROM read_csv_auto('secret.csv')",
    "SELECT * FROM read_text('secret.csv')",
    "SELECT * FROM read_blob('secret.csv')",
    "SELECT * FROM read_json('secret.csv')",
    "SELECT * FROM read_parquet('secret.csv')",
    "SELECT * FROM sniff_csv('secret.csv')",
    "SELECT * FROM 'secret.csv'",
    'SELECT * FROM "secret.csv"',
    "SELECT * FROM glob('*')",
    "SELECT read_text('secret.csv')",
    "SELECT getenv('HOME')",
    "SELECT current_setting('home_directory')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM main.data",
    "SELECT * FROM pg_catalog.pg_tables",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('data')",
    "SELECT * FROM TABLE",
    "SELECT (SELECT content FROM read_text('secret.csv'))",
    "WITH a AS (SELECT * FROM read_text('secret.csv')) SELECT * FROM a",
    "SELECT x FROM data WHERE s IN (SELECT content FROM read_text('secret.csv'))",
    "SELECT x FROM data ORDER BY (SELECT content FROM read_text('secret.csv'))",
    "SELECT main.read_text('secret.csv')",
    "SELECT getvariable('x')",
]

WRITING = [
    "COPY data TO 'stolen.csv'",
    "COPY (SELECT 1) TO 'stolen.csv'",
    "COPY data FROM 'secret.csv'",
    "EXPORT DATABASE 'stolen'",
    "IMPORT DATABASE 'stolen'",
    "ATTACH 'stolen.db'",
    "ATTACH ':memory:' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA version",
    "PRAGMA database_list",
    "SET threads = 2",
    "RESET threads",
    "SET VARIABLE x = 1",
    "CREATE TABLE other (a INTEGER)",
    "CREATE VIEW other AS SELECT 1",
    "CREATE MACRO f(a) AS a",
    "CREATE SECRET (TYPE S3)",
    "INSERT INTO data VALUES (1, 2, 'a', NULL)",
    "UPDATE data SET x = 1",
    "DELETE FROM data",
    "DROP TABLE data",
    "ALTER TABLE data ADD COLUMN y INTEGER",
    "TRUNCATE data",
    "CALL pragma_version()",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "VACUUM",
    "USE memory",
    "EXPLAIN ANALYZE SELECT 1",
    "DESCRIBE data",
    "SUMMARIZE data",
    "SHOW TABLES",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE data",
    "PIVOT data ON s",
]

UNREPEATABLE = [
    "SELECT random()",
    "SELECT now()",
    "SELECT current_date",
    "SELECT CURRENT_TIMESTAMP",
    "SELECT today()",
    "SELECT age(day) FROM data",
    "SELECT uuid()",
    "SELECT * FROM data USING SAMPLE 3",
    "SELECT * FROM data TABLESAMPLE 10%",
    "SELECT current_user",
]

GROWING = [
    "SELECT length(repeat('a', 1000000000))",
    "SELECT lpad('a', 2000000000, 'x')",
    "SELECT len(range(1000000000))",
    "SELECT sum(i) FROM range(1000000000) t(i)",
    "SELECT printf('%1000000000d', 1)",
    "SELECT format('{:1000000000}', 1)",
    "SELECT [1, 2]",
    "SELECT {'a': 1}",
    "SELECT list(x) FROM data",
    "SELECT string_agg(s) FROM data",
    "SELECT CAST(s AS BLOB) FROM data",
    "SELECT x::INTEGER[] FROM data",
    "SELECT replace(s, 't', 'tttttttttttttttt') FROM data",
    "SELECT replace(s, 't', s) FROM data",
    "SELECT regexp_replace(s, '', 'abc', 'g') FROM data",
    "SELECT " + "||".join(["s"] * 14) + " FROM data",
    "WITH a AS (SELECT s || s AS s FROM data)"
    + "".join(f", a{i} AS (SELECT s || s AS s FROM a{i - 1 or ''})" for i in range(1, 30))
    + " SELECT s FROM a29",
    "WITH a AS (SELECT 1 AS i)"
    + "".join(f", a{i} AS (SELECT 1 FROM a{i - 1 or ''}, a{i - 1 or ''} z)" for i in range(1, 30))
    + " SELECT count(*) FROM a29",
    "SELECT x AS a0, " + ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(40)) + " FROM data",
    "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t",
    "SELECT 1" + " " * 4000,
]


@pytest.mark.parametrize("sql", [*READING, *WRITING, *UNREPEATABLE, *GROWING])
async def test_everything_else_is_refused(
    select: Ask, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is read or written, nothing changes, nothing grows; no path leaks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("a\nthe secret\n", encoding="utf-8")
    with pytest.raises(ToolError, match=r".") as refusal:
        await select(sql)
    assert "the secret" not in str(refusal.value)
    assert str(tmp_path) not in str(refusal.value)
    assert sorted(os.listdir(tmp_path)) == ["secret.csv", "table.csv"]  # noqa: PTH208 - a test
    assert (await select("SELECT count(*) FROM data"))["rows"] == [[300]]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "`sql` is empty"),
        ("SELECT agee FROM data", "no column `agee`.* Columns: `id`, `x`, `s`, `day`. Texts are"),
        ('SELECT x FROM data WHERE s = "text 1"', "Texts are written in single quotes"),
        ("SELECT d.xx FROM data d", "no column `xx`, did you mean `x`"),
        ("SELECT x FROM (SELECT id FROM data)", "`x` exists in `data`, but not where the query"),
        ("SELECT x FROM films", "no table `films`: the only table is `data`"),
        ("SELEC 1", "syntax error"),
        ("SELECT corr(id, x) FROM data", "call the tool `correlate`"),
        ("SELECT sum(x) FROM data WHERE x > 'abc'", "Could not convert string 'abc'"),
        ("DELETE FROM data", "DELETE is not allowed: only one SELECT"),
        ("SELECT 1; SELECT 2", "2 statements: write exactly one SELECT"),
        ("SELECT $1", "value parameter is not allowed"),
    ],
)
async def test_refusals_say_what_to_do(select: Ask, sql: str, said: str) -> None:
    """A model can mend its SQL from the text alone."""
    with pytest.raises(ToolError, match=said):
        await select(sql)


async def test_rows_are_limited_and_it_is_said(select: Ask) -> None:
    """`truncated` is true only where there is more."""
    found = await select("SELECT id FROM data", rows=3)
    assert (found["rows"], found["row_count"], found["truncated"]) == ([[0], [1], [2]], 3, True)
    assert not (await select("SELECT id FROM data LIMIT 3", rows=3))["truncated"]


async def test_time_is_limited(select: Ask) -> None:
    """A join without end is interrupted, the event loop is free meanwhile, the table lives on."""
    slow = asyncio.create_task(
        select(
            "SELECT count(*) FROM data a, data b, data c, data d WHERE a.x + b.x > c.x", seconds=0.2
        )
    )
    await asyncio.sleep(0)
    assert not slow.done()
    with pytest.raises(ToolError, match=r"stopped after 0.2 seconds"):
        await slow
    assert (await select("SELECT 1"))["rows"] == [[1]]


async def test_deep_nesting_does_no_harm(select: Ask) -> None:
    """Thousands of brackets are answered or refused; the process lives on."""
    for sql in ("SELECT " + "(" * 1900 + "1" + ")" * 1900, "SELECT " + "not " * 900 + "true"):
        try:
            assert (await select(sql))["row_count"] == 1
        except ToolError as error:
            assert "dee" in str(error) or "depth" in str(error)  # noqa: PT017 - which of both depends on the version
    assert (await select("SELECT 1"))["rows"] == [[1]]


async def test_memory_is_limited(select: Ask) -> None:
    """A sort of billions of rows ends in a refusal, not in the machine's memory."""
    sql = "SELECT a.id FROM data a, data b, data c, data d ORDER BY a.x + b.x + c.x + d.x"
    with pytest.raises(ToolError, match="needs more than 256MB"):
        await select(sql, seconds=30)


async def test_every_type_of_result_is_strict_json(select: Ask) -> None:
    """Infinity, NaN, dates, decimals, structs and lists: all become plain JSON."""
    found = await select(
        "SELECT 1e308 * 10, 0.0 / 0, day, data, max(x, 2) OVER () FROM data LIMIT 1"
    )
    assert json.loads(json.dumps(found, allow_nan=False))["rows"] == [
        [
            None,
            None,
            "2024-01-01",
            {"id": 0, "x": 0.0, "s": "text 0", "day": "2024-01-01"},
            [149.5, 149.0],
        ]
    ]
    assert found["notes"] == [
        "`(1e308 * 10)`: 1 of 1 values shown as null are not missing but infinite",
        "`(0.0 / 0)`: 1 of 1 values shown as null are not missing but no number",
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "s = 5",
        "5 <> d.s",
        "s > 1.5",
        "s IN ('a', 7)",
        "s BETWEEN 1 AND 2",
        "d.s = d.x",
        "NOT s = 1",
    ],
)
async def test_a_text_column_beside_a_number_is_refused(select: Ask, condition: str) -> None:
    """Case 46 in SQL: the database would round '5.5' to 6, or fail at the first word."""
    with pytest.raises(ToolError, match=r'"s" is text.*is a number: .*TRY_CAST\("s" AS DOUBLE\)'):
        await select(f"SELECT count(*) FROM data d WHERE {condition}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM data WHERE s = 'text 5'",
        "SELECT count(*) FROM data WHERE TRY_CAST(s AS DOUBLE) = 5",
        "SELECT count(*) FROM (SELECT x AS s FROM data) WHERE s = 5",
        "SELECT count(*) FROM data WHERE length(s) = 6",
    ],
)
async def test_what_fits_is_compared(select: Ask, sql: str) -> None:
    """Texts with texts, numbers with numbers, and a column that the query made with anything."""
    assert (await select(sql))["row_count"] == 1


async def test_infinite_values_are_named(ask: Ask) -> None:
    """Case 48: null with a note, never a text among numbers, and no group of them has "no values"."""
    table = "k,y\na,inf\na,-inf\nb,2.5\n"
    found = await ask(Query, table, {"sql": "SELECT y FROM data"})
    assert found["rows"] == [[None], [None], [2.5]]
    (note,) = found["notes"]
    assert note.startswith("`y`: 2 of 3 values shown as null are not missing but infinite")
    shown = await ask(Head, table, {})
    assert (shown["rows"], shown["notes"]) == ([["a", None], ["a", None], ["b", 2.5]], [note])
    groups = await ask(GroupBy, table, {"by": "k", "measure": "mean", "column": "y"})
    assert groups["groups"] == [
        {"group": "b", "value": 2.5, "n": 1},
        {
            "group": "a",
            "value": None,
            "n": 0,
            "reason": "no finite values: 2 infinite ones are left out",
        },
    ]


async def test_settings_are_checked(ask: Ask) -> None:
    """Limits below 1 are refused when the tool is made."""
    with pytest.raises(ValueError, match="`rows` must be at least 1"):
        await ask(Query, TABLE, {"sql": "SELECT 1"}, rows=0)


async def test_films(films: Path, ask: Ask) -> None:
    """The real table with its faults can be asked."""
    sql = """SELECT year(strptime(release_date, '%b %d %Y')) AS y, count(*) AS n FROM data
             WHERE release_date IS NOT NULL GROUP BY y ORDER BY n DESC LIMIT 1"""
    found = await ask(Query, films, {"sql": sql})
    assert found["row_count"] == 1
