"""A catalogue in place of a spec's models."""

from __future__ import annotations

from pathlib import Path

from orglab.engine.spec.load import load

SPEC = """\
kind: topology
version: 1
models:
  planted: {provider: scripted, file: replies.jsonl}
  worker: {provider: simulated, profile: careful}
roles:
  writer: {model: planted}
  editor: {model: worker}
links: [{from: editor, to: writer, kind: authority, cap: 1}]
output: writer
"""


def providers(folder: Path, catalogue: str) -> dict[str, str]:
    """The provider of each alias under a catalogue."""
    (folder / "replies.jsonl").write_text('{"role": "writer", "reply": "x"}\n', encoding="utf-8")
    (folder / "team.yaml").write_text(SPEC, encoding="utf-8")
    (folder / "models.yaml").write_text(catalogue, encoding="utf-8")
    loaded = load(folder / "team.yaml", models=folder / "models.yaml")
    assert loaded.issues == []
    assert loaded.topology is not None
    return {alias: model.provider for alias, model in loaded.topology.models.items()}


def test_default_leaves_scripted_models_alone(tmp_path: Path) -> None:
    """A part that was written beforehand is played, whatever serves the others."""
    found = providers(tmp_path, "default: {provider: simulated, profile: lenient}\n")
    assert found["planted"] == "scripted"
    assert found["worker"] == "simulated"


def test_an_entry_of_that_name_replaces_a_scripted_model(tmp_path: Path) -> None:
    """Who names it means it."""
    found = providers(tmp_path, "planted: {provider: simulated}\ndefault: {provider: simulated}\n")
    assert found["planted"] == "simulated"
