"""Units: read strictly, checked against the inputs, every fault told at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orglab.engine.graph.team import Team
from orglab.engine.spec.model import Topology
from orglab.engine.study.batch.units import (
    UnitError,
    read_units,
    typed_unit,
    unit_content,
    unit_of,
)

INPUTS = "inputs: {topic: {type: string}}"
MORE = """\
inputs:
  topic: {type: string}
  count: {type: integer, optional: true}
  sure: {type: boolean, optional: true}
  table: {type: string, format: file, optional: true}
"""


@pytest.fixture
def topology(team: Callable[[str], Team], head: str) -> Topology:
    """A team with inputs of several types."""
    text = head.replace(INPUTS + "\n", MORE)
    return team(text + "roles: {writer: {}}\nlinks: []\noutput: writer\n").topology


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """A units file."""
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_cells_become_the_types_that_the_inputs_declare(topology: Topology, tmp_path: Path) -> None:
    """A CSV cell is read by its input's type; an empty optional one is missing; texts stay."""
    file = written(tmp_path, "u.csv", "\ufeffid,topic,count,sure,note\n1,007,3,true,x\n2,yes,,,\n")
    first, second = read_units(file, topology)
    assert first.inputs == {"topic": "007", "count": 3, "sure": True, "table": None}
    assert second.inputs == {"topic": "yes", "count": None, "sure": None, "table": None}
    assert (first.id, first.extra) == ("1", {"id": "1", "note": "x"})


def test_every_fault_is_reported(topology: Topology, tmp_path: Path) -> None:
    """Each with its place and the input."""
    rows: list[dict[str, Any]] = [
        {"id": "a", "count": 1},
        {"id": "b", "topic": 3},
        {"id": "c", "topic": "x", "count": "many"},
        {"id": "a", "topic": "x"},
    ]
    file = written(tmp_path, "u.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UnitError, match="topic: missing") as raised:
        read_units(file, topology)
    assert [issue.split(":")[1].split(" ")[0] for issue in raised.value.issues] == list("1234")
    assert "the id 'a' is already used at u.jsonl:1" in raised.value.issues[3]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("u.csv", "", "the first line must name the columns"),
        ("u.csv", "topic,topic\n", "each name must be unique"),
        ("u.csv", "topic\n", "no units"),
        ("u.csv", "topic\na,b\n", "line 2: 2 cells, the header has 1"),
        ("u.csv", 'topic\n"abc', r"u\.csv: "),
        ("u.csv", b"topic\ncaf\xe9\n", "not UTF-8 at byte 9"),
        ("u.json", "{}", "expected a list of objects"),
        ("u.json", "[1]", "expected a list of objects"),
        ("u.json", "[", r"u\.json: "),
        ("u.json", "[" * 100_000, "nested too deeply"),
        ("u.json", '[{"topic": "a", "count": NaN}]', "NaN"),
        ("u.json", b'[{"topic": "\xe9"}]', "not UTF-8"),
        ("u.jsonl", '{"topic": "a"}\n{"topic": "b"}{"topic": "c"}\n', "^u.jsonl, line 2"),
        ("u.jsonl", '{"topic": "a"}\n{"topic": "b', "^u.jsonl, line 2"),
        ("u.jsonl", "[]\n", "line 1: a unit must be a JSON object"),
        ("u.txt", "x", "expected a file of type .jsonl, .json, .csv or .parquet"),
    ],
)
def test_a_file_that_is_no_units_is_refused(
    topology: Topology, tmp_path: Path, name: str, content: str | bytes, words: str
) -> None:
    """In words, never with a traceback, never in part."""
    with pytest.raises(UnitError, match=words):
        read_units(written(tmp_path, name, content), topology)


def test_files_of_a_units_file_stay_inside_its_folder(topology: Topology, tmp_path: Path) -> None:
    """A row cannot name a file elsewhere; a path of the command line may lie anywhere."""
    folder = tmp_path / "units"
    folder.mkdir()
    written(folder, "t.csv", "a\n1\n")
    inside = written(folder, "u.jsonl", '{"topic": "x", "table": "t.csv"}\n')
    assert read_units(inside, topology)[0].files == {"t.csv": folder / "t.csv"}
    elsewhere = tmp_path.parent / f"{tmp_path.name}-secret.csv"
    elsewhere.write_text("secret\n", encoding="utf-8")
    (folder / "link.csv").symlink_to(elsewhere)
    for path in (str(elsewhere), f"../../{elsewhere.name}", "link.csv", "nope.csv"):
        row = json.dumps({"topic": "x", "table": path})
        with pytest.raises(UnitError, match=r"u\.jsonl:1"):
            read_units(written(folder, "u.jsonl", row), topology)
    unit = typed_unit(["topic=x", f"table={elsewhere}"], topology)
    assert unit.files == {str(elsewhere): elsewhere}


def test_a_file_counts_by_its_content(topology: Topology, tmp_path: Path) -> None:
    """The same path with other content is another unit of work; another path to it is not."""
    one, two = written(tmp_path, "1.csv", "a\n"), written(tmp_path, "2.csv", "a\n")
    first = unit_of({"topic": "x", "table": one}, topology)
    assert first.id == unit_of({"topic": "x", "table": two}, topology).id
    two.write_text("b\n", encoding="utf-8")
    assert first.id != unit_of({"topic": "x", "table": two}, topology).id
    assert unit_content(first) == unit_content(unit_of({"topic": "x", "table": one}, topology))


@given(texts=st.lists(st.text(alphabet=st.characters(codec="utf-8")), min_size=1, unique=True))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_through_jsonl_whole(
    topology: Topology, tmp_path: Path, texts: list[str]
) -> None:
    """Line separators, quotes and controls of a text are no line ends."""
    lines = "".join(json.dumps({"topic": text}, ensure_ascii=False) + "\n" for text in texts)
    units = read_units(written(tmp_path, "u.jsonl", lines), topology)
    assert [unit.inputs["topic"] for unit in units] == texts
    assert len({unit.id for unit in units}) == len(texts)
