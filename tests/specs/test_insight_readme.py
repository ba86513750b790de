"""The README of study 1: every team, file and setting that its commands name exists and fits."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from studies import check_experiment

import orglab
from orglab.cli.options import overrides_of
from orglab.engine.graph.check import check_file
from orglab.engine.study.experiment.load import kind_of
from orglab.results.tables.export import export

REPO = Path(__file__).parents[2]
READMES = [REPO / "specs" / "README.md", REPO / "specs" / "insight-review" / "README.md"]


def fences(path: Path, language: str) -> list[str]:
    """The code of a README's fences in a language; "" for commands."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands() -> list[str]:
    """Every command of the READMEs, a continued one as one line."""
    blocks = [block for path in READMES for block in fences(path, "")]
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


def settings_in_prose() -> list[str]:
    """The settings that the text tells to use with any team."""
    text = "".join(path.read_text(encoding="utf-8") for path in READMES)
    return [shlex.split(found)[1] for found in re.findall(r"`(--set [^`]+)`", text)]


def values_of(words: list[str], option: str) -> list[str]:
    """The values given for an option."""
    return [words[n + 1] for n, word in enumerate(words) if word == option]


@pytest.mark.parametrize("command", commands())
def test_a_command_names_what_is_there(command: str) -> None:
    """Its team checks clean under its settings, and its files lie where it says."""
    words = shlex.split(command)
    if words[0] == "python":
        assert (REPO / words[1]).is_file()
        return
    assert words[0] == "orglab"
    files = values_of(words, "--units")
    files += [value.partition("=")[2] for value in values_of(words, "--input") if "table=" in value]
    assert all((REPO / file).is_file() for file in files)
    for spec in [word for word in words[2:3] if word.endswith(".yaml")]:
        if kind_of(REPO / spec) == "experiment":
            assert [str(issue) for issue in check_experiment(REPO / spec)] == []
            continue
        found = check_file(REPO / spec, overrides=overrides_of(values_of(words, "--set")))
        assert [str(issue) for issue in found.issues] == []


@pytest.mark.parametrize("setting", settings_in_prose())
def test_a_setting_of_the_text_fits_a_team(setting: str) -> None:
    """It names a field that is there, with a value that the field takes."""
    team = REPO / "specs" / "insight-review" / "reviewer-truth-skeptic.yaml"
    found = check_file(team, overrides=overrides_of([setting]))
    assert [str(issue) for issue in found.issues] == []


def test_the_table_of_false_accepts_comes_from_the_exports_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python of the README runs on a real export and counts all forty units."""
    study = REPO / "specs" / "insight-review"
    monkeypatch.chdir(tmp_path)
    orglab.run(
        study / "reviewer-truth-skeptic.yaml",
        units=study / "units-truth.jsonl",
        out="runs/truth-skeptic",
    )
    export(Path("runs/truth-skeptic"), "csv", Path("runs/truth-skeptic/export"))
    names: dict[str, object] = {}
    exec(fences(READMES[1], "python")[0], names)
    table = names["table"]
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 40
    lines = (study / "units-truth.jsonl").read_text(encoding="utf-8").splitlines()
    units = [json.loads(line) for line in lines]
    assert sorted(table.kind) == sorted(unit["kind"] for unit in units)
    assert "wrong_figure" in capsys.readouterr().out
