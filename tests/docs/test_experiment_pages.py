"""Pages on experiments, diff and sweeps: their files are sound, their commands run, their fields are there."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from orglab.cli.app import main
from orglab.engine.spec.validate.schema import definition
from orglab.engine.spec.yaml.reader import read_text
from orglab.engine.study.experiment import diff

DOCS = Path(__file__).parents[2] / "docs/how-to"
PAGES = {
    name: (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in ("experiments", "diff", "sweeps")
}


def fences(page: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], flags=re.DOTALL)


def files(page: str) -> Iterator[tuple[str, str]]:
    """The files that a page shows, by the remark on their first line."""
    for text in fences(page, "yaml"):
        if match := re.match(r"# (\S+\.yaml)\n", text):
            yield match[1], text
    for text in fences(page, "csv"):
        yield "units.csv", text


def commands(page: str) -> list[str]:
    """The commands of the console blocks, without their remarks."""
    lines = [line for block in fences(page, "console") for line in block.splitlines()]
    return [line[2:].split(" #")[0].strip() for line in lines if line.startswith("$ ")]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_run_on_the_page_s_files(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In order, in a folder that holds the files of the page and nothing else."""
    monkeypatch.chdir(tmp_path)
    for name, text in files(page):
        Path(name).write_text(text, encoding="utf-8")
    ran = []
    for command in commands(page):
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert ended.value.code in (0, None), f"{command}: {out}{err}"
        assert out.strip(), command
        ran.append((command, out))
    assert len(ran) == {"experiments": 8, "diff": 3, "sweeps": 5}[page]
    if page == "diff":
        found = json.loads(ran[-1][1])
        assert found["undeclared"] == []
        assert [each["path"] for each in found["differences"]] == [
            "roles.writer.system",
            "links.oversight.cap",
        ]
        assert "[-" not in ran[0][1]
        assert "{+ very+}" in ran[0][1]
        assert all(f"`{key}`" in PAGES["diff"] for key in found)
    elif page == "experiments":
        outs = dict(reversed(ran))
        assert "8 of 8 ended runs looked at" in outs["orglab evaluate study --with more.yaml"]


@pytest.mark.parametrize("text", [text for page in PAGES for text in fences(page, "yaml")])
def test_every_fence_can_be_read(text: str) -> None:
    """As strictly as a spec."""
    assert read_text(text, "page").issues == ()


@pytest.mark.parametrize(
    ("page", "part"), [("experiments", "experiment"), ("experiments", "units"), ("sweeps", "sweep")]
)
def test_every_field_is_on_the_page(page: str, part: str) -> None:
    """With its default as it is filled in."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGES[page].splitlines()
        if line.startswith("| `")
    ]
    told = {
        name: row[2] for row in rows if len(row) > 2 for name in re.findall(r"`([a-z_]+)`", row[0])
    }
    for name, field in definition(part)["properties"].items():
        assert name in told, name
        if "default" in field:
            default = told[name].split(":")[0].strip("`")
            assert read_text(f"a: {default}", "x").data["a"] == field["default"], name


def test_every_class_is_on_the_page() -> None:
    """Of differences."""
    told = re.findall(r"^\| `(\w+)` \|", PAGES["diff"], re.MULTILINE)
    assert set(get_args(diff.Kind)) <= set(told)
