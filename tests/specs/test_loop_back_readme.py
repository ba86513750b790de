"""The README of study 2: every file and setting that its commands name exists and fits."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from studies import check_experiment

from orglab.cli.options import overrides_of
from orglab.engine.graph.check import check_file
from orglab.engine.study.experiment.load import kind_of

REPO = Path(__file__).parents[2]
STUDY = REPO / "specs" / "loop-back-authority"
PAGES = (STUDY / "README.md", STUDY / "data" / "SOURCES.md")


def commands() -> list[str]:
    """Every command of the pages, a continued one as one line."""
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    blocks = [
        block
        for text in texts
        for block in re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


def values_of(words: list[str], option: str) -> list[str]:
    """The values given for an option."""
    return [words[n + 1] for n, word in enumerate(words) if word == option]


@pytest.mark.parametrize("command", commands())
def test_a_command_names_what_is_there(command: str) -> None:
    """Its documents check clean under its settings, and its files lie where it says."""
    words = shlex.split(command)
    if words[0] == "python":
        assert (REPO / words[1]).is_file()
        return
    assert words[0] == "orglab"
    named = [*values_of(words, "--units"), *values_of(words, "--models")]
    assert all((REPO / file).is_file() for file in named)
    for spec in [word for word in words[2:] if word.endswith(".yaml") and word not in named]:
        path = REPO / spec
        if kind_of(path) == "experiment":
            assert [str(issue) for issue in check_experiment(path)] == []
            continue
        found = check_file(path, overrides=overrides_of(values_of(words, "--set")))
        assert [str(issue) for issue in found.issues] == []


def test_a_product_of_the_commands_is_one_of_the_43() -> None:
    """Whoever copies a command gets a report on a product with reviews."""
    named = {
        value.partition("=")[2]
        for line in commands()
        for value in values_of(shlex.split(line), "--input")
    }
    assert named
    listed = (STUDY / "data" / "synthetic_laptops.jsonl").read_text(encoding="utf-8")
    for product in named:
        (line,) = [line for line in listed.splitlines() if f'"{product}"' in line]
        found = re.search(r'"review_count": (\d+)', line)
        assert found is not None
        assert int(found[1]) >= 5


@pytest.mark.parametrize("documents", [True, False])
def test_every_file_stands_in_a_table(documents: bool) -> None:
    """No team, experiment or sweep is there that the page does not tell of."""
    text = PAGES[0].read_text(encoding="utf-8")
    files = [
        path
        for path in STUDY.glob("*.yaml")
        if path.stem.startswith(("experiment", "sweep")) == documents
    ]
    assert files
    for path in files:
        told = path.name if documents else path.stem
        assert f"| `{told}` |" in text
