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
        ("{tools: critic}", 'tools: a list of names is wanted, got the text "critic"; write [critic]'),
        ("{tools: {a: 1}}", "tools: a list of names is wanted, got a map; begin each item with `- `"),
        ("{tools: [a, b, a]}", 'tools[2]: "a" stands twice in the list; keep one'),
        ("{system: 3}", 'system: text or {file: PATH} is wanted, got the number 3; write it in quotes: "3"'),
        ("{system: }", "system: text or {file: PATH} is wanted, got nothing; give it a value, or remove the key"),
        ("{system: {fil: a}}", "system.fil: unknown key fil; did you mean `file`?"),
        ("{system: {file: 1}}", 'system.file: a path is wanted, got the number 1; write it in quotes: "1"'),
        ("{join: al}", 'join: "al" is none of all, any; did you mean `all`?'),
        ("{replicas: 0}", "replicas: 0 is below the minimum 1; a whole number is wanted"),
        ("{replicas: 1.5}", "replicas: a whole number is wanted, got the number 1.5"),
        ("{replicas: true}", "replicas: a whole number is wanted, got true"),
        (
            "{replicas: 02}",
            'replicas: a whole number is wanted, got the text "02"; write it without zeros in front: 2',
        ),
        ('{replicas: "2"}', 'replicas: a whole number is wanted, got the text "2"; write it without quotes: 2'),
        ("{model: [a]}", "model: a model's name or {pool: NAME} is wanted, got a list"),
        ("{model: {pol: a}}", "model.pol: unknown key pol; did you mean `pool`?"),
        ("{sees: [tsk]}", ("sees[0]: task, inbox, own, latest, blackboard or role:NAME is wanted, "
         'got the text "tsk"; did you mean `task`?')),
        ("{sees: task}", 'sees: a list of sights is wanted, got the text "task"; write [task]'),
        ("{output: text}", 'output: a JSON Schema (a map) is wanted, got the text "text"'),
        ("{limits: {tool_call: 1}}", "limits.tool_call: unknown key tool_call; did you mean `tool_calls`?"),
        ("writer", ': a map of the fields of a role is wanted, got the text "writer"'),
        ("~", ": a map of the fields of a role is wanted, got nothing; write {} or its fields"),
    ],
)  # fmt: skip
def test_roles(text: str, line: str) -> None:
    """Each fault of a role says what is wrong, what was expected and how to mend it."""
    assert told(text, "role") == [line]


LINK = "kind: authority, from: a, to: b, cap: 1"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("{kind: forward, from: a, to: [b, c]}", ["to: a name is wanted, got a list"]),
        ("{kind: forward, from: a, to: b, sees: latest}",
         ["sees: `sees` belongs to another form: an authority link; remove `sees`, or write that form"]),
        ("{kind: forward, from: a, to: b, cap: 1, on_cap: fail}", ['on_cap: "fail" is none of stop, accept']),
        ("{kind: forward, from: a, to: b, on_cap: accept}", ["on_cap: on_cap has no meaning without cap"]),
        ("{kind: forward, from: a, to: b, when: otherwse}",
         [("when: `otherwise` or a map from a field to a value or a list of values is wanted, "
          'got the text "otherwse"; did you mean `otherwise`?')]),
        ("{kind: forward, from: a, to: b, when: {}}",
         ["when: a map from a field to a value or a list of values is wanted, got an empty map; write at least one"]),
        ("{kind: authority, from: a}", ["to: to is missing; a name or a list of names is wanted",
                                        "cap: cap is missing; a whole number is wanted"]),
        ("{kind: authority, from: a, to: b, cap: -1}", ["cap: -1 is below the minimum 0; a whole number is wanted"]),
        ("{kind: authority, from: a, to: b, cap: null}",
         ["cap: a whole number is wanted, got nothing; give it a value"]),
        ("{kind: forward, from: a, to: b, cap: null}",
         ["cap: a whole number is wanted, got nothing; give it a value, or remove the key"]),
        (f"{{{LINK}, on_cap: stop}}", ['on_cap: "stop" is none of accept, fail']),
        (f"{{{LINK}, trigger: judgment}}",
         [("trigger: judgement, never, {checks: […]} or {probability: …} is wanted, "
          'got the text "judgment"; did you mean `judgement`?')]),
        (f"{{{LINK}, trigger: {{probabilty: 1}}}}",
         ["trigger.probabilty: unknown key probabilty; did you mean `probability`?"]),
        (f"{{{LINK}, trigger: {{voice: findings}}}}",
         [("trigger: checks or probability is missing; "
          "judgement, never, {checks: […]} or {probability: …} is wanted")]),
        (f"{{{LINK}, trigger: {{checks: [a], probability: 1}}}}",
         [("trigger.probability: `probability` belongs to another form: a map {probability: …}; "
          "remove `probability`, or write that form")]),
        (f"{{{LINK}, trigger: {{probability: 2}}}}",
         ["trigger.probability: 2 is above the maximum 1; a number between 0 and 1 is wanted"]),
        (f"{{{LINK}, trigger: {{checks: [{{a: 1, b: 2}}]}}}}",
         [("trigger.checks[0]: a map with one evaluator, {name: arguments} is wanted, got 2 keys; "
          "write one item each: `a`, `b`")]),
        (f"{{{LINK}, review: [{{actions: [aprove]}}]}}",
         [('review[0].actions[0]: "aprove" is none of approve, comment, question, revise, reject; '
          "did you mean `approve`?")]),
        (f"{{{LINK}, review: {{actions: [approve]}}}}",
         [("review: a list of phases, such as [{actions: [approve, revise]}] is wanted, got a map; "
          "begin each item with `- `")]),
        (f"{{{LINK}, caps: 2}}", ["caps: unknown key caps; `cap` is there already; keep one"]),
        ("{from: a, to: b, cpa: 1}", ["kind: kind is missing (forward or authority)",
                                      "cpa: unknown key cpa; did you mean `cap`?"]),
        ("{kind: autority, from: a, to: b}",
         ['kind: "autority" is none of forward, authority; did you mean `authority`?',
          "cap: cap is missing; a whole number is wanted"]),
        ("{kind: forwrd, from: a, to: b, caap: 2}",
         ['kind: "forwrd" is none of forward, authority; did you mean `forward`?',
          "caap: unknown key caap; did you mean `cap`?"]),
        ("{kind: sideways, from: a, to: b, caap: 2}",
         ['kind: "sideways" is none of forward, authority']),
        ("a > b", [': a map of the fields of a link is wanted, got the text "a > b"']),
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
         "timeout_seconds: 0 is too small: it must be more than 0; a number is wanted"),
        ("{provider: x, api_key_env: sk-123}", "model",
         "api_key_env: the name of an environment variable is wanted; put it into an environment variable"),
        ("{members: []}", "pool", "members: a list of names is wanted, got an empty list; write at least one"),
        ("{members: [a], replace: off}", "pool", "replace: got the text 'off', write false"),
        ("query", "tool", "query"),
        ("{file: a, x: 1}", "text", "x: unknown key x; there are: file"),
        ("{turns: 0}", "limits", "turns: 0 is below the minimum 1; a whole number is wanted"),
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
    assert "is wanted" in told('{model: "worker\\n"}', "role")[0]
