"""`extends`: one document merged over another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orglab.engine.spec.load import Loaded
from orglab.engine.spec.model import AuthorityLink, Topology

Load = Callable[..., Loaded]
Lines = Callable[..., list[str]]

HEAD = "kind: topology\nversion: 1\n"
BASE = """\
kind: topology
version: 1
name: hierarchical
description: The base.
models: {worker: {provider: simulated, profile: careful, params: {temperature: 0, seed: 1}}}
tools: {t: {use: query, with: {file: "{{ table }}"}}}
inputs: {table: {type: string, format: file}}
roles:
  writer: {system: Write., tools: [t], limits: {tool_calls: 3, repeated_calls: 2}, vars: {persona: plain}}
  manager: {system: Lead.}
links:
  - {id: oversight, from: manager, to: [writer], kind: authority, cap: 2, sees: blackboard}
  - {from: writer, to: manager, kind: forward}
output: writer
limits: {turns: 40}
"""


@pytest.fixture
def extended(load_spec: Load) -> Callable[[str], Topology]:
    """The topology of a document that extends the base, which must be sound."""

    def topology(text: str) -> Topology:
        loaded = load_spec(
            "kind: topology\nversion: 1\nextends: base.yaml\n" + text,
            head="", files={"base.yaml": BASE}, name="flat.yaml",
        )  # fmt: skip
        assert [str(issue) for issue in loaded.issues] == []
        assert loaded.topology is not None
        return loaded.topology

    return topology


@pytest.fixture
def told(issues: Lines) -> Callable[[str], list[str]]:
    """The faults of a document that extends the base."""

    def lines(text: str) -> list[str]:
        head = "kind: topology\nversion: 1\nextends: base.yaml\n"
        return issues(text, head=head, files={"base.yaml": BASE})

    return lines


Extended = Callable[[str], Topology]
Told = Callable[[str], list[str]]


def test_a_flat_twin_is_three_lines_long(extended: Extended) -> None:
    """A link is amended by its id, without from, to and kind; the rest stays."""
    flat = extended("links: [{id: oversight, cap: 0, sees: latest}]\n")
    link = flat.links[0]
    assert isinstance(link, AuthorityLink)
    assert (link.id, link.cap, link.sees, link.source, link.targets) == (
        "oversight", 0, "latest", "manager", ("writer",),
    )  # fmt: skip
    assert len(flat.links) == 2
    assert flat.name == "flat"
    assert flat.description == ""


def test_maps_merge_deeply_and_lists_are_replaced(extended: Extended) -> None:
    """Fields that are not written stay as they were."""
    team = extended(
        "roles: {writer: {limits: {tool_calls: 9}, vars: {tone: dry}, tools: []}, critic: {}}\n"
        "models: {worker: {params: {temperature: 1}}}\n"
    )
    assert (team.roles["writer"].limits.tool_calls, team.roles["writer"].limits.repeated_calls) == (
        9,
        2,
    )
    assert team.roles["writer"].vars == {"persona": "plain", "tone": "dry"}
    assert team.roles["writer"].tools == ()
    assert team.models["worker"].params == {"seed": 1, "temperature": 1}
    assert list(team.roles) == ["writer", "manager", "critic"]


def test_null_removes(extended: Extended) -> None:
    """A field, an entry, or a link by its id."""
    team = extended(
        "roles: {writer: {tools: null, limits: null}}\nlimits: {turns: null}\n"
        "links: {oversight: null, writer>manager: {when: otherwise}}\n"
    )
    assert team.roles["writer"].tools == ()
    assert team.roles["writer"].limits.tool_calls == 8
    assert team.limits.turns is None
    assert [link.id for link in team.links] == ["writer>manager"]


def test_new_links_stand_after_the_old(extended: Extended) -> None:
    """And a link without an id is known as FROM>TO."""
    team = extended(
        "links:\n"
        "  - {id: second, from: manager, to: writer, kind: authority, cap: 1}\n"
        "  - {from: writer, to: manager, kind: forward, when: otherwise}\n"
    )
    assert [link.id for link in team.links] == ["oversight", "writer>manager", "second"]
    assert team.forward[0].when == "otherwise"


def test_another_thing_replaces_the_old_one_whole(extended: Extended) -> None:
    """Another provider, tool or form of trigger takes nothing over."""
    team = extended(
        "models: {worker: {provider: llama, model: smollm2}}\n"
        "tools: {t: {use: get_schema, with: {file: '{{ table }}'}}}\n"
    )
    assert team.models["worker"].options == {}
    assert team.models["worker"].params == {}


def test_trigger_of_another_form_replaces_the_old_one(load_spec: Load) -> None:
    """Checks do not stay beside a coin."""
    base = BASE.replace("sees: blackboard", "trigger: {checks: [{contains: x}], voice: findings}")
    loaded = load_spec(
        "extends: base.yaml\nlinks: {oversight: {trigger: {probability: 0.5}}}\n",
        head=HEAD, files={"base.yaml": base},
    )  # fmt: skip
    assert loaded.issues == []
    assert loaded.topology is not None
    link = loaded.topology.authority[0]
    assert (link.trigger.kind, link.trigger.probability) == ("coin", 0.5)


def test_chains_are_followed_and_texts_are_relative_to_their_file(load_spec: Load) -> None:
    """Each document of a chain names files from where it lies."""
    loaded = load_spec(
        "extends: a/middle.yaml\nroles: {writer: {prompt: {file: p.md}}}\n",
        head=HEAD,
        files={
            "a/middle.yaml": HEAD + "extends: ../base.yaml\nroles: {writer: {system: {file: p.md}}}\n",
            "base.yaml": BASE, "a/p.md": "from a", "p.md": "from the top",
        },
    )  # fmt: skip
    assert loaded.issues == []
    assert loaded.topology is not None
    assert loaded.topology.roles["writer"].system == "from a"
    assert loaded.topology.roles["writer"].prompt == "from the top"


def test_faults_are_reported_where_they_were_written(told: Told, issues: Lines) -> None:
    """A fault of the base is located in the base, one of the extending file in it."""
    assert told("roles: {writer: {jion: any}}\n") == [
        "spec.yaml:4:18 roles.writer.jion: unknown key jion; did you mean `join`?"
    ]
    bad = BASE.replace("tools: [t]", "tools: [s]")
    assert issues("extends: base.yaml\n", head=HEAD, files={"base.yaml": bad}) == [
        "base.yaml:9:36 roles.writer.tools[0]: there is no tool `s`; there are: t"
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("links: [{id: oversigt, cap: 0}]\n", "spec.yaml:4:14 links[2].id: the base has no link `oversigt`; a new link needs `from`, `to` and `kind`; did you mean `oversight`?"),
        ("links: {oversigt: null}\n", "spec.yaml:4:9 links.oversigt: the base has no link `oversigt`; did you mean `oversight`?"),
        ("roles: {writr: null}\n", "spec.yaml:4:9 roles.writr: there is no `writr` in the base to remove; did you mean `writer`?"),
    ],
)  # fmt: skip
def test_what_the_base_has_not_cannot_be_changed(told: Told, text: str, line: str) -> None:
    """A misspelt id or name is told with the nearest one."""
    assert line in told(text)


def test_circles_are_named(issues: Lines) -> None:
    """Documents that extend each other are told as the circle they make."""
    (line,) = issues(
        "extends: a.yaml\n", head=HEAD,
        files={"a.yaml": HEAD + "extends: b.yaml\n", "b.yaml": HEAD + "extends: a.yaml\n"},
    )  # fmt: skip
    assert (
        line
        == "b.yaml:3:10 extends: documents extend each other in a cycle: a.yaml > b.yaml > a.yaml"
    )
    (line,) = issues("extends: spec.yaml\n", head=HEAD)
    assert "cycle: spec.yaml > spec.yaml" in line


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (None, "there is no such file"),
        ("a: [", "this is not YAML"),
        ("- a\n", "a document is a map"),
        ("kind: sweep\nversion: 1\n", "of kind sweep"),
    ],
)
def test_a_base_that_cannot_be_read_is_the_only_fault(
    issues: Lines, base: str | None, words: str
) -> None:
    """What would follow from a missing base is not told."""
    files = {} if base is None else {"base.yaml": base}
    (line,) = issues("extends: base.yaml\nroles: {x: {tools: [y]}}\n", head=HEAD, files=files)
    assert words in line


def test_a_base_outside_the_folder_is_refused(issues: Lines) -> None:
    """`extends` is confined like any file."""
    (line,) = issues("extends: ../base.yaml\n", head=HEAD)
    assert "base.yaml: " in line
    assert "outside" in line or "no such file" in line


def test_catalogues_of_a_document(load_spec: Load, issues: Lines) -> None:
    """`models: {file: …}` is a bare map of models, or one under `models`."""
    text = "models: {file: m.yaml}\nroles: {w: {}}\noutput: w\n"
    for content in ("a: {provider: simulated}\n", "models: {a: {provider: simulated}}\n"):
        loaded = load_spec(text, head=HEAD, files={"m.yaml": content})
        assert loaded.issues == []
        assert loaded.topology is not None
        assert loaded.topology.roles["w"].model == "a"
    assert issues(text, head=HEAD, files={"m.yaml": "a: {provder: simulated}\n"}) == [
        "m.yaml:1:5 models.a.provder: unknown key provder; did you mean `provider`?"
    ]
    assert issues(text.replace("m.yaml", "n.yaml"), head=HEAD) == [
        "spec.yaml:3:16 models.file: n.yaml: there is no such file"
    ]
