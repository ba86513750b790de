"""The normal form and its hash."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orglab.engine.spec.build import build
from orglab.engine.spec.canonical_form import topology_hash
from orglab.engine.spec.load import Loaded, load_text

Load = Callable[..., Loaded]

TEXT = """\
name: team
inputs: {topic: {type: string}}
roles:
  writer:
    system: Write.
    vars: {b: 1, a: 2}
    model: worker
    output: {type: object, properties: {analysis: {type: string}, score: {type: integer}}}
  critic: {sees: [task, inbox], model: worker}
links:
  - {from: writer, to: critic, kind: forward, when: {score: 3}}
  - {id: over, from: critic, to: writer, kind: authority, cap: 2, stake: {start: 1.0}}
output: critic
limits: {turns: 40}
evaluators: [usage]
x-remark: first
"""


def hash_of(load_spec: Load, text: str, **options: Any) -> str:
    """The hash of a sound spec."""
    loaded = load_spec(text, **options)
    assert [str(issue) for issue in loaded.issues] == []
    assert loaded.topology is not None
    return loaded.topology.hash


def test_the_whole_normal_form(load_spec: Load) -> None:
    """Defaults are filled, maps sorted; roles and properties keep their written order."""
    loaded = load_spec(TEXT)
    assert loaded.normal == {
        "kind": "topology", "version": 1, "name": "team", "description": "",
        "inputs": {"topic": {"type": "string", "optional": False}},
        "models": {"worker": {"provider": "simulated", "model": "", "params": {}, "faults": {}}},
        "pools": {}, "tools": {},
        "roles": {
            "writer": {
                "system": "Write.", "vars": {"a": 2, "b": 1}, "model": "worker", "tools": [],
                "sees": ["task", "inbox", "own"],
                "output": {
                    "type": "object",
                    "properties": {"analysis": {"type": "string"}, "score": {"type": "integer"}},
                },
                "join": "all", "replicas": 1, "on_error": "fail",
                "limits": {"tool_calls": 8, "repeated_calls": 3, "repair_attempts": 2},
            },
            "critic": {
                "system": "", "vars": {}, "model": "worker", "tools": [], "sees": ["task", "inbox"],
                "join": "all", "replicas": 1, "on_error": "fail",
                "limits": {"tool_calls": 8, "repeated_calls": 3, "repair_attempts": 2},
            },
        },
        "links": [
            {"id": "writer>critic", "kind": "forward", "from": "writer", "to": "critic",
             "when": {"score": [3]}},
            {"id": "over", "kind": "authority", "from": "critic", "to": ["writer"], "cap": 2,
             "review": [{"actions": ["approve", "comment", "revise"]}], "sees": "latest",
             "trigger": "judgement", "on_cap": "accept",
             "stake": {"start": 1, "approve": 0, "question": 0, "revise": 0, "reject": 0}},
        ],
        "output": ["critic"], "evaluators": [{"usage": {}}], "limits": {"turns": 40},
        "templates": {}, "files": {}, "x-remark": "first",
    }  # fmt: skip
    assert loaded.normal is not None
    assert list(loaded.normal["roles"]) == ["writer", "critic"]
    assert list(loaded.normal["roles"]["writer"]["vars"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: team", "name: other"),
        ("name: team", "description: In words."),
        ("x-remark: first", "x-remark: second"),
        ("evaluators: [usage]", "evaluators: [usage, {contains: x}]"),
        ("evaluators: [usage]", "# evaluators: none"),
        ("{b: 1, a: 2}", "{a: 2, b: 1}"),
        ("system: Write.", "system: 'Write.'  # a remark"),
        ("cap: 2", "cap: 2.0"),
        ("when: {score: 3}", "when: {score: [3]}"),
        ("to: writer, kind", "to: [writer], kind"),
        ("sees: [task, inbox]", "sees: [task, inbox], join: all, x-a: 1"),
        ("{type: object, properties", "{properties: {analysis: {type: string}, score: {type: integer}}, type: object, x-z"),
        ("limits: {turns: 40}", "limits: {turns: 40, x-why: enough}"),
    ],
)  # fmt: skip
def test_what_cannot_change_an_event_does_not_change_the_hash(
    load_spec: Load, old: str, new: str
) -> None:
    """Names, remarks, evaluators, formatting, key order and written defaults."""
    assert old in TEXT
    changed = TEXT.replace(old, new)
    if "x-z" in new:
        changed = TEXT.replace(
            "{type: object, properties: {analysis: {type: string}, score: {type: integer}}}",
            "{properties: {analysis: {type: string}, score: {type: integer}}, type: object}",
        )
    assert hash_of(load_spec, changed) == hash_of(load_spec, TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("system: Write.", "system: Write!"),
        ("cap: 2", "cap: 3"),
        ("{b: 1, a: 2}", "{b: 1, a: 3}"),
        ("turns: 40", "turns: 41"),
        ("{analysis: {type: string}, score: {type: integer}}", "{score: {type: integer}, analysis: {type: string}}"),
        ("output: critic", "output: [critic, writer]"),
        ("sees: [task, inbox]", "sees: [inbox, task]"),
        ("topic: {type: string}", "topic: {type: string}, more: {type: string}"),
    ],
)  # fmt: skip
def test_what_can_change_an_event_changes_the_hash(load_spec: Load, old: str, new: str) -> None:
    """Prompts, caps, variables, limits, orders that a model sees."""
    assert old in TEXT
    assert hash_of(load_spec, TEXT.replace(old, new)) != hash_of(load_spec, TEXT)


def test_the_order_of_roles_and_links_is_part_of_the_spec(load_spec: Load) -> None:
    """Declared order decides who begins and whose output is posted first."""
    roles = "roles: {a: {}, b: {}}\noutput: a\n"
    assert hash_of(load_spec, roles) != hash_of(
        load_spec, roles.replace("a: {}, b: {}", "b: {}, a: {}")
    )
    links = (
        roles
        + "links: [{kind: forward, from: a, to: b}, {id: x, kind: forward, from: a, to: b, when: otherwise}]\n"
    )
    turned = (
        roles
        + "links: [{id: x, kind: forward, from: a, to: b, when: otherwise}, {kind: forward, from: a, to: b}]\n"
    )
    assert hash_of(load_spec, links) != hash_of(load_spec, turned)


def test_of_models_only_what_can_change_an_event_counts(load_spec: Load) -> None:
    """Prices, rates and timeouts don't, nor does a model that nothing names."""
    head = "kind: topology\nversion: 1\nmodels: {worker: {provider: simulatedMORE}}\n"
    text = "roles: {a: {model: worker}}\noutput: a\n"
    plain = hash_of(load_spec, text, head=head.replace("MORE", ""))
    same = (
        (
            ", price: {input: 1}, max_concurrency: 3, timeout_seconds: 4, requests_per_minute: 5, "
            "tokens_per_minute: 6, api_key_env: KEY, x-a: 1"
        ),
        "}, judge: {provider: llama, model: smollm2",
    )
    for more in same:
        assert hash_of(load_spec, text, head=head.replace("MORE", more)) == plain
    for more in (", params: {temperature: 0}", ", profile: strict", ", faults: {timeout: 0.1}"):
        assert hash_of(load_spec, text, head=head.replace("MORE", more)) != plain


def test_texts_in_files_and_in_place_are_the_same_spec(load_spec: Load) -> None:
    """A prompt in a file, or a base, gives the same normal form as one document."""
    apart = load_spec(
        "extends: base.yaml\nroles: {writer: {system: {file: w.md}}}\nname: team\n",
        head="kind: topology\nversion: 1\n",
        files={
            "base.yaml": "kind: topology\nversion: 1\nmodels: {worker: {provider: simulated}}\n"
            + TEXT.replace("    system: Write.\n", ""),
            "w.md": "Write.",
        },
    )
    assert apart.normal == load_spec(TEXT).normal


NAMES = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.text("ab {}%$é\n", max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | TEXTS
ROLES = st.fixed_dictionaries(
    {},
    optional={
        "system": TEXTS,
        "prompt": TEXTS,
        "vars": st.dictionaries(NAMES, SCALARS | st.lists(SCALARS, max_size=2), max_size=3),
        "sees": st.lists(st.sampled_from(["task", "inbox", "own", "latest"]), unique=True),
        "join": st.sampled_from(["all", "any"]),
        "replicas": st.integers(1, 3),
        "limits": st.fixed_dictionaries({}, optional={"tool_calls": st.integers(0, 3)}),
        "output": st.just({"type": "object", "properties": {"z": {}, "y": {"enum": [1, "x"]}}}),
    },
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Sound documents of four roles at most."""
    roles = draw(st.dictionaries(NAMES, ROLES, min_size=1))
    name = st.sampled_from(sorted(roles))
    links: list[dict[str, Any]] = []
    for index in range(draw(st.integers(0, 4))):
        ends = {"id": f"l{index}", "from": draw(name), "to": draw(name)}
        forward = {"kind": "forward", "when": draw(st.dictionaries(NAMES, SCALARS, min_size=1))}
        authority = {"kind": "authority", "cap": draw(st.integers(0, 3))}
        links.append({**ends, **draw(st.sampled_from([forward, authority]))})
    return {
        "kind": "topology", "version": 1, "models": {"m": {"provider": "simulated"}},
        "roles": roles, "links": links, "output": draw(name), "limits": {"turns": draw(st.integers(1, 9))},
    }  # fmt: skip


def loaded_from(document: Mapping[str, Any], folder: Path, *, flow: bool) -> Loaded:
    """A document written by PyYAML and loaded."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=flow)
    return load_text(text, folder, "spec.yaml")


@settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(documents(), st.booleans())
def test_the_normal_form_is_a_document_with_the_same_normal_form(
    tmp_path: Path, document: dict[str, Any], flow: bool
) -> None:
    """Loading what was normalised changes nothing, however it is written."""
    first = loaded_from(document, tmp_path, flow=flow)
    assert [str(issue) for issue in first.issues] == []
    assert first.normal is not None
    plain = {key: value for key, value in first.normal.items() if key != "files"}
    second = loaded_from(plain, tmp_path, flow=not flow)
    assert [str(issue) for issue in second.issues] == []
    assert json.dumps(second.normal) == json.dumps(first.normal)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(documents())
def test_a_topology_comes_back_from_its_stored_normal_form(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    """What the store keeps as JSON builds the same topology, with the same hash."""
    first = loaded_from(document, tmp_path, flow=False)
    assert first.topology is not None
    stored = json.loads(json.dumps(first.normal, allow_nan=False))
    assert build(stored, tmp_path.resolve()) == first.topology
    assert topology_hash(stored) == first.topology.hash
