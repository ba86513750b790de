"""JSONL files that may be torn: nothing lost, nothing silent, nothing stuck to a cut line."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from orglab.results.jsonl import Damage, JsonlAppender, Line, mend, read_jsonl

CASE = Path(__file__).parents[2] / "../shared/cases/87-resume-torn-jsonl"


def read(path: Path) -> tuple[list[Line], list[Damage]]:
    """Values and damages of a file."""
    damages: list[Damage] = []
    return list(read_jsonl(path, damages.append)), damages


@pytest.mark.skipif(not CASE.exists(), reason="the handed cases are not here")
def test_case_87_resumes_what_is_not_done(tmp_path: Path) -> None:
    """Kept and to be run are as the case says; after that each line parses, each cell is ok once."""
    path = tmp_path / "results.jsonl"
    path.write_bytes((CASE / "results.jsonl").read_bytes())
    expected = json.loads((CASE / "expected.json").read_text())
    cells = json.loads((CASE / "cells.json").read_text())
    with JsonlAppender(path) as appender:
        known, _ = read(path)
        status = {line.value["cell"]: line.value["status"] for line in known}
        kept = [cell for cell in cells if status.get(cell) == "ok"]
        to_run = [cell for cell in cells if cell not in kept]
        for cell in to_run:
            appender.append({"cell": cell, "status": "ok", "output": "again"})
        (damage,) = appender.damages
    assert (kept, to_run) == (expected["kept"], expected["to_run"])
    assert (damage.line, damage.cut, damage.text) == (7, True, '{"cell": "i6|solo|0", "status":')
    assert damage.text in (tmp_path / "results.jsonl.torn").read_text()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    last = {row["cell"]: row["status"] for row in rows}  # of equal cells the last one counts
    assert last == dict.fromkeys(cells, "ok")


def test_bad_data_in_the_middle_is_told_with_its_line(tmp_path: Path) -> None:
    """Every kind of damage is named; what stands before it on the line is read."""
    path = tmp_path / "a.jsonl"
    lines = [
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": 2} rubbish',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\xff"}',
        '{"a": "one\u2028line\u0085here"}'.encode(),
        b"[" * 100_000,
        b'{"a": 3}',
    ]
    path.write_bytes(b"\n".join(lines))
    values, damages = read(path)
    assert [line.number for line in values] == [1, 2, 6, 8]
    assert values[2].value == {"a": "one\u2028line\u0085here"}
    assert [(damage.line, damage.cut) for damage in damages] == [
        *((2, False), (3, False), (4, False), (5, False), (7, False))
    ]
    assert str(damages[0]).startswith(f"{path}:2: this is no JSON (Expecting value): 'rubbish'")
    assert len(str(damages[-1])) < 400


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", '{"n":9}\n'),
        (b'{"a":1}', '{"a":1}\n{"n":9}\n'),
        (b'{"a":1}\n', '{"a":1}\n{"n":9}\n'),
        (b'{"a":1}\r\n', '{"a":1}\r\n{"n":9}\n'),
        (b'{"a":1}\n{"b', '{"a":1}\n{"n":9}\n'),
        (b'{"a":1}{"b":2}\n', '{"a":1}\n{"b":2}\n{"n":9}\n'),
    ],
)
def test_what_is_appended_never_sticks(tmp_path: Path, before: bytes, after: str) -> None:
    """Whatever the end of the file was, the new value has a line of its own."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(before)
    with JsonlAppender(path) as appender:
        appender.append({"n": 9})
    assert path.read_bytes().decode() == after


def test_a_whole_file_is_left_as_it_is(tmp_path: Path) -> None:
    """Mending touches only what is torn."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"a" :  1}\n\n{"b":2}\n')
    assert mend(path) == []
    assert path.read_text() == '{"a" :  1}\n\n{"b":2}\n'
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


def test_refuses_to_append_what_is_no_json(tmp_path: Path) -> None:
    """NaN is refused, and the file stays whole."""
    path = tmp_path / "a.jsonl"
    with JsonlAppender(path) as appender, pytest.raises(ValueError, match="not JSON compliant"):
        appender.append({"a": float("nan")})
    assert path.read_text() == ""


def test_reads_a_large_file_in_little_memory(tmp_path: Path) -> None:
    """20 MB need less than 2 MB."""
    path = tmp_path / "a.jsonl"
    row: dict[str, Any] = {"text": "x" * 1000}
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for _ in range(20_000))
    tracemalloc.start()
    count = sum(1 for _ in read_jsonl(path, lambda damage: pytest.fail(str(damage))))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 2_000_000
