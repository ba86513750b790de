"""Tables, exports and summaries of a small study."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from rich.console import Console

from orglab.providers.structured_output.strict_json import dumps
from orglab.results.display.measures import MeasureSummary
from orglab.results.display.summary import summary
from orglab.results.display.transcript import runs_table
from orglab.results.records import CallEntry, Event, Score, ToolEntry
from orglab.results.statistics.models.wilson import wilson
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store
from orglab.results.tables.export import Format, export, guarded
from orglab.results.tables.tables import TABLES, frame, frames

TEXT = '=1+1, "quoted"\nline \u2028 \ud800 \x1b[2J'


def output(seq: int, text: str) -> Event:
    """An output event."""
    body = {"id": "writer@1", "copy": "writer", "role": "writer", "visit": 1, "value": [text, None]}
    return Event(seq=seq, tick=1, kind="output", body=body | {"text": text})


async def one_run(store: Store, number: int, **call: Any) -> None:
    """A run of two arms with a call, a tool call, an output, a verdict and scores."""
    run_id = str(number) + "0" * 31
    arm = ("flat", "deep")[number % 2]
    about: dict[str, Any] = {
        "inputs": {"n": number},
        "extra": {},
        "replicate": 0,
        "seed": 7,
        "spec_hash": "s",
    }
    journal = store.open_run(run_id, arm=arm, unit=f"=u{number}", order=number, **about)
    body: dict[str, Any] = {
        "request": {"messages": [{"role": "user", "content": TEXT}]},
        "text": TEXT,
    }
    body |= {"cost_usd": 0.5, "simulated": True, "tokens": {"input": 1, "output": 2}} | call
    await journal.keep(CallEntry(position="1.turn.0.0", **body))
    body = {"tool": "head", "arguments": {"n": 1}, "result": [-0.5]}
    await journal.keep(ToolEntry(position="1.turn.0.1", **body))
    verdict = {"link": "l", "superior": "boss", "output": "writer@1", "copy": "writer"}
    verdict |= {"by": "judgement", "action": "approve", "reason": "-good"}
    end = {"status": "completed", "answer": "writer@1", "last": "writer@1"}
    journal.emit(
        [
            output(0, TEXT),
            Event(seq=1, tick=1, kind="verdict", body=verdict),
            Event(seq=2, tick=1, kind="delivered", body={"output": "writer@1", "to": []}),
            Event(seq=3, tick=1, kind="ended", body=end),
        ]
    )
    await store.finish(run_id, status="completed", answer="writer@1", last="writer@1", seconds=2.0)
    scores = [
        Score(name="words", value=10.0 + number, scale="count"),
        Score(name="approved", value=number < 3, scale="binary"),
        Score(name="tone", value="calm", scale="nominal"),
        Score(name="grade", value=None if number == 0 else 2.5, scale="ratio", reason="none"),
        Score(name="questions", value=0, scale="count"),
    ]
    await store.add_scores(run_id, "all", "{}", scores)


@pytest.fixture
async def study(tmp_path: Path) -> Path:
    """Six runs, the last of unknown price, and one that did not end."""
    store = Store(tmp_path / "study")
    for number in range(6):
        await one_run(store, number, **({"cost_usd": None} if number == 5 else {}))
    store.open_run(
        "f" * 32,
        arm="deep",
        unit="u",
        inputs={},
        extra={},
        replicate=0,
        seed=7,
        spec_hash="s",
        order=6,
    )
    await store.add_scores("1" + "0" * 31, "broken", "{}", [], error="no such column")
    store.close()
    return tmp_path / "study"


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_frames_are_tidy_and_missing_is_missing(study: Path) -> None:
    """Each table has its declared columns; unknown costs and scores are NA."""
    with Reader(study) as reader:
        found = frames(reader)
    for name, table in found.items():
        assert list(table.columns) == [column.name for column in TABLES[name]]
    assert len(found["runs"]) == 7
    assert found["runs"]["cost_usd"].isna().tolist() == [False] * 5 + [True, True]
    assert found["runs"]["inputs"][3] == {"n": 3}
    assert found["outputs"]["is_answer"].tolist() == [True] * 6
    assert found["outputs"]["fate"].unique().tolist() == ["delivered"]
    assert found["calls"]["text"][0] == TEXT.replace("\ud800", "\\ud800")
    scores = found["scores"]
    assert scores[scores["name"] == "grade"]["value"].isna().sum() == 1
    assert found["evaluations"]["error"].dropna().tolist() == ["no such column"]


def test_an_empty_study_has_empty_tables(tmp_path: Path) -> None:
    """Every table can be made of nothing."""
    Store(tmp_path).close()
    with Reader(tmp_path) as reader:
        assert all(frame(reader, name).empty for name in TABLES)
    assert "runs" in summary([tmp_path]).text() or summary([tmp_path]).groups == ()


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
def test_exports_one_file_a_table(study: Path, tmp_path: Path, to: Format) -> None:
    """All tables, in a folder of any name, and nothing else is left."""
    out = tmp_path / "o'ut [1] *"
    paths = export(study, to, out)
    assert [path.name for path in paths] == [f"{name}.{to}" for name in TABLES]
    assert sorted(out.iterdir()) == sorted(paths)


def test_csv_runs_no_formula_and_keeps_numbers(study: Path, tmp_path: Path) -> None:
    """Texts that begin like formulas get a sign before them; numbers are numbers."""
    export(study, "csv", tmp_path / "out")
    calls = read_csv(tmp_path / "out" / "calls.csv")
    assert calls[0]["text"] == "'" + TEXT.replace("\ud800", "\\ud800")
    assert calls[0]["unit"] == "'=u0"
    assert calls[0]["cost_usd"] == "0.5"
    assert calls[5]["cost_usd"] == ""
    verdicts = read_csv(tmp_path / "out" / "verdicts.csv")
    assert verdicts[0]["reason"] == "'-good"
    assert read_csv(tmp_path / "out" / "tool_calls.csv")[0]["result"] == "[-0.5]"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "+1"),
        ("-2.5e-3", "-2.5e-3"),
        ("-2+cmd", "'-2+cmd"),
        ("@a", "'@a"),
        ("\t=1", "'\t=1"),
        ("\uff1d1", "'\uff1d1"),
        ("-1\n=2", "'-1\n=2"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_guards_cells(text: str, cell: str) -> None:
    """Only what a spreadsheet would run is changed."""
    assert guarded(text) == cell


def strict_lines(path: Path) -> Iterator[Any]:
    """The values of a file that must be strict JSONL."""
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        yield json.loads(line, parse_constant=pytest.fail)


def test_jsonl_is_strict_and_unchanged(study: Path, tmp_path: Path) -> None:
    """Nested values stay nested, texts stay as they were."""
    export(study, "jsonl", tmp_path / "out")
    rows = list(strict_lines(tmp_path / "out" / "outputs.jsonl"))
    assert rows[0]["value"] == [TEXT, None]
    assert rows[0]["unit"] == "=u0"


def test_parquet_holds_the_declared_types(study: Path, tmp_path: Path) -> None:
    """Whole numbers, numbers, truth and text are told apart, also in columns of nothing."""
    export(study, "parquet", tmp_path / "out")
    path = str(tmp_path / "out" / "runs.parquet")
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?) ORDER BY ordinal", [path])
        kinds = {column[0]: str(column[1]) for column in found.description}
        rows = found.fetchall()
    assert len(rows) == 7
    assert (kinds["turns"], kinds["cost_usd"], kinds["reason"]) == ("BIGINT", "DOUBLE", "VARCHAR")
    assert kinds["simulated"] == "BOOLEAN"


def test_wilson_interval_matches_the_published_value() -> None:
    """3 of 40; and the ends are exactly 0 and 1."""
    assert wilson(3, 40) == pytest.approx((0.025836, 0.198642), abs=5e-7)
    assert wilson(0, 5).low == 0.0
    assert wilson(5, 5).high == 1.0
    with pytest.raises(ValueError, match="a rate of 0 in 0 has no interval"):
        wilson(0, 0)


def test_summary_counts_what_is_missing_and_says_simulated(study: Path) -> None:
    """Arms side by side; missing is counted, unknown is unknown, zeros are told."""
    found = summary([study])
    flat, deep = found.as_json()["groups"]
    assert (flat["arm"], deep["arm"]) == ("flat", "deep")
    assert flat["measures"]["grade"] == {
        "scale": "ratio",
        "n": 2,
        "missing": 1,
        "mean": 2.5,
        "median": 2.5,
    }
    assert deep["measures"]["broken could not measure"]["missing"] == 1
    assert deep["statuses"] == {"completed": 3, "running": 1}
    assert deep["runs_of_unknown_cost"] == 1
    assert flat["measures"]["approved"]["hits"] == 2
    dumps(found.as_json())
    text = found.text(100)
    assert text.startswith("SIMULATED: no language model")
    assert "67 % (2 of 3), 21 to 94 %" in text
    assert "0 in every run: questions" in text
    assert "of 2, 1 missing" in text
    assert "1 unknown" in text


def test_replicates_of_a_unit_are_not_independent() -> None:
    """Five runs of each of six units are no thirty units: the rate has no interval (case 64)."""
    repeated, once = MeasureSummary(scale="binary"), MeasureSummary(scale="binary")
    for unit in range(6):
        once.add(float(unit > 1), None, f"u{unit}")
        for _ in range(5):
            repeated.add(float(unit > 1), None, f"u{unit}")
    assert repeated.text(30) == "67 % (20 of 30), 6 units"
    assert (repeated.as_json()["low"], repeated.as_json()["rate"]) == (None, pytest.approx(2 / 3))
    assert once.text(6) == "67 % (4 of 6), 30 to 90 %"


def test_summary_of_two_studies_names_both(study: Path, tmp_path: Path) -> None:
    """Equal arms of two studies are told apart by their folders."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "study.sqlite").write_bytes((study / "study.sqlite").read_bytes())
    labels = [group.label for group in summary([study, other]).groups]
    assert labels == ["flat (study)", "deep (study)", "flat (other)", "deep (other)"]


def test_the_list_of_runs_shows_ids_that_are_enough(study: Path) -> None:
    """A printed id finds its run; what did not end has no figures; simulated is said."""
    console = Console(width=100, no_color=True)
    with Reader(study) as reader:
        with console.capture() as capture:
            console.print(runs_table(reader, limit=3))
        first = capture.get().splitlines()[1].split()[0]
        assert reader.find(first).ordinal == 0
    assert "… and 4 more runs" in capture.get()
    assert "SIMULATED: all of these runs" in capture.get()


def test_names_are_whole_in_a_narrow_list_of_runs(study: Path) -> None:
    """At 80 columns columns stand above one another; no name is cut."""
    connection = sqlite3.connect(study / "study.sqlite")
    with connection:
        connection.execute("UPDATE runs SET unit='a-unit-with-a-long-name', arm='hierarchical'")
    connection.close()
    console = Console(width=80, no_color=True)
    with Reader(study) as reader, console.capture() as capture:
        console.print(runs_table(reader))
    printed = capture.get()
    assert printed.count("a-unit-with-a-long-name") == printed.count("hierarchical") == 7
    assert max(map(len, printed.splitlines())) <= 80


def told_as_real(study: Path) -> None:
    """A run whose replies were written by a language model."""
    connection = sqlite3.connect(study / "study.sqlite")
    with connection:
        connection.execute("UPDATE runs SET simulated=0 WHERE id LIKE '1%'")
    connection.close()


def test_what_is_simulated_is_reported_of_runs_that_ended(study: Path) -> None:
    """Of others nothing is known: a killed study of simulated models is wholly simulated."""
    assert summary([study]).text().startswith("SIMULATED: no language model")
    told_as_real(study)
    text = summary([study]).text()
    assert text.startswith("PARTLY SIMULATED: flat 3 of 3 ended runs, deep 2 of 3 ended runs\n")


def test_dollars_that_nobody_paid_are_marked(study: Path) -> None:
    """In the summary's own line and in the list of runs, wholly or in part."""
    assert "\nsimulated dollars a run" in summary([study]).text(100)
    told_as_real(study)
    assert "\npartly simulated dollars a run" in summary([study]).text(100)
    connection = sqlite3.connect(study / "study.sqlite")
    with connection:
        connection.execute("UPDATE runs SET simulated=1")
    assert "\nsimulated dollars a run" in summary([study]).text(100)
    with connection:
        connection.execute("UPDATE runs SET simulated=0")
    connection.close()
    assert "\ndollars a run" in summary([study]).text(100)
