"""`faults:` of models and roles: seven names, part of the normal form and of every call they hit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.engine.spec.model import Topology

TEXT = """\
kind: topology
version: 1
name: two
inputs: {topic: {type: string}}
models:
  worker: {provider: simulated, MODEL}
roles:
  reader: {prompt: "Read {{ topic }}.", model: worker}
  writer: {prompt: "Write {{ topic }}.", model: worker, ROLE}
links:
  - {from: reader, to: writer, kind: forward}
output: writer
"""


def spec(folder: Path, model: str = "", role: str = "") -> Path:
    """A team with these faults of its model and of its writer."""
    text = TEXT.replace("MODEL", model or "profile: careful").replace("ROLE", role or "replicas: 1")
    path = folder / "two.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def topology(path: Path, overrides: Mapping[str, Any] | None = None) -> Topology:
    """What is loaded."""
    return orglab.load(path, overrides=overrides or {}).topology


@pytest.mark.parametrize(
    ("model", "role", "told"),
    [
        ("faults: {timeouts: 0.1}", "", "unknown key timeouts; did you mean `timeout`?"),
        ("", "faults: {silence: 0.1}", "unknown key silence; did you mean `silent`?"),
        ("", "faults: {empty: 2}", "2 is above the maximum 1; expected a rate between 0 and 1"),
        ("faults: {empty: often}", "", "expected a rate between 0 and 1, got the text"),
    ],
)
def test_a_wrong_fault_is_reported(tmp_path: Path, model: str, role: str, told: str) -> None:
    """With the name that was meant, or what a rate is."""
    (issue,) = orglab.check(spec(tmp_path, model, role))
    assert told in str(issue)


def test_faults_count_in_the_hash_and_no_faults_do_not(tmp_path: Path) -> None:
    """A rate changes events; an empty map is as none, and 1.0 is 1."""
    plain = topology(spec(tmp_path))
    assert plain.roles["writer"].faults == {}
    assert "faults" not in plain.normal["roles"]["writer"]
    assert topology(spec(tmp_path, role="faults: {}")).hash == plain.hash
    hashes = {
        plain.hash,
        topology(spec(tmp_path, model="faults: {empty: 0.1}")).hash,
        topology(spec(tmp_path, role="faults: {empty: 0.1}")).hash,
        topology(spec(tmp_path, role="faults: {empty: 0.2}")).hash,
        topology(spec(tmp_path, role="faults: {empty: 1}")).hash,
        topology(spec(tmp_path, role="faults: {empty: 1.0}")).hash,
    }
    assert len(hashes) == 5


def test_faults_are_set_by_path(tmp_path: Path) -> None:
    """As an arm's patch and `--set` do."""
    found = topology(spec(tmp_path), {"roles.writer.faults.silent": 0.5})
    assert found.roles["writer"].faults == {"silent": 0.5}


def identities(path: Path, out: Path) -> dict[str, str]:
    """The identity of each role's first call."""
    (record,) = orglab.run(path, inputs={"topic": "tea"}, out=out).records()
    return {call.role: call.identity for call in record.calls}


def test_faults_count_in_the_calls_that_they_may_hit(tmp_path: Path) -> None:
    """So arms that differ in them share every call before, and none that they may hit."""
    plain = identities(spec(tmp_path), tmp_path / "plain")
    of_role = identities(spec(tmp_path, role="faults: {empty: 0.0001}"), tmp_path / "role")
    of_model = identities(spec(tmp_path, model="faults: {empty: 0.0001}"), tmp_path / "model")
    assert of_role["reader"] == plain["reader"] != of_model["reader"]
    assert len({plain["writer"], of_role["writer"], of_model["writer"]}) == 3
