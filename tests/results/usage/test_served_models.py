"""Models that did not stay the same, and money that is not plainly paid."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import orglab
from orglab.engine.run.outcome import Unit
from orglab.providers.base import Completion, Request, TokenUsage
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.display.summary import summary
from orglab.results.display.transcript import runs_table
from orglab.results.store.reader import Reader
from orglab.results.usage.served_models import drift_text, drifts
from orglab.results.usage.spending import money_notes, unpaid

TEAM = """\
kind: topology
version: 1
name: one
inputs: {topic: {type: string}}
models: {m: {provider: scripted, model: big, file: replies.jsonl, price: {input: 0, output: 1000}}}
roles: {writer: {system: Write.}}
output: writer
"""
Bend = Callable[..., None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs, of which the last was served by another version: do not change them."""
    tmp_path = tmp_path_factory.mktemp("made")
    (tmp_path / "replies.jsonl").write_text('{"reply": "x"}\n', "utf-8")
    (tmp_path / "team.yaml").write_text(TEAM, "utf-8")
    served = iter(["big-1", "big-1", "big-1", "big-2\x1b[31m"])

    async def reply(_: Request) -> Completion:
        name = next(served)
        prints = {"big-1": "fp_a"}
        usage = TokenUsage(output=1000)
        return Completion(text="x", model=name, fingerprint=prints.get(name), usage=usage)

    units = [Unit(id=f"u{number}", inputs={"topic": "tea"}) for number in range(4)]
    orglab.run(
        tmp_path / "team.yaml",
        units=units,
        out=tmp_path / "study",
        providers={"*": ScriptedProvider(reply)},
        at_once=1,
    )
    return tmp_path / "study"


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    """A copy of them that a test may bend."""
    shutil.copytree(made, tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture
def bend(study: Path) -> Bend:
    """Runs SQL on the study."""

    def run(sql: str, *arguments: Any) -> None:
        connection = sqlite3.connect(study / "study.sqlite")
        with connection:
            connection.execute(sql, arguments)
        connection.close()

    return run


def printed(page: Any) -> str:
    """As a terminal of 200 columns shows it."""
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        console.print(page)
    return capture.get()


def test_several_versions_are_a_drift(study: Path) -> None:
    """With counts by arm, the most frequent first; the server's words are made harmless."""
    with Reader(study) as reader:
        (found,) = drifts(reader)
    assert (found.provider, found.model) == ("scripted", "big")
    assert [(each.fingerprint, dict(each.calls)) for each in found.versions] == [
        ("fp_a", {"one": 3}),
        ("", {"one": 1}),
    ]
    words = drift_text(found)
    assert words.startswith("big was served by 2 versions of it: big-1 (fp_a) in 3 calls, big-2")
    assert "\x1b" not in words


def test_a_drift_is_reported_in_summaries_and_lists(study: Path) -> None:
    """At the end of a run, by ``show``, and in the summary as data."""
    found = summary([study])
    assert "DRIFT: big was served by 2 versions of it" in found.text()
    assert found.as_json()["drifts"][0]["model"] == "big"
    with Reader(study) as reader:
        assert "DRIFT: big was served" in printed(runs_table(reader))
    both = summary([study, study])
    assert "DRIFT: " in both.text()


def test_a_fingerprint_alone_is_a_drift(study: Path, bend: Bend) -> None:
    """The same id behind another configuration is another model; many are not all told."""
    bend("UPDATE calls SET served='big-1', reply=json_set(reply, '$.fingerprint', 'fp_' || run)")
    with Reader(study) as reader:
        (found,) = drifts(reader)
    assert [version.fingerprint for version in found.versions] == ["fp_1", "fp_2", "fp_3", "fp_4"]
    bend("UPDATE calls SET reply=json_set(reply, '$.fingerprint', 'fp_a')")
    with Reader(study) as reader:
        assert drifts(reader) == []
    assert "DRIFT" not in summary([study]).text()


def test_failed_calls_served_nothing(study: Path, bend: Bend) -> None:
    """A call without an answer tells nothing of who serves."""
    bend("UPDATE calls SET error='unavailable' WHERE served!='big-1'")
    with Reader(study) as reader:
        assert drifts(reader) == []


def test_paid_money_needs_no_words(study: Path) -> None:
    """Where every reply was paid for, the figures say all."""
    with Reader(study) as reader:
        assert money_notes(reader) == []
        assert unpaid(reader) == (0, 0.0, 0, 0.0)


def test_paid_taken_and_unknown_are_reported_apart(study: Path, bend: Bend) -> None:
    """A reply costs a dollar here: two paid, one shared, one of another study, one attempt cut."""
    kept = json.dumps({"study": "other"})
    bend("UPDATE calls SET attempts=0 WHERE run IN (1, 2)")
    bend("UPDATE calls SET reply=json_set(reply, '$.kept', json(?)) WHERE run=2", kept)
    bend("UPDATE calls SET cut=1, reserved_usd=0.5 WHERE run=3")
    taken = "1 reply shared with other runs ($1.00), 1 reply taken from other studies ($1.00)"
    cut = "at most $0.5000 is reserved for that; what was really billed is unknown"
    with Reader(study) as reader:
        assert money_notes(reader) == [
            "Paid (simulated): $2.00.",
            f"Not paid again: {taken}.",
            f"1 attempt was cut on the way: {cut}.",
        ]
    assert "1 attempt was cut on the way" in summary([study]).text(200)
    with Reader(study) as reader:
        assert "1 attempt was cut on the way" in printed(runs_table(reader))


def test_a_cut_without_a_bound_says_so(study: Path, bend: Bend) -> None:
    """No figure stands for what nobody knows."""
    bend("UPDATE calls SET cut=2 WHERE run<3")
    with Reader(study) as reader:
        (_, words) = money_notes(reader)
    assert words.startswith(
        "4 attempts were cut on the way: the most that they can have cost is not"
    )
