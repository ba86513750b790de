"""Commands on a terminal whose encoding lacks signs (Windows, pipes, LC_ALL=C)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from case_files import case_folder

CASE = case_folder("113-terminal-without-unicode")
ORGLAB = str(Path(sys.executable).parent / "orglab")
ENCODINGS = {
    "cp1252": {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    "C": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}


@pytest.mark.parametrize(
    ("encoding", "command"),
    [
        ("cp1252", ["plan", "spec.yaml", "--input", "topic=tea"]),
        ("cp1252", ["diff", "spec.yaml", "say.yaml"]),
        ("C", ["render", "spec.yaml", "--input", "topic=caf\u00e9 \u2264"]),
        ("C", ["plan", "spec.yaml", "--input", "topic=tea"]),
    ],
)
def test_signs_that_cannot_be_written_are_replaced(encoding: str, command: list[str]) -> None:
    """No command ends midway; `diff` says 0 where it is only asked to show."""
    env = {**os.environ, **ENCODINGS[encoding]}
    env.pop("LANG", None)
    done = subprocess.run([ORGLAB, *command], cwd=CASE, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"codec can" not in done.stderr
    assert done.stdout


def test_a_run_ends_and_is_shown(tmp_path: Path) -> None:
    """`run` and `show` with a unit whose id the terminal cannot write."""
    units = tmp_path / "units.jsonl"
    units.write_text('{"id": "cafe\u0301 \u2265", "topic": "tea"}\n', encoding="utf-8")
    env = {**os.environ, **ENCODINGS["cp1252"]}
    out = str(tmp_path / "study")
    for command in (["run", "spec.yaml", "--units", str(units), "--out", out], ["show", out]):
        done = subprocess.run(
            [ORGLAB, *command], cwd=CASE, env=env, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert b"cafe" in done.stdout or command[0] == "run"
