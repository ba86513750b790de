"""``orglab run``: units, overrides, folders, exit codes, going on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.base import Unavailable
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.results.records import RunStatus
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

Cli = Any
SCRIPTED = "{provider: scripted, file: replies.jsonl}"


def study(tmp_path: Path) -> Path:
    """The only study's folder."""
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def statuses(folder: Path) -> list[RunStatus]:
    """How the runs of a study stand."""
    with Reader(folder) as reader:
        return [row.status for row in reader.runs()]


def units_file(folder: Path, kind: str) -> Path:
    """Two units as a file of a kind."""
    rows = [{"id": "a", "topic": "tea"}, {"id": "b", "topic": "green, hot tea"}]
    texts = {
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "json": json.dumps(rows),
        "csv": 'id,topic\na,tea\nb,"green, hot tea"\n',
    }
    file = folder / f"units.{kind}"
    file.write_text(texts[kind], encoding="utf-8")
    return file


def write_replies(folder: Path, replies: list[dict[str, Any]]) -> None:
    """Writes the replies of a scripted model."""
    lines = "".join(json.dumps(reply) + "\n" for reply in replies)
    (folder / "replies.jsonl").write_text(lines, encoding="utf-8")


APPROVE = {"role": "editor", "reply": {"action": "approve", "reason": "fine"}}
DRAFT = {"role": "writer", "reply": "A draft."}


def test_one_unit_from_the_command_line(cli: Cli, tmp_path: Path) -> None:
    """``--input`` makes a unit; the folder is named after the spec; the summary says simulated."""
    ended = cli("run", "pair.yaml", "--input", "topic=tea")
    assert ended.code == 0
    assert "pair: 1 of 1 run" in ended.out
    assert "SIMULATED" in ended.out
    folder = study(tmp_path)
    assert folder.name.startswith("pair-")
    assert f"orglab show runs/{folder.name}" in ended.out
    assert statuses(folder) == ["completed"]


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_units_from_a_file(cli: Cli, tmp_path: Path, kind: str) -> None:
    """Every kind of units file gives the same units."""
    ended = cli("run", "pair.yaml", "--units", units_file(tmp_path, kind))
    assert ended.code == 0
    with Reader(study(tmp_path)) as reader:
        read = [(row.unit, reader.inputs(row.run)[0]["topic"]) for row in reader.runs()]
    assert sorted(read) == [("a", "tea"), ("b", "green, hot tea")]


def test_the_same_command_twice_costs_nothing(cli: Cli, tmp_path: Path) -> None:
    """The second time no run is played, the same figures are shown, exit code 0."""
    command = ("run", "pair.yaml", "--input", "topic=tea", "--replicates", 3, "--seed", 4)
    first, second = cli(*command), cli(*command)
    assert (first.code, second.code) == (0, 0)
    assert "3 of 3 runs, 0 loops, 0 tokens" in second.out
    assert "3 of 3 runs were done before and cost nothing now." in second.out
    assert len(statuses(study(tmp_path))) == 3


def test_more_units_replicates_and_remarks_run_only_what_is_new(
    cli: Cli, spec: str, tmp_path: Path
) -> None:
    """They all go to the same folder, and only what is new is played."""
    units = units_file(tmp_path, "csv")
    assert cli("run", "pair.yaml", "--units", units).code == 0
    units.write_text(units.read_text(encoding="utf-8") + "c,coffee\n", encoding="utf-8")
    more = spec.replace("A writer whose", "A remark. A writer whose")
    more = more.replace("[usage,", "[usage, {pattern: {pattern: tea}},")
    (tmp_path / "pair.yaml").write_text(more, encoding="utf-8")
    ended = cli("run", "pair.yaml", "--units", units, "--replicates", 2)
    assert ended.code == 0
    assert "2 of 6 runs were done before" in ended.out
    folder = study(tmp_path)
    assert len(statuses(folder)) == 6
    with Reader(folder) as reader:
        measured = [each.run_id for each in reader.evaluations() if each.evaluator == "pattern"]
    assert len(set(measured)) == 6


def test_a_changed_spec_has_its_own_folder(cli: Cli, tmp_path: Path) -> None:
    """``--set`` gives another hash and folder; in the old folder it is refused."""
    assert cli("run", "pair.yaml", "--input", "topic=tea").code == 0
    first = study(tmp_path)
    changed = ("run", "pair.yaml", "--input", "topic=tea", "--set", "links.oversight.cap=0")
    assert cli(*changed).code == 0
    assert len(list((tmp_path / "runs").iterdir())) == 2
    ended = cli(*changed, "--out", first)
    assert ended.code == 2
    assert "runs of another spec" in ended.err
    assert statuses(first) == ["completed"]


def test_other_units_in_the_figures_are_reported(cli: Cli) -> None:
    """Figures of runs that this command does not plan are not passed over in silence."""
    cli("run", "pair.yaml", "--input", "topic=tea", "--out", "here")
    ended = cli("run", "pair.yaml", "--input", "topic=coffee", "--out", "here")
    assert "of other units, replicates or seeds than this command's: 1 run." in ended.out


def test_fresh_begins_anew_beside_the_old(cli: Cli, tmp_path: Path) -> None:
    """``--fresh`` overwrites nothing."""
    command = ("run", "pair.yaml", "--input", "topic=tea", "--out", "here")
    cli(*command)
    ended = cli(*command, "--fresh")
    assert ended.code == 0
    assert "were done before" not in ended.out
    assert statuses(tmp_path / "here") == statuses(tmp_path / "here-2") == ["completed"]


def test_models_are_swapped(cli: Cli, tmp_path: Path) -> None:
    """``--models`` runs the same team on another catalogue."""
    write_replies(tmp_path, [DRAFT, APPROVE])
    catalogue = f"models: {{worker: {SCRIPTED}}}\n"
    (tmp_path / "models.yaml").write_text(catalogue, encoding="utf-8")
    ended = cli("run", "pair.yaml", "--input", "topic=tea", "--models", "models.yaml")
    assert ended.code == 0, ended.err
    with Reader(study(tmp_path)) as reader:
        providers = {row["provider"] for row in reader.rows("SELECT provider FROM calls")}
    assert providers == {"scripted"}


def test_a_failed_run_exits_1_and_is_tried_again(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is told with its cure; ``--retry-failed`` goes on from the last reply."""

    async def down(*_: Any) -> None:
        raise Unavailable("the server is down")

    command = ("run", "pair.yaml", "--input", "topic=tea", "--out", "here")
    with monkeypatch.context() as broken:
        broken.setattr(SimulatedProvider, "complete", down)
        failed = cli(*command)
    assert failed.code == 1
    assert "Failed: 1 run; --retry-failed tries it again." in failed.out
    assert "1 failed: writer: unavailable: the server is down" in failed.out
    assert cli(*command).code == 1, "it stays failed"
    again = cli(*command, "--retry-failed")
    assert again.code == 0
    assert "Resumed 1 run." in again.out
    assert statuses(tmp_path / "here") == ["completed"]


def test_a_stopped_run_exits_1(cli: Cli, spec: str, tmp_path: Path) -> None:
    """A run that a limit stopped is no success."""
    (tmp_path / "short.yaml").write_text(spec + "limits: {turns: 1}\n", encoding="utf-8")
    ended = cli("run", "short.yaml", "--input", "topic=tea")
    assert ended.code == 1
    assert "stopped, no answer" in ended.out
    assert "1 stopped: turns" in ended.out


def test_progress_is_lines_without_a_terminal(cli: Cli) -> None:
    """At most about ten lines over a batch, with runs, loops, tokens and dollars; no escapes."""
    ended = cli("run", "pair.yaml", "--input", "topic=tea", "--replicates", 50, "--at-once", 4)
    lines = [line for line in ended.out.splitlines() if line.startswith("pair: ")]
    assert 5 <= len(lines) <= 12
    assert lines[-1].startswith("pair: 50 of 50 runs, ")
    assert "tokens, $" in lines[-1]
    assert "\x1b" not in ended.out


def test_at_once_changes_no_answer(cli: Cli, tmp_path: Path) -> None:
    """``--at-once`` is no part of a run."""
    for folder, number in (("one", 1), ("many", 64)):
        command = ("run", "pair.yaml", "--input", "topic=tea", "--replicates", 6)
        assert cli(*command, "--out", folder, "--at-once", number).code == 0
    events = []
    for folder in ("one", "many"):
        with Reader(tmp_path / folder) as reader:
            sql = "SELECT r.id, e.seq, e.body FROM events e JOIN runs r USING (run) ORDER BY 1, 2"
            events.append([tuple(row) for row in reader.rows(sql)])
    assert events[0] == events[1]


WRONG = {
    "a missing file": (("nope.yaml",), "no such file"),
    "wrong YAML": (("wrong.yaml",), "wrong.yaml:2"),
    "no input": (("pair.yaml",), "topic: missing"),
    "an unknown input": (("pair.yaml", "--input", "topic=a", "--input", "tpic=b"), "tpic"),
    "an input without a value": (("pair.yaml", "--input", "topic"), "name=value"),
    "a wrong path": (("pair.yaml", "--input", "topic=a", "--set", "roles.wrter.x=1"), "wrter"),
    "a change without a value": (("pair.yaml", "--set", "roles"), "path=value"),
    "inputs and units": (("pair.yaml", "--input", "topic=a", "--units", "u.csv"), "exclude"),
    "no units file": (("pair.yaml", "--units", "nope.csv"), "no such file"),
    "another kind of file": (
        ("pair.yaml", "--units", "pair.yaml"),
        ".jsonl, .json, .csv or .parquet",
    ),
    "units that are not UTF-8": (("pair.yaml", "--units", "latin.csv"), "not UTF-8"),
    "lines that are not UTF-8": (("pair.yaml", "--units", "latin.jsonl"), "not UTF-8"),
    "a unit without its input": (("pair.yaml", "--units", "lacking.jsonl"), "lacking.jsonl:2"),
    "no replicates": (("pair.yaml", "--input", "topic=a", "--replicates", "0"), "replicates"),
    "a seed of 65 bits": (("pair.yaml", "--input", "topic=a", "--seed", 2**64), "seed"),
    "a file as folder": (("pair.yaml", "--input", "topic=a", "--out", "pair.yaml"), "pair.yaml"),
    "an unknown option": (("pair.yaml", "--colour"), "--colour"),
    "no catalogue": (("pair.yaml", "--input", "topic=a", "--models", "no.yaml"), "no.yaml"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_reported_in_words(cli: Cli, tmp_path: Path, what: str) -> None:
    """Exit code 2, words on standard error, nothing on standard output, nothing run."""
    (tmp_path / "wrong.yaml").write_text("a: [1\n", encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes("topic\ncafé\n".encode("latin-1"))
    (tmp_path / "latin.jsonl").write_bytes('{"topic": "café"}\n'.encode("latin-1"))
    (tmp_path / "lacking.jsonl").write_text('{"topic": "a"}\n{"x": 1}\n', encoding="utf-8")
    arguments, words = WRONG[what]
    ended = cli("run", *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert ended.out == ""
    assert not (tmp_path / "runs").exists()


def test_a_locked_study_is_reported(cli: Cli, tmp_path: Path) -> None:
    """While another process writes a study, running it is refused in words."""
    store = Store(tmp_path / "here")
    ended = cli("run", "pair.yaml", "--input", "topic=tea", "--out", "here")
    store.close()
    assert ended.code == 2
    assert "is being written by process" in ended.err
