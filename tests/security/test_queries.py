"""What a hostile model asks of the tools: nothing read but the table, nothing written, in time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orglab.results.store.reader import Reader

Den = Any

pytestmark = pytest.mark.timeout(240)  # whole processes, many of them

SQL = """\
COPY data TO '../pwned.csv'
COPY (SELECT 1) TO 'pwned.csv'
SELECT * FROM read_csv('../secrets.csv')
SELECT * FROM '../secrets.csv'
SELECT * FROM "../secrets.csv"
SELECT * FROM read_text('../secret.txt')
SELECT * FROM read_blob('/proc/self/environ')
SELECT * FROM glob('/etc/*')
SELECT * FROM sniff_csv('../secrets.csv')
SELECT (SELECT content FROM read_text('../secret.txt'))
FROM read_text('../secret.txt')
SUMMARIZE '../secrets.csv'
SELECT * FROM 'http://127.0.0.1:9/x.csv'
ATTACH '../x.db'
ATTACH 'x.sqlite' (TYPE sqlite)
EXPORT DATABASE 'pwned'
IMPORT DATABASE 'folder'
INSTALL httpfs
LOAD httpfs
PRAGMA database_list
SET enable_external_access=true
SET VARIABLE x = 1
SELECT getenv('ORGLAB_TEST_KEY')
SELECT * FROM (VALUES (getenv('ORGLAB_TEST_KEY')))
SELECT current_setting('temp_directory')
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_secrets()
SELECT * FROM information_schema.tables
SELECT * FROM pg_catalog.pg_settings
CALL pragma_version()
CREATE TABLE x AS SELECT 1
CREATE MACRO m() AS 1
DROP TABLE data
SELECT 1; DROP TABLE data
INSERT INTO data VALUES ('x', 1)
PREPARE v AS SELECT 1
EXPLAIN ANALYZE SELECT 1
SELECT * FROM query('SELECT 1')
SELECT * FROM json_execute_serialized_sql('{}')
SELECT * FROM sys
SELECT * FROM den
SELECT * FROM range(1000000000000)
SELECT unnest(generate_series(1, 100000000))
SELECT repeat('x', 1000000000)
SELECT lpad('x', 1000000000, 'y')
SELECT printf('%1000000000d', 1)
SELECT format('{:1000000000}', 1)
SELECT pg_sleep(100)
SELECT random()
SELECT now()
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t
SELECT count(*) FROM data a, data b, data c, data d, data e WHERE a.b * b.b - c.b * d.b = e.b + 0.5
""".splitlines()
WHERE = """\
1=1; DROP TABLE data
a in (select content from read_text('../secret.txt'))
getenv('ORGLAB_TEST_KEY') = 'x'
__import__('os').system('touch ../pwned')
open('../secret.txt')
a.__class__
lambda x: x
9**9**9 = 1
'a'*1000000000 = a
@a
""".splitlines()
OTHER = [
    ("q", {"sql": "SELECT 1", "file": "../secrets.csv"}),
    ("v", {"column": "../secret.txt"}),
    ("v", {"column": 'a"; DROP TABLE data; --'}),
    ("v", {"column": "a", "limit": 10**9}),
    ("../../x", {}),
    ("q", "[" * 100_000),
]


def calls() -> list[dict[str, Any]]:
    """Every attack as a tool call."""
    asked: list[tuple[str, Any]] = [("q", {"sql": sql}) for sql in SQL]
    asked += [("v", {"column": "a", "where": where}) for where in WHERE]
    return [{"name": name, "arguments": arguments} for name, arguments in [*asked, *OTHER]]


def test_no_tool_call_of_a_model_leaves_the_table(den: Den) -> None:
    """SQL, conditions and arguments: all are refused as results that the model reads."""
    every = calls()
    lines = [{"role": "w", "tool_calls": every[at : at + 8]} for at in range(0, len(every), 8)]
    lines.append({"role": "w", "reply": "done"})
    limits = "limits: {tool_calls: 1000}"
    text = den.text.replace("prompt: P", f"prompt: P, tools: [q, v], {limits}")
    tools = (
        "tools:\n  q: {use: query, with: {file: d.csv, seconds: 2}}\n"
        "  v: {use: value_counts, with: {file: d.csv}}\n"
    )
    rows = "".join(f"t{n},{n}\n" for n in range(300))
    den.write(
        {
            "t.yaml": text + tools,
            "d.csv": f"a,b\n{rows}",
            "replies.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        }
    )
    ended = den.orglab("run", "t.yaml", "--out", "study")
    assert ended.code == 0, ended.out
    with Reader(den.spec / "study") as reader:
        (row,) = reader.runs()
        answers = reader.record(row.id).tool_calls
    assert len(answers) == len(every)
    assert [answer.arguments for answer in answers if not answer.error] == []
    made = {path.name for path in den.spec.iterdir()}
    assert made == {"t.yaml", "d.csv", "replies.jsonl", "study"}
