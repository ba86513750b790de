"""``orglab show``, ``compare`` and ``export``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orglab.results.store.reader import Reader

Cli = Any


@pytest.fixture
def done(cli: Cli, tmp_path: Path) -> Path:
    """A study of three runs."""
    ended = cli("run", "pair.yaml", "--input", "topic=tea", "--replicates", 3, "--out", "done")
    assert ended.code == 0
    return tmp_path / "done"


def test_runs_are_listed(cli: Cli, done: Path) -> None:
    """``show DIR`` lists every run with its status."""
    ended = cli("show", done)
    assert ended.code == 0
    assert ended.out.count("completed") == 3
    assert "SIMULATED" in ended.out


def test_a_transcript_is_shown(cli: Cli, done: Path) -> None:
    """``show DIR RUN`` takes the first characters of an id."""
    with Reader(done) as reader:
        run = next(reader.runs())
    for more in ((), ("--full",)):
        ended = cli("show", done, run.id[:8], *more)
        assert ended.code == 0
        assert "writer" in ended.out
        assert "SIMULATED" in ended.out.upper()


def test_unknown_runs_and_studies_are_reported(cli: Cli, done: Path) -> None:
    """Neither is a traceback; exit code 2."""
    unknown = cli("show", done, "zzz")
    assert (unknown.code, unknown.out) == (2, "")
    assert "no run has an id that begins with 'zzz'" in unknown.err
    for command in (("show", "nowhere"), ("compare", "nowhere"), ("export", "nowhere")):
        ended = cli(*command)
        assert ended.code == 2
        assert "no study" in ended.err


def test_several_runs_are_ambiguous(cli: Cli, done: Path) -> None:
    """A prefix that fits several runs is refused."""
    ended = cli("show", done, "")
    assert ended.code == 2
    assert "several runs" in ended.err


def test_studies_are_compared(cli: Cli, done: Path) -> None:
    """Main figures side by side, each of how many runs."""
    cli("run", "pair.yaml", "--input", "topic=tea", "--out", "other")
    ended = cli("compare", done, "other")
    assert ended.code == 0
    assert "pair (done)" in ended.out
    assert "pair (other)" in ended.out
    for main in ("first_try_approval", "forced_accepts", "tool calls a run", "words"):
        assert main in ended.out
    for detail in ("tokens.input", "comments", "turns a run", "calls.failed", "loops a run"):
        assert detail not in ended.out


def test_all_figures_are_shown_on_demand(cli: Cli, done: Path) -> None:
    """``compare --all`` shows what the main figures leave out."""
    ended = cli("compare", done, "--all")
    for detail in ("tokens.input", "comments", "turns a run", "calls.failed", "loops a run"):
        assert detail in ended.out


def test_a_run_shows_the_main_figures(cli: Cli) -> None:
    """The summary at the end of ``run`` is the short one."""
    ended = cli("run", "pair.yaml", "--input", "topic=tea")
    assert "first_try_approval" in ended.out
    assert "tokens.input" not in ended.out


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_tables_are_exported(cli: Cli, done: Path, kind: str, tmp_path: Path) -> None:
    """Every kind, into the study or another folder; the files are named."""
    for more, folder in (((), done / "export"), (("--out", "there"), tmp_path / "there")):
        ended = cli("export", done, "--to", kind, *more)
        assert ended.code == 0, ended.err
        named = [Path(line) for line in ended.out.split("\n") if line]
        assert named
        assert all(path.is_file() for path in named)
        assert {path.name for path in named} == {path.name for path in folder.iterdir()}
    if kind == "jsonl":
        runs = (tmp_path / "there" / "runs.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(runs) == 3
        assert json.loads(runs[0])["status"] == "completed"


def test_without_a_command_help_is_shown(cli: Cli) -> None:
    """``orglab`` alone and ``--help`` tell every command."""
    for command in ("check", "graph", "render", "run", "show", "compare", "export", "schema"):
        assert command in cli("--help").out
