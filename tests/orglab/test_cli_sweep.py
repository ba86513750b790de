"""Sweeps at the terminal: many variants, and arms that a sweep makes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]

EXPERIMENT = """\
kind: experiment
version: 1
name: caps
arms:
  free: {base: pair.yaml, set: {links.oversight.cap: 0}}
  bound: {base: pair.yaml, set: {links.oversight.cap: 1}}
treatment: [links.oversight.cap]
units: {file: units.csv}
"""


def sweep(folder: Path, text: str) -> None:
    """Writes a sweep."""
    (folder / "units.csv").write_text("id,topic\na,tea\n")
    (folder / "sweep.yaml").write_text(f"kind: sweep\nversion: 1\nname: s\n{text}")


def test_arms_that_a_sweep_makes_the_same_are_reported(cli: Cli, tmp_path: Path) -> None:
    """They differ by chance alone; a factor beside the treatment leaves them apart."""
    (tmp_path / "caps.yaml").write_text(EXPERIMENT)
    sweep(tmp_path, "base: caps.yaml\nvary: {links.oversight.cap: [0, 2]}\n")
    alike = "ARMS ALIKE: free and bound are the same team in 2 of 2 variants"
    assert alike in cli("check", "sweep.yaml").out
    sweep(tmp_path, "base: caps.yaml\nvary: {limits.turns: [9, 19]}\n")
    assert "ARMS ALIKE" not in cli("check", "sweep.yaml").out


def test_a_plan_tells_a_screenful_of_variants(cli: Cli, tmp_path: Path) -> None:
    """The sums are of all."""
    head = "base: pair.yaml\nunits: {file: units.csv}\n"
    sweep(tmp_path, f"{head}vary: {{limits.turns: [{', '.join(map(str, range(3, 47)))}]}}\n")
    told = " ".join(cli("plan", "sweep.yaml").out.split())
    assert "turns=42" in told
    assert "turns=43" not in told
    assert "and 4 more (--json)" in told


def test_check_looks_at_what_is_set(cli: Cli, tmp_path: Path) -> None:
    """As a run with the same `--set` would."""
    (tmp_path / "caps.yaml").write_text(EXPERIMENT)
    sweep(tmp_path, "base: caps.yaml\nvary: {limits.turns: [9, 19]}\n")
    ended = cli("check", "sweep.yaml", "--set", "roles.wrtier.system=x")
    assert ended.code == 2
    assert "wrtier" in ended.out
