"""A stranger's folder beside files that no spec may reach, and the real command in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

CANARY = "canary-5d1c0f"
KEY = "planted-key-9b27e4"
SPEC = """\
kind: topology
version: 1
name: team
inputs: {x: {type: string, optional: true}}
models: {m: {provider: scripted, file: replies.jsonl}}
roles: {w: {system: S, prompt: P}}
output: w
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str


@dataclass
class Den:
    """``spec`` is the stranger's folder; everything beside it is forbidden.

    Attributes:
        root: Holds both.
        spec: The stranger's folder, the working folder of every command.
        text: A sound spec to spoil.
        key: A secret that stands in the environment as ``ORGLAB_TEST_KEY``.
    """

    root: Path
    spec: Path
    text: str = SPEC
    key: str = KEY

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Puts files into the stranger's folder."""
        for name, content in files.items():
            path = self.spec / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def orglab(self, *arguments: object, width: int = 200, seconds: float = 100) -> Ended:
        """Runs ``orglab`` in the stranger's folder; no command may end in a traceback."""
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "orglab", *map(str, arguments)],
            cwd=self.spec,
            env={**os.environ, "COLUMNS": str(width), "NO_COLOR": "1", "ORGLAB_TEST_KEY": KEY},
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        out = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        assert "Traceback" not in out, out
        assert CANARY not in out
        assert KEY not in out
        return Ended(ended.returncode, out)

    def outside(self) -> dict[str, bytes]:
        """Every file outside the stranger's folder."""
        found = [path for path in self.root.rglob("*") if not path.is_relative_to(self.spec)]
        return {str(path): path.read_bytes() for path in found if path.is_file()}

    def leaks(self, word: str) -> list[str]:
        """Files of the stranger's folder that hold ``word``."""
        found = [p for p in self.spec.rglob("*") if not p.is_symlink() and p.is_file()]
        return [str(path) for path in found if word.encode() in path.read_bytes()]


@pytest.fixture
def den(tmp_path: Path) -> Iterator[Den]:
    """A den; afterwards nothing outside has changed, and nothing of it has got inside."""
    made = Den(root=tmp_path, spec=tmp_path / "spec")
    made.spec.mkdir()
    for name in ("secret.txt", "secret.md", "team.yaml", "a.b"):
        (tmp_path / name).write_text(f"{CANARY}\n", encoding="utf-8")
    (tmp_path / "secrets.csv").write_text(f"a,b\n{CANARY},1\n", encoding="utf-8")
    (tmp_path / "secrets.jsonl").write_text(f'{{"role": "w", "reply": "{CANARY}"}}\n', "utf-8")
    (tmp_path / "weights.bin").write_text(f"GGUF{CANARY}", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept.txt").write_text(CANARY, encoding="utf-8")
    before = made.outside()
    yield made
    assert made.outside() == before
    assert made.leaks(CANARY) == []
    assert made.leaks(KEY) == []
