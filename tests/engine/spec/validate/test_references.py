"""Names that point somewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]

ROLES = "roles: {writer: {}, critic: {}}\noutput: writer\n"


def texts(lines: list[str]) -> list[str]:
    """Faults without their places."""
    return [line.split(" ", 1)[1] for line in lines]


def test_a_sound_team_has_no_faults(issues: Lines) -> None:
    """The smallest team is one role and its model."""
    assert issues("roles: {writer: {}}\noutput: writer\n") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("rols: {writer: {}}\noutput: writer\nlinks: [{kind: forward, from: writer, to: writer, cap: 1}]\n", "rols: unknown key rols; did you mean `roles`?"),
        ("roles: {writer: {tools: [t]}}\noutput: writer\ntool: {t: {use: count_words}}\n", "tool: unknown key tool; did you mean `tools`?"),
    ],
)  # fmt: skip
def test_nothing_follows_from_a_misspelt_section(issues: Lines, text: str, line: str) -> None:
    """Names in it are not told as missing."""
    assert texts(issues(text)) == [line]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("links: [{kind: forward, from: writr, to: critic}]", "links[0].from: there is no role `writr`; did you mean `writer`?"),
        ("links: [{kind: authority, from: critic, to: [writer, critik], cap: 1}]", "links[0].to[1]: there is no role `critik`; did you mean `critic`?"),
        ("links: [{kind: authority, from: critic, to: writer, cap: 1, target: wrter}]", "links[0].target: there is no role `wrter`; did you mean `writer`?"),
        ("start: [writer, critc]", "start[1]: there is no role `critc`; did you mean `critic`?"),
        ("pools: {p: {members: [worker, wrker]}}", "pools.p.members[1]: there is no model `wrker`; did you mean `worker`?"),
        ("links: [{kind: forward, from: zzz, to: critic}]", "links[0].from: there is no role `zzz`; there are: writer, critic"),
        ("inputs: {inbox: {type: string}}", "inputs.inbox: `inbox` is a variable or word of templates already; choose another name"),
        ("inputs: {a: {type: string, default: x}}", "inputs.a.default: a default is not put in for an input; write `optional: true`, and {{ a or '…' }} in templates"),
        ("inputs: {a: {type: number, format: file}}", "inputs.a: an input of `format: file` is the path of a file; write `type: string`"),
    ],
)  # fmt: skip
def test_dangling_names_and_taken_ones(issues: Lines, text: str, line: str) -> None:
    """Each is told with its path and the nearest name."""
    assert texts(issues(ROLES + text)) == [line]


@pytest.mark.parametrize(
    ("role", "line"),
    [
        ('{sees: ["role:critc"]}', "roles.writer.sees[0]: there is no role `critc`; did you mean `critic`?"),
        ("{tools: [query]}", "roles.writer.tools[0]: there is no tool `query`; the document declares no tools: write `tools: {query: {use: query, with: {…}}}`, with the settings of that tool"),
        ("{tools: [historgam]}", "roles.writer.tools[0]: there is no tool `historgam`; the document declares no tools: write `tools: {historgam: {use: histogram, with: {…}}}`, with the settings of that tool"),
        ("{model: workr}", "roles.writer.model: there is no model `workr`; did you mean `worker`?"),
        ("{model: {pool: p}}", "roles.writer.model.pool: there is no pool `p`; there are: q"),
        ("{model: q}", "roles.writer.model: `q` is a pool, not a model; write {pool: q}"),
        ("{vote: choice, system: x}", "roles.writer.system: `system` means nothing for a role that votes: it asks no model; remove it"),
        ("{team: other.yaml}", "roles.writer.team: other.yaml: there is no such file"),
        ("{with: {topic: x}}", "roles.writer.with: `with` fills the inputs of a role's `team`, and this role is none; remove it"),
    ],
)  # fmt: skip
def test_what_a_role_names(issues: Lines, role: str, line: str) -> None:
    """Tools, models, pools and sights must be there."""
    text = f"roles: {{writer: {role}, critic: {{}}}}\noutput: writer\npools: {{q: {{members: [worker]}}}}\n"
    assert texts(issues(text)) == [line]


def test_a_role_needs_a_model_where_there_are_several(issues: Lines) -> None:
    """With one model it may be left out; with none or several it may not."""
    two = (
        "kind: topology\nversion: 1\nmodels: {a: {provider: simulated}, b: {provider: simulated}}\n"
    )
    assert texts(issues("roles: {writer: {}}\noutput: writer\n", head=two)) == [
        (
            "roles.writer.model: `model` is required, and the document has 2 models; there are: a, b; "
            "write `model: a`, say"
        )
    ]
    none = "kind: topology\nversion: 1\n"
    assert texts(issues("roles: {writer: {}}\noutput: writer\n", head=none)) == [
        "roles.writer.model: `model` is required, and the document has no models; add `models`"
    ]


def test_equal_links_and_equal_ids(issues: Lines) -> None:
    """Links equal in every field are duplicates; the same id needs another id."""
    found = issues(
        ROLES
        + """
links:
  - {kind: forward, from: writer, to: critic}
  - {kind: forward, from: writer, to: critic}
  - {kind: authority, from: writer, to: critic, cap: 1}
  - {kind: authority, id: over, from: writer, to: critic, cap: 1}
"""
    )
    assert texts(found) == [
        "links[1]: the link is the same as links[0] in every field; remove one",
        "links[2]: the id `writer>critic` is taken by links[0]; give one of them an `id` of its own",
    ]
