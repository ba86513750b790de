"""Loading: what comes out, for sound and for faulty files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orglab.engine.spec.errors import Problem
from orglab.engine.spec.load import Loaded, load, load_text
from orglab.engine.spec.yaml.reader import read_text

Load = Callable[..., Loaded]
Lines = Callable[..., list[str]]

ROLES = "roles: {writer: {}, critic: {}}\noutput: writer\n"


def test_a_sound_file_gives_a_topology_and_no_faults(load_spec: Load, tmp_path: Path) -> None:
    """Its name is the file's where it has none; its folder is where it lies."""
    loaded = load_spec(ROLES, name="insight.yaml")
    assert (loaded.issues, loaded.partial, loaded.kind) == ([], False, "topology")
    assert loaded.topology is not None
    assert loaded.topology.name == "insight"
    assert loaded.topology.folder == tmp_path.resolve()
    assert loaded.topology.normal == loaded.normal


@pytest.mark.parametrize("kind", ["experiment", "sweep"])
def test_other_kinds_are_reported_apart(issues: Lines, kind: str) -> None:
    """The message says so in words."""
    (line,) = issues(f"kind: {kind}\nversion: 1\nbase: x\n", head="")
    assert line == f"spec.yaml:1:7 kind: expected a topology, got a document of kind {kind}"


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("version: 1\n", "spec.yaml:1:1 kind: `kind` is required; write `kind: topology`"),
        ("kind: topolgy\nversion: 1\n", 'spec.yaml:1:7 kind: "topolgy" is not one of topology, experiment, sweep; did you mean `topology`?'),
        ("kind: [topology]\nversion: 1\n", "spec.yaml:1:7 kind: a list is not one of topology, experiment, sweep; write `kind: topology`"),
        ("kind: topology\nversion: 2\n", "spec.yaml:2:10 version: expected the number 1, got the number 2"),
    ],
)  # fmt: skip
def test_a_wrong_head_is_reported(issues: Lines, head: str, line: str) -> None:
    """Kind and version come first, and do not hide the rest."""
    found = issues("models: {worker: {provider: simulated}}\n" + ROLES + "nam: x\n", head=head)
    assert line in found
    assert any("unknown key nam;" in other for other in found)


def test_a_catalogue_is_no_topology(issues: Lines) -> None:
    """Checking a catalogue by mistake tells what it is for."""
    (line,) = issues("default: {provider: simulated}\n", head="", name="local.yaml")
    assert "a catalogue of models" in line
    assert "`--models local.yaml`" in line


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is a fault, no exception."""
    (issue,) = load(tmp_path / "none.yaml", shown_as="none.yaml").issues
    assert str(issue) == "none.yaml: the file cannot be read: no such file or directory"
    (issue,) = load(tmp_path, shown_as="folder").issues
    assert "directory" in str(issue)


def test_text_is_loaded_as_if_it_lay_in_a_folder(tmp_path: Path) -> None:
    """Files are read from that folder."""
    (tmp_path / "w.md").write_text("Write.", "utf-8")
    text = (
        "kind: topology\nversion: 1\nmodels: {m: {provider: simulated}}\n"
        "roles: {writer: {system: {file: w.md}}}\noutput: writer\n"
    )
    loaded = load_text(text, tmp_path, "new.yaml")
    assert loaded.topology is not None
    assert loaded.topology.roles["writer"].system == "Write."
    assert loaded.topology.name == "new"


def test_the_sound_parts_of_a_faulty_file_are_built(load_spec: Load) -> None:
    """So that the graph can be checked in the same go; there is no normal form."""
    loaded = load_spec(
        """\
        roles:
          writer: {jion: any, replicas: 0, tools: [query], sees: [task, "role:nobody"]}
          critic: {output: {type: strin}}
          ghost: text
        links:
          - {kind: forward, from: writer, to: nobody}
          - {kind: forward, from: writer, to: ghost}
          - {kind: forward, from: writer, to: critic, when: {}, sees: latest}
          - {kind: authority, from: critic, to: [writer, nobody], trigger: {checks: [usge]}}
          - {kind: forward, from: critic, to: writer, cap: -1}
        output: [writer, nobody]
        evaluators: [usge, usage]
        limits: {turns: none}
        """
    )
    assert loaded.partial
    assert loaded.normal is None
    team = loaded.topology
    assert team is not None
    assert list(team.roles) == ["writer", "critic"]
    assert team.roles["writer"].sees == ("task",)
    assert team.roles["writer"].tools == ()
    assert team.roles["critic"].output is not None
    assert [(link.id, link.cap) for link in team.links] == [
        ("writer>critic", None), ("critic>writer", 1), ("critic>writer", 1),
    ]  # fmt: skip
    assert team.authority[0].targets == ("writer",)
    assert team.output == ("writer",)
    assert [use.use for use in team.evaluators] == ["usage"]
    assert team.limits.turns is None


def test_problems_of_the_graph_are_located_in_the_document(load_spec: Load) -> None:
    """A path in a partial topology is turned into one in the file."""
    loaded = load_spec(
        """\
        roles: {writer: {}, critic: {}}
        links:
          - {kind: forward, from: writer, to: nobody}
          - {kind: forward, from: writer, to: critic, when: {verdict: ok}}
        output: writer
        """
    )
    issue = loaded.locate(Problem(path=("links", 0, "when"), wrong="no such field"))
    assert str(issue) == "spec.yaml:7:53 links[1].when: no such field"
    issue = loaded.locate(Problem(path=("roles", "critic"), wrong="unreachable", at_key=True))
    assert (issue.line, issue.column) == (4, 21)


def test_no_team_is_built_where_none_is_left(load_spec: Load) -> None:
    """Without roles there is nothing to check."""
    assert load_spec("output: x\n").topology is None
    assert load_spec("roles: [a]\noutput: x\n").topology is None
    assert load_spec("a: [\n").topology is None


def test_reading_faults_do_not_hide_others(issues: Lines) -> None:
    """Duplicate keys, tags and names are told together, in order of lines."""
    found = issues("roles:\n  writer: {tools: [x]}\n  writer: {}\noutput: !a writr\n")
    assert [line.split(" ")[0] for line in found] == [
        "spec.yaml:5:20",
        "spec.yaml:6:3",
        "spec.yaml:7:9",
        "spec.yaml:7:9",
    ]


def test_faults_are_in_order_with_this_file_first(issues: Lines) -> None:
    """Then the others, each by line."""
    base = "kind: topology\nversion: 1\nroles: {a: {tols: []}}\noutput: b\n"
    found = issues(
        "extends: base.yaml\nnam: x\nroles: {c: {tols: []}}\n",
        files={"base.yaml": base},
    )
    assert [line.split(" ")[0] for line in found] == [
        "spec.yaml:5:1", "spec.yaml:6:13", "base.yaml:3:13", "base.yaml:4:9",
    ]  # fmt: skip


def test_prompts_in_files_are_read_once_and_whole(load_spec: Load) -> None:
    """Every place of a text may be a file."""
    loaded = load_spec(
        """\
        roles: {writer: {system: {file: t.md}, prompt: {file: t.md}}, critic: {}}
        links: [{kind: authority, from: critic, to: writer, cap: 1, directive: {file: t.md},
          review: [{actions: [approve], prompt: {file: t.md}}]}]
        templates: {powers: {file: t.md}}
        output: writer
        """,
        files={"t.md": "Text é {{ topic }}\r\n"},
    )
    team = loaded.topology
    assert team is not None
    link = team.authority[0]
    texts = {team.roles["writer"].system, team.roles["writer"].prompt, link.directive,
             link.phases[0].prompt, team.templates["powers"]}  # fmt: skip
    assert texts == {"Text é {{ topic }}\n"}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["writer", "x", "file", "task", "role:x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["kind", "from", "to", "file", "cap", "writer", "system", "model", "pool",
                         "checks", "trigger", "review", "provider", "use", "with", "members", "output",
                         "type", "properties", "id", "when", "params", "sees", "tools", "limits"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(
        st.sampled_from(["inputs", "models", "pools", "tools", "roles", "links", "start", "output",
                         "evaluators", "limits", "templates", "name", "extends"]),
        JUNK,
    ),
    st.dictionaries(
        st.sampled_from(["roles.writer.system", "links.x.cap", "limits", "models.writer.params.a"]),
        JUNK, max_size=2,
    ),
)  # fmt: skip
def test_no_document_crashes_the_loader(
    tmp_path: Path, document: dict[str, object], overrides: dict[str, object]
) -> None:
    """Whatever stands where: faults that can be printed, or a topology."""
    text = json.dumps({"kind": "topology", "version": 1, **document})
    loaded = load_text(text, tmp_path, "junk.yaml", overrides=overrides)
    assert loaded.issues or loaded.topology is not None
    assert all("\n" not in str(issue) for issue in loaded.issues)
    assert loaded.partial == bool(loaded.issues and loaded.topology)


REPLACEMENTS: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, "x", "writer", "file", [], {}, ["writer"], [None], {"file": "no.md"}, {"a": 1},
    {"pool": "p"}, {"provider": "simulated"}, "otherwise", "role:x", "{{ x }}", [[]], {"checks": ["usage"]},
    {"kind": "forward"},
)  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Every map or list in a document, with each of its keys or indexes."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key], (*path, key))


def mutated(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A copy in which one to four things are replaced, removed or renamed."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    for _ in range(chance.randint(1, 4)):
        node, key = chance.choice(list(places(copy)))
        if chance.random() < 0.6 or isinstance(node, list):
            node[key] = json.loads(json.dumps(chance.choice(REPLACEMENTS)))
        elif chance.random() < 0.5:
            del node[key]
        else:
            node[chance.choice(["zz", "x-a", "file", "cap", "a b", f"{key}s"])] = node.pop(key)
    return copy


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32))
def test_no_mistake_in_a_whole_document_crashes_the_loader(
    tmp_path: Path, everything: str, seed: int
) -> None:
    """Whatever an author does to a document with every field: faults in lines, or a topology."""
    document = mutated(read_text(everything, "x").data, random.Random(seed))
    loaded = load_text(json.dumps(document), tmp_path, "junk.yaml")
    assert loaded.issues or loaded.topology is not None
    assert all("\n" not in str(issue) for issue in loaded.issues)
    assert all(issue.line > 0 for issue in loaded.issues)
    assert loaded.partial == bool(loaded.issues and loaded.topology)
