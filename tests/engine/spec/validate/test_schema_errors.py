"""Schema faults in plain words."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from orglab.engine.spec.errors import path_text
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.reader import read_text

Lines = Callable[..., list[str]]


def told(text: str, name: str) -> list[str]:
    """The faults of one part of a document."""
    problems = shape_problems(read_text(dedent(text), "x").data, name)
    return [
        f"{path_text(p.path)}: {'; '.join(t for t in (p.wrong, p.expected, p.hint) if t)}"
        for p in problems
    ]


def test_a_sound_document_has_no_faults(everything: str) -> None:
    """Every field of the language may stand where the design says."""
    assert told(everything, "topology") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{nam: x}", ("nam: unknown key nam; there are: system, prompt, vars, model, tools, sees, "
         "output, join, replicas, on_error, limits, vote, … (15 in all)")),
        ("{toolz: []}", "toolz: unknown key toolz; did you mean `tools`?"),
        ("{tools: critic}", 'tools: expected a list of names, got the text "critic"; write [critic]'),
        ("{tools: {a: 1}}", "tools: expected a list of names, got a map; begin each item with `- `"),
        ("{tools: [a, b, a]}", 'tools[2]: "a" is listed twice; keep one'),
        ("{system: 3}", 'system: expected text or {file: PATH}, got the number 3; write it in quotes: "3"'),
        ("{system: }", "system: expected text or {file: PATH}, got nothing; give it a value, or remove the key"),
        ("{system: {fil: a}}", "system.fil: unknown key fil; did you mean `file`?"),
        ("{system: {file: 1}}", 'system.file: expected a path, got the number 1; write it in quotes: "1"'),
        ("{join: al}", 'join: "al" is not one of all, any; did you mean `all`?'),
        ("{replicas: 0}", "replicas: 0 is below the minimum 1; expected a whole number"),
        ("{replicas: 1.5}", "replicas: expected a whole number, got the number 1.5"),
        ("{replicas: true}", "replicas: expected a whole number, got true"),
        (
            "{replicas: 02}",
            'replicas: expected a whole number, got the text "02"; write it without zeros in front: 2',
        ),
        ('{replicas: "2"}', 'replicas: expected a whole number, got the text "2"; write it without quotes: 2'),
        ("{model: [a]}", "model: expected a model's name or {pool: NAME}, got a list"),
        ("{model: {pol: a}}", "model.pol: unknown key pol; did you mean `pool`?"),
        ("{sees: [tsk]}", ("sees[0]: expected task, inbox, own, latest, blackboard or role:NAME, "
         'got the text "tsk"; did you mean `task`?')),
        ("{sees: task}", 'sees: expected a list of sights, got the text "task"; write [task]'),
        ("{output: text}", 'output: expected a JSON Schema (a map), got the text "text"'),
        ("{limits: {tool_call: 1}}", "limits.tool_call: unknown key tool_call; did you mean `tool_calls`?"),
        ("writer", ': expected a map of the fields of a role, got the text "writer"'),
        ("~", ": expected a map of the fields of a role, got nothing; write {} or its fields"),
    ],
)  # fmt: skip
def test_roles(text: str, line: str) -> None:
    """Each fault of a role says what is wrong, what was expected and how to mend it."""
    assert told(text, "role") == [line]


LINK = "kind: authority, from: a, to: b, cap: 1"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("{kind: forward, from: a, to: [b, c]}", ["to: expected a name, got a list"]),
        ("{kind: forward, from: a, to: b, sees: latest}",
         ["sees: `sees` belongs to another form: an authority link; remove `sees`, or write that form"]),
        ("{kind: forward, from: a, to: b, cap: 1, on_cap: fail}", ['on_cap: "fail" is not one of stop, accept']),
        ("{kind: forward, from: a, to: b, on_cap: accept}", ["on_cap: on_cap has no meaning without cap"]),
        ("{kind: forward, from: a, to: b, when: otherwse}",
         [("when: expected `otherwise` or a map from a field to a value or a list of values, "
          'got the text "otherwse"; did you mean `otherwise`?')]),
        ("{kind: forward, from: a, to: b, when: {}}",
         ["when: expected a map from a field to a value or a list of values, got an empty map; write at least one"]),
        ("{kind: authority, from: a}", ["to: `to` is required; expected a name or a list of names",
                                        "cap: `cap` is required; expected a whole number"]),
        ("{kind: authority, from: a, to: b, cap: -1}", ["cap: -1 is below the minimum 0; expected a whole number"]),
        ("{kind: authority, from: a, to: b, cap: null}",
         ["cap: expected a whole number, got nothing; give it a value"]),
        ("{kind: forward, from: a, to: b, cap: null}",
         ["cap: expected a whole number, got nothing; give it a value, or remove the key"]),
        (f"{{{LINK}, on_cap: stop}}", ['on_cap: "stop" is not one of accept, fail']),
        (f"{{{LINK}, trigger: judgment}}",
         [("trigger: expected judgement, never, {checks: […]} or {probability: …}, "
          'got the text "judgment"; did you mean `judgement`?')]),
        (f"{{{LINK}, trigger: {{probabilty: 1}}}}",
         ["trigger.probabilty: unknown key probabilty; did you mean `probability`?"]),
        (f"{{{LINK}, trigger: {{voice: findings}}}}",
         [("trigger: checks or probability is required; "
          "expected judgement, never, {checks: […]} or {probability: …}")]),
        (f"{{{LINK}, trigger: {{checks: [a], probability: 1}}}}",
         [("trigger.probability: `probability` belongs to another form: a map {probability: …}; "
          "remove `probability`, or write that form")]),
        (f"{{{LINK}, trigger: {{probability: 2}}}}",
         ["trigger.probability: 2 is above the maximum 1; expected a number between 0 and 1"]),
        (f"{{{LINK}, trigger: {{checks: [{{a: 1, b: 2}}]}}}}",
         [("trigger.checks[0]: expected a map with one evaluator, {name: arguments}, got 2 keys; "
          "write one item each: `a`, `b`")]),
        (f"{{{LINK}, review: [{{actions: [aprove]}}]}}",
         [('review[0].actions[0]: "aprove" is not one of approve, comment, question, revise, reject; '
          "did you mean `approve`?")]),
        (f"{{{LINK}, review: {{actions: [approve]}}}}",
         [("review: expected a list of phases, such as [{actions: [approve, revise]}], got a map; "
          "begin each item with `- `")]),
        (f"{{{LINK}, caps: 2}}", ["caps: unknown key caps; `cap` is there already; keep one"]),
        ("{from: a, to: b, cpa: 1}", ["kind: `kind` is required (forward or authority)",
                                      "cpa: unknown key cpa; did you mean `cap`?"]),
        ("{kind: autority, from: a, to: b}",
         ['kind: "autority" is not one of forward, authority; did you mean `authority`?',
          "cap: `cap` is required; expected a whole number"]),
        ("{kind: forwrd, from: a, to: b, caap: 2}",
         ['kind: "forwrd" is not one of forward, authority; did you mean `forward`?',
          "caap: unknown key caap; did you mean `cap`?"]),
        ("{kind: sideways, from: a, to: b, caap: 2}",
         ['kind: "sideways" is not one of forward, authority']),
        ("a > b", [': expected a map of the fields of a link, got the text "a > b"']),
    ],
)  # fmt: skip
def test_links(text: str, lines: list[str]) -> None:
    """The kind of a link, or the form of its parts, chooses what is told."""
    assert told(text, "link") == lines


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("{provder: simulated}", "model", "provder: unknown key provder; did you mean `provider`?"),
        ("{provider: x, timeout_seconds: 0}", "model",
         "timeout_seconds: 0 is too small: it must be more than 0; expected a number"),
        ("{provider: x, api_key_env: sk-123}", "model",
         "api_key_env: expected the name of an environment variable; put it into an environment variable"),
        ("{members: []}", "pool", "members: expected a list of names, got an empty list; write at least one"),
        ("{members: [a], replace: off}", "pool", "replace: got the text 'off', write false"),
        ("query", "tool", "query"),
        ("{file: a, x: 1}", "text", "x: unknown key x; there are: file"),
        ("{turns: 0}", "limits", "turns: 0 is below the minimum 1; expected a whole number"),
        ("{secs: 1}", "limits", "secs: unknown key secs; did you mean `seconds`?"),
    ],
)  # fmt: skip
def test_other_parts(text: str, name: str, line: str) -> None:
    """Models, pools, tools, texts and limits have faults of their own."""
    (found,) = told(text, name)
    assert line in found


def test_all_faults_come_in_one_go(issues: Lines) -> None:
    """Schema faults, dangling names and plugin faults do not hide each other."""
    found = issues(
        """\
        name: "../up"
        roles:
          writer: {jion: any, tools: [serch]}
          "a b": {}
        evaluators: [usge]
        output: writr
        """
    )
    assert [line.split(": ")[0].split(" ", 1)[1] for line in found] == [
        "name", "roles.writer.jion", "roles.writer.tools[0]", "roles.a b", "evaluators[0]", "output",
    ]  # fmt: skip


def test_a_name_with_a_line_break_is_no_name() -> None:
    """What only looks like a name at its beginning is refused."""
    assert told('{"writer\\n": {}}', "models") != []
    assert "expected" in told('{model: "worker\\n"}', "role")[0]
