"""``orglab report``, and what ``orglab run`` of an experiment writes at its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

EXPERIMENT = """\
kind: experiment
version: 1
name: cap
question: Does the cap matter?
arms:
  free: {base: pair.yaml, set: {links.oversight.cap: 0}}
  bound: pair.yaml
treatment: [links.oversight.cap]
units: {file: units.jsonl, id: topic}
evaluators: [length]
analysis: {contrasts: [[bound, free]], primary: [words]}
"""


def prepare(folder: Path) -> None:
    """The experiment and its units."""
    (folder / "cap.yaml").write_text(EXPERIMENT, encoding="utf-8")
    units = "".join(f'{{"topic": "t{at}"}}\n' for at in range(4))
    (folder / "units.jsonl").write_text(units, encoding="utf-8")


def test_an_experiment_ends_with_its_report(cli: Callable[..., Any], tmp_path: Path) -> None:
    """The answer in one sentence, and where the report lies."""
    prepare(tmp_path)
    ended = cli("run", "cap.yaml", "--out", "study")
    assert ended.code == 0
    assert "With simulated models, " in ended.out
    assert f"Report: {Path('study') / 'report.html'}" in ended.out
    for name in ("report.html", "report.md", "report.json", "transcripts/t0.html"):
        assert (tmp_path / "study" / name).is_file()


def test_a_report_goes_where_it_is_asked_to(cli: Callable[..., Any], tmp_path: Path) -> None:
    """Without transcripts, where they are not wanted."""
    prepare(tmp_path)
    cli("run", "cap.yaml", "--out", "study")
    ended = cli("report", "study", "--out", "there", "--no-transcripts")
    assert ended.code == 0
    assert (tmp_path / "there" / "report.html").is_file()
    assert not (tmp_path / "there" / "transcripts").exists()


def test_a_team_has_no_report(cli: Callable[..., Any], tmp_path: Path) -> None:
    """It is said in words, with what to do instead."""
    cli("run", "pair.yaml", "--input", "topic=x", "--out", "study")
    ended = cli("report", "study")
    assert ended.code == 2
    assert "no experiment" in ended.err
    assert not (tmp_path / "study" / "report.html").exists()
