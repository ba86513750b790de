"""Templates of a topology reach only what they were granted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.graph.check import check_file
from orglab.engine.graph.checks.template_checks import template_problems
from orglab.engine.spec.errors import Problem
from orglab.engine.spec.messages import ErrorIndex
from orglab.engine.spec.model import (
    AuthorityLink,
    EvaluatorUse,
    InputField,
    Phase,
    ToolUse,
    Topology,
    Trigger,
)

Build = Callable[..., Topology]


def only(topology: Topology, **options: Any) -> Problem:
    """The one problem that there is."""
    (problem,) = template_problems(topology, **options)
    return problem


def role(build: Build, prompt: str, **fields: Any) -> Topology:
    """A team whose writer has this prompt."""
    return build(roles={"writer": {"prompt": prompt, **fields}, "critic": {}})


def test_everything_granted_by_default_is_fine(build: Build) -> None:
    """The task, the inbox and own outputs; vars, visit, stake and the rest always."""
    text = (
        "{{ topic }}{{ inbox }}{{ own }}{{ vars.persona }}{{ visit }}{{ role }}{{ copy }}"
        "{{ stake }}{{ sight }}{{ directive }}{{ vars.items() }}"
    )
    assert not list(template_problems(role(build, text)))


@pytest.mark.parametrize(
    ("name", "grant"),
    [
        ("blackboard", "blackboard"),
        ("latest", "latest"),
        ("outputs", "role:critic"),
        ("inbox", "inbox"),
        ("own", "own"),
        ("topic", "task"),
    ],
)
def test_what_sees_does_not_grant_is_refused(build: Build, name: str, grant: str) -> None:
    """The cure names what to add to ``sees``."""
    problem = only(role(build, f"{{{{ {name} }}}}", sees=("nothing",)))
    assert problem.path == ("roles", "writer", "prompt")
    assert f"uses `{name}`, which writer does not see" in problem.wrong
    assert grant.split(":")[0] in problem.hint
    assert not list(template_problems(role(build, f"{{{{ {name} }}}}", sees=(grant,))))


def test_a_misspelt_input_is_reported_with_the_nearest_name(build: Build) -> None:
    """In ``system`` too."""
    problem = only(build(roles={"writer": {"system": "On {{ topik }}."}}))
    assert problem.path == ("roles", "writer", "system")
    assert "`topik`" in problem.wrong
    assert problem.hint == "did you mean `topic`?"


def test_a_name_near_nothing_is_reported_to_be_declared(build: Build) -> None:
    """The cure is an input of this name."""
    assert only(role(build, "{{ zzz }}")).hint == "declare `zzz` under `inputs`"


@pytest.mark.parametrize(
    ("text", "wrong", "hint"),
    [
        ("{{ vars.persna }}", "vars.persna", "did you mean `persona`?"),
        ("{{ vars['zzz'] }}", "vars.zzz", "add `zzz` to the role's `vars`"),
        ("{{ tool.head() }}", "tool.head", "add `head` to the role's `tools`"),
        ("{{ tool.descrbe() }}", "tool.descrbe", "did you mean `describe`?"),
        ("{{ outputs.editor }}", "outputs.editor", "add `role:editor` to the role's `sees`"),
        ("{{ directive.why }}", "directive.why", ""),
        ("{{ latest.txt }}", "latest.txt", "did you mean `text`?"),
        ("{{ tool }}", "`tool` itself", "call a tool by its name: `tool.NAME(…)`"),
        ("{{ draft }}", "`draft`", "only prompts of reviews have it"),
    ],
)
def test_attributes_are_looked_at(build: Build, text: str, wrong: str, hint: str) -> None:
    """Of vars, tools, outputs, the directive and entries."""
    sees = ("task", "latest", "role:critic")
    problem = only(role(build, text, sees=sees, tools=("describe",)))
    assert wrong in problem.wrong
    assert problem.hint == hint


def test_a_broken_template_is_reported_with_its_line(build: Build) -> None:
    """And how to write braces."""
    problem = only(role(build, "fine\n{{ topic"))
    assert problem.wrong.startswith("line 2 of the template:")
    assert "{% raw %}" in problem.hint


def review(build: Build, prompt: str, **fields: Any) -> Topology:
    """A team with a link whose second phase has this prompt."""
    link = AuthorityLink(
        id="oversight",
        source="boss",
        targets=("writer",),
        cap=1,
        phases=(Phase(actions=("approve",)), Phase(actions=("approve",), prompt=prompt)),
        **fields,
    )
    return build(link, roles={"writer": {}, "boss": {"vars": {"mood": "strict"}}})


def test_a_review_has_its_own_variables(build: Build) -> None:
    """The task, the draft, and the superior's vars."""
    text = (
        "{{ topic }}{{ draft.text }}{{ findings }}{{ actions }}{{ uses_left }}{{ verdicts }}"
        "{{ reviewed }}{{ vars.mood }}{{ visit }}{{ role }}{{ copy }}{{ sight }}"
    )
    assert not list(template_problems(review(build, text)))
    seeing = review(build, "{{ blackboard }}", sees="blackboard")
    assert not list(template_problems(seeing))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{ blackboard }}", "give the link `sees: blackboard`"),
        ("{{ inbox }}", "a review has `draft` and what its link `sees`"),
        ("{{ directive }}", "a review has `draft` and what its link `sees`"),
        ("{{ vars.persona }}", "add `persona` to the role's `vars`"),
        ("{{ draft.tex }}", "did you mean `text`?"),
    ],
)
def test_a_review_reaches_only_what_its_link_sees(build: Build, text: str, hint: str) -> None:
    """The place is the phase's prompt."""
    problem = only(review(build, text))
    assert problem.path == ("links", 0, "review", 1, "prompt")
    assert problem.hint == hint


def test_settings_reach_inputs_alone(build: Build) -> None:
    """Of tools, checks and evaluators, however deep the text lies."""
    checks = Trigger(
        kind="checks", checks=(EvaluatorUse(use="contains", arguments={"text": "{{ a }}"}),)
    )
    link = AuthorityLink(id="x", source="boss", targets=("writer",), cap=1, trigger=checks)
    topology = build(
        link,
        roles={"writer": {}, "boss": {}},
        tools={
            "find": ToolUse(
                name="find",
                use="search_records",
                settings={"where": {"product": ["{{ topic }}", "{{ topik }}"]}, "limit": 3},
            )
        },
        evaluators=(EvaluatorUse(use="equals", arguments={"text": "{{ vars }}"}),),
    )
    found = {problem.path: problem for problem in template_problems(topology)}
    assert set(found) == {
        ("tools", "find", "with", "where", "product", 1),
        ("links", 0, "trigger", "checks", 0, "contains", "text"),
        ("evaluators", 0, "equals", "text"),
    }
    assert found["evaluators", 0, "equals", "text"].hint == "settings reach the inputs alone"


def test_an_overridden_template_may_use_what_any_role_has(build: Build) -> None:
    """And whatever the shipped one of its name uses."""
    text = "{{ draft }}{{ inbox }}{{ topic }}{{ uses_left }}{{ problem }}"
    topology = replace(
        build(roles={"writer": {}}), templates={"repair": text, "stake": "{{ zzz }}"}
    )
    assert only(topology).path == ("templates", "stake")


def test_an_input_cannot_hide_a_variable(build: Build) -> None:
    """An input called ``inbox`` would be ambiguous."""
    inputs = {"inbox": InputField(name="inbox", schema={})}
    problem = only(build(roles={"writer": {}}, inputs=inputs))
    assert problem.path == ("inputs", "inbox")


@pytest.mark.parametrize(
    "path", [("extends",), ("imputs",), ("inputs",), ("roles", "writer", "var")]
)
def test_names_that_faulty_parts_may_have_declared_are_not_reported(
    build: Build, path: tuple[str, ...]
) -> None:
    """What is there and not granted is told all the same, unless the role itself is faulty."""
    topology = role(build, "{{ zzz }}{{ vars.zzz }}{{ blackboard }}")
    told = list(template_problems(topology, ErrorIndex([path])))
    assert [("`blackboard`" in each.wrong) for each in told] == (
        [] if path[:1] == ("roles",) else [True]
    )


@pytest.mark.parametrize(
    "path", [("kind",), ("links", 0), ("roles", "editor", "sytem"), ("models", "m")]
)
def test_a_fault_elsewhere_hides_no_unknown_name(build: Build, path: tuple[str | int, ...]) -> None:
    """All faults are told in one go; only what may follow from another one waits."""
    topology = role(build, "{{ zzz }}{{ vars.yyy }}")
    told = [each.wrong for each in template_problems(topology, ErrorIndex([path]))]
    assert ["`zzz`" in told[0], "`vars.yyy`" in told[1], len(told)] == [True, True, 2]


def test_a_faulty_input_hides_its_own_name_alone(build: Build) -> None:
    """It is known to be there."""
    topology = role(build, "{{ zzz }}{{ source }}")
    assert "`zzz`" in only(topology, errors=ErrorIndex([("inputs", "source", "optional")])).wrong


def test_what_a_role_left_out_would_have_granted_is_not_reported(build: Build) -> None:
    """`outputs` hangs on roles that may be gone, `tool` on tools."""
    topology = role(build, "{{ outputs.editor }}{{ tool.find() }}")
    errors = ErrorIndex([("roles", "editor", "prompt"), ("tools", "find")])
    assert not list(template_problems(topology, errors))


def test_a_faulty_link_hides_no_other_links_templates(tmp_path: Path) -> None:
    """The first link is left out for its fault; the second keeps its number as written."""
    spec = tmp_path / "two.yaml"
    text = """\
kind: topology
version: 1
inputs: {topic: {type: string}}
models: {m: {provider: simulated}}
roles: {writer: {prompt: "{{ topic }}"}, editor: {}}
links:
  - {id: a, from: writer, to: editor, kind: forwrd}
  - {id: b, from: editor, to: writer, kind: authority, cap: 1, review: [{prompt: "{{ blackboard }}", actions: [approve]}]}
output: writer
"""
    spec.write_text(text, encoding="utf-8")
    issues = [str(issue) for issue in check_file(spec).issues]
    assert any(":7:" in issue and "links[0].kind" in issue for issue in issues)
    assert any(":8:" in issue and "links[1].review[0].prompt" in issue for issue in issues)
    spec.write_text(text.replace("editor: {}", "editor: {sies: [task]}"), encoding="utf-8")
    assert not any("blackboard" in str(issue) for issue in check_file(spec).issues)
