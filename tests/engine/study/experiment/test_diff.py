"""What differs between two teams: nothing where they say the same, else each thing by its name."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orglab.engine.spec.canonical_form import topology_hash
from orglab.engine.spec.load import load, load_text
from orglab.engine.study.experiment.diff import ABSENT, Difference, covered, differences, undeclared

STUDY = Path(__file__).parents[4] / "specs/loop-back-authority"
TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models:
  fast: {provider: scripted, file: replies.jsonl, params: {temperature: 0.2}}
  slow: {provider: scripted, file: replies.jsonl}
pools: {both: {members: [fast, slow]}}
tools: {find: {use: get_record, with: {file: records.jsonl, id: id}}}
roles:
  writer: {system: You write well., model: fast, tools: [find], vars: {tone: dry, x-tone: a}}
  editor: {system: You edit., model: {pool: both}}
  x-ray: {system: You look through., model: slow}
links:
  - {from: writer, to: x-ray, kind: forward}
  - {id: oversight, from: editor, to: [writer, x-ray], kind: authority, cap: 2, sees: latest}
output: x-ray
evaluators: [usage, {length: {max: 100}}]
limits: {turns: 40}
"""
OTHER_WORDS = """\
# The same team by another hand.
x-note: a remark
version: 1
kind: topology
name: other
description: In other words.
limits: {turns: 40.0, x-why: enough}
output: [x-ray]
tools:
  find: {with: {id: id, file: records.jsonl, x-why: listings}, use: get_record}
pools: {both: {draw: per_unit, members: [fast, slow]}}
models:
  slow: &slow
    file: replies.jsonl
    provider: scripted
  fast: {<<: *slow, params: {temperature: 0.2}}
inputs:
  topic: {"type": "string", optional: false}
roles:
  writer:
    vars: {x-tone: a, tone: dry}
    tools: [find]
    model: fast
    system: >-
      You write
      well.
    x-why: it must be written
  editor: {model: {pool: both}, system: "You edit."}
  x-ray: {model: slow, system: You look through., join: all}
links:
  - {kind: forward, to: x-ray, from: writer, x-why: order}
  - id: oversight
    kind: authority
    cap: 2
    to: [writer, x-ray]
    from: editor
evaluators:
  - usage
  - length: {max: 100}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the team names."""
    made = tmp_path_factory.mktemp("team")
    for name in ("records", "others"):
        (made / f"{name}.jsonl").write_text(f'{{"id": "{name}"}}\n', encoding="utf-8")
    (made / "replies.jsonl").write_text('{"role": "writer", "reply": "x"}\n', encoding="utf-8")
    return made


def normal(text: str, folder: Path) -> Mapping[str, Any]:
    """The normal form of a sound team."""
    loaded = load_text(text, folder, "team.yaml")
    assert [str(issue) for issue in loaded.issues] == []
    assert loaded.normal is not None
    return loaded.normal


def told(found: Sequence[Difference]) -> dict[str, str]:
    """Path and class of each difference."""
    return {each.where: each.kind for each in found}


def test_other_formatting_is_no_difference(folder: Path) -> None:
    """Order of maps, anchors, comments, defaults written out, names, remarks: nothing differs."""
    left, right = normal(TEAM, folder), normal(OTHER_WORDS, folder)
    assert differences(left, right) == differences(right, left) == []
    assert topology_hash(left) == topology_hash(right)


CHANGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "structure": (
        "- {from: writer, to: x-ray, kind: forward}",
        "- {from: writer, to: editor, kind: forward}\n  - {from: editor, to: x-ray, kind: forward}",
        {
            "links.writer>x-ray": "structure",
            "links.writer>editor": "structure",
            "links.editor>x-ray": "structure",
        },
    ),
    "a role": (
        "  editor: {system",
        "  reader: {system: You read., model: slow}\n  editor: {system",
        {"roles.reader": "structure"},
    ),
    "an input": ("{type: string}}\nm", "{type: integer}}\nm", {"inputs.topic": "structure"}),
    "output": ("output: x-ray", "output: writer", {"output": "structure"}),
    "join": ("through., model", "through., join: any, model", {"roles.x-ray.join": "structure"}),
    "authority": (
        "cap: 2, sees: latest",
        "cap: 0, sees: blackboard",
        {"links.oversight.cap": "authority", "links.oversight.sees": "authority"},
    ),
    "a directive": (
        "cap: 2,",
        "cap: 2, directive: Again.,",
        {"links.oversight.directive": "prompts"},
    ),
    "a phase's prompt": (
        "cap: 2,",
        "cap: 2, review: [{actions: [approve, comment, revise], prompt: Judge.}],",
        {"links.oversight.review.0.prompt": "prompts"},
    ),
    "a system prompt": ("You edit.", "You edit  .", {"roles.editor.system": "prompts"}),
    "vars": ("tone: dry", "tone: wet", {"roles.writer.vars.tone": "prompts"}),
    "a free name that looks like a remark": (
        "x-tone: a",
        "x-tone: b",
        {"roles.writer.vars.x-tone": "prompts"},
    ),
    "a role called like a remark": ("through.", "around.", {"roles.x-ray.system": "prompts"}),
    "models": (
        "temperature: 0.2",
        "temperature: 0.3",
        {"models.fast.params.temperature": "models"},
    ),
    "a role's model": ("model: fast,", "model: slow,", {"roles.writer.model": "models"}),
    "a pool": ("[fast, slow]", "[slow, fast]", {"pools.both.members": "models"}),
    "tools": ("tools: [find], ", "", {"roles.writer.tools": "tools"}),
    "a tool's setting": ("id: id}", "id: key}", {"tools.find.with.id": "tools"}),
    "data": ("file: records.", "file: others.", {"tools.find.with.file": "data"}),
    "limits": ("turns: 40", "turns: 41", {"limits.turns": "limits"}),
    "a role's limits": (
        "through., model",
        "through., limits: {tool_calls: 2}, model",
        {"roles.x-ray.limits.tool_calls": "limits"},
    ),
    "evaluation": ("max: 100", "max: 99", {"evaluators.1.length.max": "evaluation"}),
    "templates": (
        "limits: {turns",
        "templates: {powers: You may.}\nlimits: {turns",
        {"templates.powers": "prompts"},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_difference_has_its_path_and_its_class(name: str, folder: Path) -> None:
    """One change is one difference at its own path, in both directions."""
    old, new, expected = CHANGES[name]
    changed = TEAM.replace(old, new, 1)
    assert changed != TEAM
    loaded = load_text(changed, folder, "team.yaml")
    left = normal(TEAM, folder)
    right = loaded.normal or pytest.fail("\n".join(map(str, loaded.issues)))
    assert told(differences(left, right)) == expected
    assert told(differences(right, left)) == expected


def test_what_one_side_does_not_have(folder: Path) -> None:
    """An added thing is absent on the other side, whole."""
    more = TEAM.replace("sees: latest", "sees: latest, stake: {start: 3}")
    (found,) = differences(normal(TEAM, folder), normal(more, folder))
    assert found.path == ("links", "oversight", "stake")
    assert found.left is ABSENT
    assert found.right["start"] == 3


def test_the_declared_order_is_part_of_the_spec(folder: Path) -> None:
    """Roles and links in another order differ by that alone; only what both have is compared."""
    roles = yaml.safe_load(TEAM)
    roles["roles"] = dict(reversed(list(roles["roles"].items())))
    (found,) = differences(
        normal(TEAM, folder), normal(yaml.safe_dump(roles, sort_keys=False), folder)
    )
    assert found.where == "roles.(order)"
    assert found.left == ["writer", "editor", "x-ray"]
    assert found.right == ["x-ray", "editor", "writer"]
    links = yaml.safe_load(TEAM)
    links["links"].reverse()
    (found,) = differences(
        normal(TEAM, folder), normal(yaml.safe_dump(links, sort_keys=False), folder)
    )
    assert (found.where, found.kind) == ("links.(order)", "structure")


def test_the_same_name_with_other_content_is_data(tmp_path: Path, folder: Path) -> None:
    """Two folders, the same spec, another file: the file is the difference."""
    for name in ("records.jsonl", "replies.jsonl"):
        (tmp_path / name).write_text('{"id": "another"}\n', encoding="utf-8")
    text = TEAM.replace("scripted, file: replies.jsonl", "simulated")
    (found,) = differences(normal(text, folder), normal(text, tmp_path))
    assert found.path == ("files", "records.jsonl")
    assert found.kind == "data"
    assert covered(found.path, ["files.records.jsonl"])
    assert covered(found.path, ["files.*"])
    assert not covered(found.path, ["files.records"])


def test_flat_and_hierarchical_differ_in_the_declared_paths_alone() -> None:
    """The published treatment, and nothing else."""
    flat, hierarchical = (load(STUDY / f"{name}.yaml").normal for name in ("flat", "hierarchical"))
    assert flat is not None
    assert hierarchical is not None
    assert told(differences(flat, hierarchical)) == {
        "links.oversight.cap": "authority",
        "links.oversight.sees": "authority",
    }


def test_true_is_not_one(folder: Path) -> None:
    """JSON tells them apart, and so does a comparison."""
    one = TEAM.replace("tone: dry", "tone: 1")
    true = TEAM.replace("tone: dry", "tone: true")
    assert told(differences(normal(one, folder), normal(true, folder))) == {
        "roles.writer.vars.tone": "prompts"
    }


# --- treatment paths ---------------------------------------------------------------------------

PATHS: list[tuple[str, str, bool]] = [
    ("links.oversight.cap", "links.oversight.cap", True),
    ("links.oversight", "links.oversight.cap", True),
    ("links", "links.oversight.cap", True),
    ("links.over", "links.oversight.cap", False),
    ("links.oversight.cap.more", "links.oversight.cap", False),
    ("links.*.cap", "links.oversight.cap", True),
    ("*.oversight", "links.oversight.cap", True),
    ("links.*", "links.oversight.cap", True),
    ("links.over*", "links.oversight.cap", True),
    ("links.*.cap", "links.oversight.sees", False),
    ("*.cap", "links.oversight.cap", False),
    ("links.[o]versight", "links.oversight.cap", False),
    ("links.oversigh?", "links.oversight.cap", False),
    ("roles.*.prompt", "roles.(order)", False),
    ("roles", "roles.(order)", True),
    ("", "links.oversight.cap", False),
]


@pytest.mark.parametrize(("declared", "path", "expected"), PATHS)
def test_what_a_treatment_path_covers(declared: str, path: str, expected: bool) -> None:
    """Itself and what lies under it; a star is one name, or a part of one."""
    assert covered(path.split("."), [declared]) is expected


NAMES = st.sampled_from(["a", "b", "a.b", "b.jsonl", "a>b", "(order)"])


@given(st.lists(NAMES, min_size=1, max_size=4), st.integers(0, 3))
def test_every_beginning_of_a_path_covers_it(path: list[str], length: int) -> None:
    """Also where names hold dots."""
    assert covered(path, [".".join(path[: length + 1])])
    assert not covered(path, [".".join([*path, "more"])])


# --- by chance ---------------------------------------------------------------------------------

VALUES: dict[tuple[str, ...], list[Any]] = {
    ("models", "fast", "params", "temperature"): [0, 0.5, 1],
    ("pools", "both", "replace"): [True, False],
    ("tools", "find", "with", "file"): ["records.jsonl", "others.jsonl"],
    ("roles", "writer", "system"): ["One.", "Two."],
    ("roles", "writer", "vars"): [{"tone": "dry"}, {"tone": "wet", "more": 1}],
    ("roles", "editor", "limits"): [{}, {"tool_calls": 3}],
    ("links", "oversight", "cap"): [0, 1, 2],
    ("links", "oversight", "sees"): ["latest", "blackboard"],
    ("links", "oversight", "stake"): [None, {"start": 1}, {"start": 2, "reject": -1}],
    ("links", "oversight", "review"): [
        [{"actions": ["approve", "revise"]}],
        [{"actions": ["question", "reject"]}, {"actions": ["approve", "reject"]}],
    ],
    ("links", "second"): [
        None,
        {"from": "editor", "to": "x-ray", "kind": "authority", "cap": 1},
        {"from": "x-ray", "to": "writer", "kind": "forward", "cap": 1},
    ],
    ("limits", "turns"): [30, 40],
}
CHOICE = st.fixed_dictionaries({path: st.integers(0, 2) for path in VALUES})
TREATMENT = st.lists(
    st.sampled_from(
        [path[:length] for path in VALUES for length in range(1, len(path) + 1)]
        + [("links", "oversight", "stake", "start"), ("roles", "writer", "vars", "tone")]
    ),
    max_size=8,
)


def document(choice: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    """The team with values chosen at each place."""
    data = yaml.safe_load(TEAM)
    links = {link.get("id", "writer>x-ray"): link for link in data["links"]}
    data["links"] = links
    for path, options in VALUES.items():
        value = copy.deepcopy(options[choice[path] % len(options)])
        into = data
        for name in path[:-1]:
            into = into[name]
        if value is not None:
            into[path[-1]] = value
    data["links"] = [{"id": name, **link} for name, link in links.items()]
    return dict(data)


def form(choice: Mapping[tuple[str, ...], int], folder: Path) -> dict[str, Any]:
    """Its normal form."""
    return dict(normal(json.dumps(document(choice)), folder))


def named(normal_form: Mapping[str, Any]) -> dict[str, Any]:
    """A normal form that can be walked by names; files by what names them."""
    found = copy.deepcopy(dict(normal_form))
    found["links"] = {link["id"]: link for link in found["links"]}
    for key in ("name", "description", "files"):
        found.pop(key)
    return found


def put(into: dict[str, Any], out_of: dict[str, Any], path: tuple[str, ...]) -> None:
    """Puts what stands at a path in the one document into the other."""
    *above, last = path
    for name in above:
        into, out_of = into.get(name, {}), out_of.get(name, {})
        if not isinstance(into, dict) or not isinstance(out_of, dict):
            return
    if last in out_of:
        into[last] = out_of[last]
    else:
        into.pop(last, None)


@settings(max_examples=60, deadline=None)
@given(CHOICE, CHOICE, TREATMENT)
def test_the_guard_is_substitution(
    folder: Path,
    left: Mapping[tuple[str, ...], int],
    right: Mapping[tuple[str, ...], int],
    treatment: Sequence[tuple[str, ...]],
) -> None:
    """Nothing is undeclared exactly where putting the treatment's values in makes both equal."""
    one, other = form(left, folder), form(right, folder)
    found = differences(one, other)
    patched, wanted = named(one), named(other)
    for path in treatment:
        put(patched, wanted, path)
    extra = undeclared(found, [".".join(path) for path in treatment])
    assert (patched == wanted) == (extra == [])


@settings(max_examples=40, deadline=None)
@given(CHOICE, CHOICE)
def test_a_team_differs_from_itself_in_nothing(
    folder: Path, left: Mapping[tuple[str, ...], int], right: Mapping[tuple[str, ...], int]
) -> None:
    """No difference, equal hash; and whoever has another hash has a difference."""
    one, other = form(left, folder), form(right, folder)
    assert differences(one, form(left, folder)) == []
    found = differences(one, other)
    assert (topology_hash(one) == topology_hash(other)) == (found == [])
    assert {each.where for each in found} == {each.where for each in differences(other, one)}


INNER = """\
kind: topology
version: 1
models: {m: {provider: simulated}}
roles:
  lead:
    team:
      roles: {w: {system: You write.}, e: {}}
      links: [{id: o, from: e, to: w, kind: authority, cap: 1}]
      output: w
output: lead
"""


def test_differences_in_a_team_within_are_reported_by_name(tmp_path: Path) -> None:
    """Leaf by leaf, links by id, each with its class; a treatment may name them."""
    changed = INNER.replace("cap: 1", "cap: 0").replace("You write.", "You rhyme.")
    normals = []
    for number, text in enumerate((INNER, changed)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text, encoding="utf-8")
        normals.append(load(file).normal)
    found = differences(normals[0] or {}, normals[1] or {})
    assert [(each.where, each.kind) for each in found] == [
        ("roles.lead.team.roles.w.system", "prompts"),
        ("roles.lead.team.links.o.cap", "authority"),
    ]
    assert undeclared(found, ["roles.lead.team"]) == []
    assert [each.where for each in undeclared(found, ["roles.lead.team.links.o.cap"])] == [
        "roles.lead.team.roles.w.system"
    ]
