"""``orglab plan``: what a run may use, told before it is begun."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]

EXPERIMENT = """\
kind: experiment
version: 1
name: caps
arms:
  free: pair.yaml
  bound: {base: pair.yaml, set: {links.oversight.cap: 0}}
treatment: [links.oversight.cap]
units: {file: units.csv}
pairing: {share_prefix: true}
evaluators: [usage]
"""


def test_a_plan_is_reported_and_nothing_is_written(cli: Cli, tmp_path: Path) -> None:
    """Runs, bounds, models with their prices; no study is begun."""
    ended = cli("plan", "pair.yaml", "--input", "topic=tea", "--replicates", "3")
    assert ended.code == 0
    assert "pair: 3 runs, 3 to do, in runs/pair-" in ended.out
    assert "No earlier run is known" in ended.out
    assert "worker (writer, editor)" in ended.out
    assert "simulated: free" in ended.out
    assert "≤ 54" in ended.out
    assert not (tmp_path / "runs").exists()


def test_after_a_run_the_plan_knows_it(cli: Cli) -> None:
    """Done runs are done, and what they used is an estimate."""
    cli("run", "pair.yaml", "--input", "topic=tea")
    ended = cli("plan", "pair.yaml", "--input", "topic=tea", "--replicates", "2")
    assert "pair: 2 runs, 1 done, 1 to do" in ended.out
    assert "mean of 1 earlier run" in ended.out
    assert "Spent so far in runs/pair-" in ended.out


def test_with_nothing_to_do_dollars_are_reported_once(cli: Cli) -> None:
    """No row stands without a name."""
    cli("run", "pair.yaml", "--input", "topic=tea")
    out = cli("plan", "pair.yaml", "--input", "topic=tea").out
    rows = out[out.index("by model") :].splitlines()[1:]
    assert [row.strip() for row in rows if row.strip() and not row.strip(" $0")] == []
    assert "together" in out


def test_names_of_variants_are_reported_whole(cli: Cli, tmp_path: Path) -> None:
    """They differ in their last letters, so they are broken over lines and not cut."""
    sweep = "kind: sweep\nversion: 1\nname: wide\nbase: pair.yaml\nunits: {file: one.csv, id: id}\n"
    vary = "vary: {links.oversight.cap: [1, 2], models.worker.profile: [careful, {label: remarkably_hasty, value: lenient}]}\n"
    (tmp_path / "wide.yaml").write_text(sweep + vary, encoding="utf-8")
    (tmp_path / "one.csv").write_text("id,topic\na,tea\n", encoding="utf-8")
    out = cli("plan", "wide.yaml").out
    assert "…" not in out[out.index("One run") : out.index("by model")]


def test_without_a_unit_one_is_made_up(cli: Cli) -> None:
    """A first look at a spec needs no unit; a wrong one is told."""
    assert "a unit that was made up" in cli("plan", "pair.yaml").out
    ended = cli("plan", "pair.yaml", "--input", "topik=tea")
    assert (ended.code, "topik" in ended.err) == (2, True)


def test_a_plan_as_json(cli: Cli) -> None:
    """Everything as plain data."""
    body = json.loads(cli("plan", "pair.yaml", "--json").out)
    assert body["made_up_unit"] is True
    assert body["to_do"]["runs"] == 1
    assert body["studies"][0]["arms"][0]["run_at_most"]["judging"]["calls"] == 0
    assert body["models"][0]["models"][0]["price"] == {"how": "free"}


def test_experiments_have_a_plan(cli: Cli, tmp_path: Path) -> None:
    """Arms in rows, shared calls told."""
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT, encoding="utf-8")
    (tmp_path / "units.csv").write_text("id,topic\na,tea\nb,rice\n", encoding="utf-8")
    ended = cli("plan", "experiment.yaml")
    assert "caps: 4 runs, 4 to do" in ended.out
    assert "Arms share calls: of " in ended.out


def test_faults_of_a_spec_are_reported_first(cli: Cli) -> None:
    """As by ``check``."""
    assert cli("plan", "nope.yaml").code == 2
