"""The command line in this process, and a first spec to try it on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from orglab.cli.app import main

SPEC = """\
kind: topology
version: 1
name: pair
description: A writer whose drafts an editor may send back.
inputs: {topic: {type: string}}
models: {worker: {provider: simulated, profile: careful}}
roles:
  writer: {system: You write., prompt: "Write about {{ topic }}."}
  editor: {system: You judge.}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 2}
output: writer
evaluators: [usage, approvals, {length: {max: 150}}]
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ended]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs ``orglab`` in a folder of its own that holds ``pair.yaml``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "pair.yaml").write_text(SPEC, encoding="utf-8")

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["orglab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        code = ended.value.code
        assert "Traceback" not in out + err
        return Ended(code if isinstance(code, int) else 0, out, err)

    return run


@pytest.fixture
def spec() -> str:
    """The text of ``pair.yaml``."""
    return SPEC
