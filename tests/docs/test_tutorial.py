"""The tutorial: its commands run in order on its files, and print what it quotes."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from orglab.cli.app import main

PAGE = (Path(__file__).parents[2] / "docs/tutorial/first-experiment.md").read_text("utf-8")


def blocks() -> list[tuple[str, str]]:
    """Return the fenced blocks, each with its language, in order."""
    return re.findall(r"```(\w+)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.timeout(120)
def test_the_tutorial_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files are written as they appear; each quoted line is printed by the commands above it."""
    monkeypatch.chdir(tmp_path)
    printed, ran = "", 0
    for language, text in blocks():
        if language == "yaml":
            name = re.match(r"# (\S+)\n", text)
            assert name is not None
            Path(name[1]).write_text(text, encoding="utf-8")
        elif language == "csv":
            Path("units.csv").write_text(text, encoding="utf-8")
        elif language == "console":
            printed = ""
            for line in text.splitlines():
                monkeypatch.setattr(sys, "argv", shlex.split(line.removeprefix("$ ")))
                with pytest.raises(SystemExit) as ended:
                    main()
                out, err = capsys.readouterr()
                assert ended.value.code in (0, None), f"{line}: {out}{err}"
                printed, ran = printed + out, ran + 1
        elif language == "text":
            missing = [line for line in text.splitlines() if line not in printed]
            assert missing == []
    assert ran == 12
    assert Path("runs/second-look/report.html").is_file()
    assert Path("runs/second-look/export/runs.csv").is_file()
