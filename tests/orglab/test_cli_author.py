"""Commands for authors: check, graph, render, schema, new, models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

Cli = Any


def test_a_sound_spec_is_reported_with_its_bounds(cli: Cli) -> None:
    """``check`` says roles, links, bounds and hash, and exits 0."""
    ended = cli("check", "pair.yaml")
    assert ended.code == 0
    assert "sound: 2 roles, 1 links" in ended.out
    assert "model calls" in ended.out


def test_every_fault_is_reported_at_once(cli: Cli, spec: str, tmp_path: Path) -> None:
    """``check`` tells all faults with file, line and path, and exits 2."""
    invalid = spec.replace("cap: 2", "cap: -1").replace("output: writer", "output: wrter")
    (tmp_path / "faulty.yaml").write_text(invalid + "evaluaters: []\n", encoding="utf-8")
    ended = cli("check", "faulty.yaml")
    assert ended.code == 2
    for words in ("cap", "wrter", "evaluaters", "did you mean"):
        assert words in ended.out
    assert ended.out.count("faulty.yaml:") == 3


def test_several_files_are_checked(cli: Cli, spec: str, tmp_path: Path) -> None:
    """A sound file beside a faulty one: both are told, exit code 2."""
    (tmp_path / "bad.yaml").write_text(spec.replace("topology", "topolgy", 1), encoding="utf-8")
    ended = cli("check", "pair.yaml", "bad.yaml")
    assert ended.code == 2
    assert "pair.yaml: sound" in ended.out
    assert "bad.yaml:1" in ended.out


def test_check_takes_changes(cli: Cli) -> None:
    """``--set`` is checked like what is written."""
    assert cli("check", "pair.yaml", "--set", "links.oversight.cap=0").code == 0
    ended = cli("check", "pair.yaml", "--set", "links.oversight.cap=many")
    assert ended.code == 2
    assert "cap" in ended.out


@pytest.mark.parametrize(
    ("format_", "begins"), [("mermaid", "flowchart"), ("dot", "digraph"), ("svg", "<svg")]
)
def test_a_team_is_drawn(cli: Cli, format_: str, begins: str) -> None:
    """``graph`` draws in every format."""
    ended = cli("graph", "pair.yaml", "--format", format_)
    assert ended.code == 0
    assert begins in ended.out
    assert "writer" in ended.out


def test_a_team_is_drawn_as_json(cli: Cli) -> None:
    """``graph --format json`` is strict JSON."""
    drawn = json.loads(cli("graph", "pair.yaml", "--format", "json").out)
    assert "writer" in json.dumps(drawn)


def test_an_unknown_format_is_refused(cli: Cli) -> None:
    """A format that there is not is an error of the command."""
    ended = cli("graph", "pair.yaml", "--format", "png")
    assert ended.code == 2
    assert "mermaid" in ended.err


def test_prompts_are_rendered_without_a_call(cli: Cli, tmp_path: Path) -> None:
    """``render`` shows every prompt with its tokens and leaves nothing behind."""
    ended = cli("render", "pair.yaml", "--input", "topic=tea [bold]x[/bold]")
    assert ended.code == 0
    assert "Write about tea [bold]x[/bold]." in ended.out
    assert "writer, turn 1" in ended.out
    assert "reviewing writer" in ended.out
    assert "tokens" in ended.out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [(), ("topology",)])
def test_a_schema_is_printed(cli: Cli, arguments: tuple[str, ...]) -> None:
    """``schema`` prints a JSON Schema, of a topology unless told otherwise."""
    ended = cli("schema", *arguments)
    assert ended.code == 0
    assert "2020-12" in json.loads(ended.out)["$schema"]


def test_an_unknown_schema_is_refused(cli: Cli) -> None:
    """``schema`` names the kinds that there are."""
    ended = cli("schema", "topologie")
    assert ended.code == 2
    assert "topology" in ended.err


def test_a_new_spec_runs(cli: Cli) -> None:
    """What ``new`` writes is sound and runs as its words say; an existing file is left alone."""
    assert cli("new", "first").code == 0
    assert cli("check", "first.yaml").code == 0
    assert cli("run", "first.yaml", "--input", "topic=tea").code == 0
    again = cli("new", "first")
    assert again.code == 2
    assert "exists" in again.err


def test_models_are_shown(cli: Cli) -> None:
    """``models`` lists providers, and the models of a spec."""
    assert "simulated" in cli("models").out
    assert "worker" in cli("models", "pair.yaml").out


def test_a_new_spec_needs_a_name(cli: Cli, tmp_path: Path) -> None:
    """A name that makes no file one would find is refused; nothing is written."""
    ended = cli("new", "..")
    assert ended.code == 2
    assert "begin it with a letter" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["pair.yaml"]


def test_models_of_a_faulty_spec_are_reported_as_faults(cli: Cli) -> None:
    """Nothing is shown before the spec is known to be sound."""
    ended = cli("models", "nope.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert "nope.yaml" in ended.err
