"""README: its commands run, its YAML is valid, its Python works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def fences(language: str) -> list[str]:
    """The README's fenced blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> Iterator[str]:
    """The commands of the console blocks, without their remarks."""
    for block in fences("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield line[2:].split(" # ")[0].split("  #")[0].strip()


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command as a person would, with our `orglab` first on the path."""
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    return subprocess.run(  # the README's own words
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.timeout(180)
def test_the_commands_run(tmp_path: Path) -> None:
    """Every `orglab` command of the page, and what makes its files, in their order, in one folder."""
    ran = 0
    for command in commands():
        if not command.startswith(("orglab", "sed", "printf")):
            continue
        done = shell(command, tmp_path)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert done.stdout.strip() or " > " in command, command
        ran += 1
    assert ran >= 10


def test_the_makes_exist() -> None:
    """Every `make` target of the page is in the Makefile, and `.ci/run` can be run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands():
        words = shlex.split(command)
        if words[0] == "make":
            assert f"\n{words[1]}:" in makefile
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_the_spec_is_sound_and_runs(tmp_path: Path) -> None:
    """The YAML of the first screen, as it stands."""
    (tmp_path / "team.yaml").write_text(fences("yaml")[0], encoding="utf-8")
    done = shell("orglab check team.yaml && orglab run team.yaml --input topic=tea", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_python_works(tmp_path: Path) -> None:
    """The Python block, after `orglab new first`."""
    assert shell("orglab new first", tmp_path).returncode == 0
    (tmp_path / "try.py").write_text(fences("python")[0], encoding="utf-8")
    done = shell(f"{shlex.quote(sys.executable)} try.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("completed")
