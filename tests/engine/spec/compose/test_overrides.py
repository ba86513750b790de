"""`--set path=value`, and `--models FILE`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.spec.load import Loaded
from orglab.engine.spec.model import Topology

Load = Callable[..., Loaded]
Lines = Callable[..., list[str]]

TEXT = """\
roles:
  writer: {system: Write., vars: {persona: plain}, model: worker}
  critic: {model: worker}
links:
  - {from: writer, to: critic, kind: forward}
  - {id: oversight, from: critic, to: writer, kind: authority, cap: 2}
output: critic
"""


def set_in(load_spec: Load, **overrides: Any) -> Topology:
    """The topology with values set by paths (``__`` for a dot)."""
    loaded = load_spec(TEXT, overrides={k.replace("__", "."): v for k, v in overrides.items()})
    assert [str(issue) for issue in loaded.issues] == []
    assert loaded.topology is not None
    return loaded.topology


def test_values_are_set_by_paths_that_name_things(load_spec: Load) -> None:
    """Roles, links by id, models and limits; also fields that the document does not write."""
    team = set_in(
        load_spec,
        roles__writer__vars__persona="bold", links__oversight__cap=0, limits__turns=3,
        models__worker__params__temperature=0.5, roles__critic__limits__tool_calls=1,
    )  # fmt: skip
    assert team.roles["writer"].vars == {"persona": "bold"}
    assert team.authority[0].cap == 0
    assert team.limits.turns == 3
    assert team.models["worker"].params == {"temperature": 0.5}
    assert team.roles["critic"].limits.tool_calls == 1


def test_null_removes_and_ids_by_default_work(load_spec: Load) -> None:
    """A link without an id is FROM>TO."""
    loaded = load_spec(
        TEXT, overrides={"links.writer>critic.when": "otherwise", "roles.writer.system": None}
    )
    assert loaded.topology is not None
    assert loaded.topology.forward[0].when == "otherwise"
    assert loaded.topology.roles["writer"].system == ""


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("roles.writr.vars.persona", 1, "--set roles.writr.vars.persona: there is no `writr` in `roles`; did you mean `writer`?"),
        ("roles.writer.vars.persna", 1, "--set roles.writer.vars.persna: there is no `persna` in `roles.writer.vars`; did you mean `persona`?"),
        ("links.oversigt.cap", 1, "--set links.oversigt.cap: there is no link `oversigt`; did you mean `oversight`?"),
        ("models.wrker.model", "x", "--set models.wrker.model: there is no `wrker` in `models`; did you mean `worker`?"),
        ("limit.turns", 1, "--set limit.turns: there is no `limit`; did you mean `limits`?"),
        ("kind", "sweep", "--set kind: `kind` cannot be set"),
        ("roles.writer.sees.0", "task", "--set roles.writer.sees.0 roles.writer.sees: expected a list of sights, got a map; begin each item with `- `"),
        ("limits.trns", 1, "--set limits.trns limits.trns: unknown key trns; did you mean `turns`?"),
        ("links.oversight.cap", -1, "--set links.oversight.cap links[1].cap: -1 is below the minimum 0; expected a whole number"),
        ("links.oversight.trigger", {"probability": 2}, "--set links.oversight.trigger links[1].trigger.probability: 2 is above the maximum 1; expected a number between 0 and 1"),
        ("output", "critc", "--set output output: there is no role `critc`; did you mean `critic`?"),
    ],
)  # fmt: skip
def test_faults_of_overrides_are_reported_as_such(
    issues: Lines, path: str, value: Any, line: str
) -> None:
    """A path that names nothing names the nearest; a wrong value is blamed on the option."""
    assert line in issues(TEXT, overrides={path: value})


def test_lists_are_set_whole(issues: Lines) -> None:
    """There are no paths into lists."""
    text = TEXT.replace("model: worker}", "model: worker, sees: [task]}", 1)
    (line,) = issues(text, overrides={"roles.writer.sees.0": "own"})
    assert line == "--set roles.writer.sees.0: a list has no named parts; set the whole list"


# -- --models


def catalogue(tmp_path: Path, text: str) -> Path:
    """A catalogue in another folder than the spec's."""
    path = tmp_path / "elsewhere" / "local.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_catalogue_swaps_the_models(load_spec: Load, tmp_path: Path) -> None:
    """An alias is looked up in the catalogue; `default` serves the others."""
    text = "default: {provider: llama, model: smollm2}\njudge: {provider: simulated}\n"
    loaded = load_spec(TEXT, models=catalogue(tmp_path, text))
    assert loaded.issues == []
    assert loaded.topology is not None
    models = loaded.topology.models
    assert {alias: model.provider for alias, model in models.items()} == {
        "default": "llama", "judge": "simulated", "worker": "llama",
    }  # fmt: skip
    assert models["worker"].model == "smollm2"


def test_an_alias_that_the_catalogue_lacks_is_reported(issues: Lines, tmp_path: Path) -> None:
    """Without `default`, every alias in use must be there; the cure says so."""
    path = catalogue(tmp_path, "wrker: {provider: simulated}\nother: {provider: simulated}\n")
    first, _ = issues(TEXT, models=path)
    assert "there is no model `worker`; did you mean `wrker`?; add it to" in first
    assert "call one entry there `default`" in first


def test_roles_without_a_model_keep_the_one_of_their_document(
    load_spec: Load, tmp_path: Path
) -> None:
    """More entries in the catalogue do not make the choice unclear."""
    path = catalogue(tmp_path, "worker: {provider: simulated}\njudge: {provider: simulated}\n")
    loaded = load_spec("roles: {w: {}}\noutput: w\n", models=path)
    assert loaded.topology is not None
    assert loaded.topology.roles["w"].model == "worker"
    bare = load_spec(
        "roles: {w: {}}\noutput: w\n", head="kind: topology\nversion: 1\n",
        models=catalogue(tmp_path, "default: {provider: simulated}\nb: {provider: simulated}\n"),
    )  # fmt: skip
    assert bare.topology is not None
    assert bare.topology.roles["w"].model == "default"


def test_overrides_reach_the_catalogue(load_spec: Load, tmp_path: Path) -> None:
    """`--set models…` changes the model that is really used."""
    path = catalogue(tmp_path, "default: {provider: simulated}\n")
    loaded = load_spec(TEXT, models=path, overrides={"models.worker.params.temperature": 1})
    assert loaded.topology is not None
    assert loaded.topology.models["worker"].params == {"temperature": 1}


def test_faults_of_a_catalogue_are_reported_in_it(issues: Lines, tmp_path: Path) -> None:
    """Its faults have its file and line; one that cannot be read is a fault of its own."""
    path = catalogue(tmp_path, "default:\n  provider: simulated\n  max_concurency: 1\n")
    assert any("local.yaml:3:3 models." in line for line in issues(TEXT, models=path))
    (line,) = issues(TEXT, models=tmp_path / "none.yaml")
    assert "cannot be read" in line


def test_files_of_a_catalogue_are_relative_to_it(load_spec: Load, tmp_path: Path) -> None:
    """A script of replies lies beside the catalogue; weights may lie anywhere."""
    path = catalogue(
        tmp_path,
        "default: {provider: scripted, file: replies.jsonl}\n"
        f"big: {{provider: llama, model: {tmp_path}/w.gguf}}\n",
    )
    (path.parent / "replies.jsonl").write_text("", "utf-8")
    (tmp_path / "w.gguf").write_text("", "utf-8")
    loaded = load_spec(TEXT, models=path)
    assert loaded.issues == []
    assert loaded.topology is not None
    assert loaded.topology.models["worker"].options == {"file": str(path.parent / "replies.jsonl")}
    assert loaded.topology.models["big"].options == {"file": str(tmp_path / "w.gguf")}
    assert loaded.topology.models["big"].model.endswith("w.gguf")
