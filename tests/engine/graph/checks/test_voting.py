"""Checks of votes, of lists handed out, and of roles that are teams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orglab.engine.graph.check import check_file

HEAD = """\
kind: topology
version: 1
inputs: {topic: {type: string}}
models: {m: {provider: simulated}}
"""
ANSWER = "{type: object, properties: {answer: {enum: [x, y]}}, required: [answer]}"
LIST = "{type: object, properties: {tasks: {type: array, maxItems: 3}}, required: [tasks]}"

Lines = Callable[[str], list[str]]


@pytest.fixture
def issues(tmp_path: Path) -> Lines:
    """The faults of a spec, each without its file and place."""

    def told(text: str) -> list[str]:
        file = tmp_path / "spec.yaml"
        file.write_text(HEAD + text, encoding="utf-8")
        return [str(issue).partition(" ")[2] for issue in check_file(file).issues]

    return told


def voting(voter: str, vote: str = "answer", more: str = "", roles: str = "") -> str:
    """A spec in which ``v`` votes on what ``a`` writes."""
    return (
        f"roles: {{a: {voter}, v: {{vote: {vote}}}{roles}}}\n"
        f"links: [{{from: a, to: v, kind: forward}}{more}]\noutput: v\n"
    )


SENT_BACK = (
    "`v` votes, so being sent back changes nothing that it gives; review the voters in its "
    "place; or set `cap: 0`; or, where checks look at it, name a `target` that can act"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            voting("{}"),
            (
                "roles.v.vote: the vote is on `answer`, but `a` writes free text; give `a` an `output` "
                "schema with the field `answer`: long texts are never equal"
            ),
        ),
        (
            voting(f"{{output: {ANSWER}}}", vote="anwser"),
            (
                "roles.v.vote: the output of `a` has no field `anwser` to vote on; one of `answer`; "
                "did you mean `answer`?"
            ),
        ),
        (
            voting("{output: {type: object, properties: {counts: {}}}}", vote="counts"),
            (
                "roles.v.vote: `counts` is what a vote's output calls the counts; give the field of "
                "the voters another name"
            ),
        ),
        (
            voting(
                f"{{output: {ANSWER}}}",
                more=", {from: v, to: b, kind: forward, when: {answer: z}}",
                roles=", b: {}",
            ).replace("output: v\n", "output: b\n"),
            (
                'links[1].when.answer: `answer` of `v` can never be "z"; the schema allows `x` or '
                "`y`; use a value that the `output` schema allows, or allow it there"
            ),
        ),
        (
            voting(
                f"{{output: {ANSWER}}}",
                more=", {from: b, to: v, kind: authority, cap: 1}",
                roles=", b: {}",
            ),
            f"links[1].to: {SENT_BACK}",
        ),
        (
            "roles: {v: {vote: answer}}\noutput: v\n",
            (
                "roles.v.vote: `v` begins the run, so there is nothing to count; let a forward link "
                "lead from the voters to it"
            ),
        ),
        (
            "roles: {v: {vote: answer, replicas: 2, model: m}}\noutput: v\n",
            "roles.v.model: `model` means nothing for a role that votes: it asks no model; remove it",
        ),
    ],
)
def test_votes(issues: Lines, text: str, line: str) -> None:
    """Each fault says what is wrong and how to mend it."""
    assert line in issues(text)


@pytest.mark.parametrize("more", ["cap: 0", "cap: 1, trigger: {checks: [usage]}, target: a"])
def test_a_vote_may_be_reviewed_where_nobody_sends_it_back(issues: Lines, more: str) -> None:
    """An advisory link, or one that makes another act."""
    link = f", {{from: b, to: v, kind: authority, {more}}}".replace("usage", "{length: {max: 9}}")
    assert issues(voting(f"{{output: {ANSWER}}}", more=link, roles=", b: {}")) == []


def handing(plan: str, copies: int = 3, more: str = "", field: str = "tasks") -> str:
    """A spec in which ``p`` hands out the items of a list."""
    return (
        f"roles: {{p: {plan}, w: {{replicas: {copies}}}}}\n"
        f"links: [{{from: p, to: w, kind: forward, each: {field}{more}}}]\noutput: w\n"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            handing("{}"),
            (
                "links[0].each: `each` hands out the items of `tasks`, but `p` writes free text; give "
                "`p` an `output` schema with the list `tasks`"
            ),
        ),
        (
            handing(f"{{output: {LIST}}}", field="task"),
            (
                "links[0].each: `each` hands out the items of `task`, but `p` has no field `task` in "
                "its output; did you mean `tasks`?"
            ),
        ),
        (
            handing(f"{{output: {ANSWER}}}", field="answer"),
            (
                "links[0].each: `answer` of `p` need not be a list; write `type: array` and "
                "`maxItems: 3` for it in the schema"
            ),
        ),
        (
            handing(f"{{output: {LIST}}}", copies=2),
            (
                "links[0].each: `tasks` of `p` may hold 3 items, and `w` has 2 copies; a list that is "
                "never longer than there are copies; write `maxItems: 2` in its schema, or raise "
                "`replicas` of `w`"
            ),
        ),
        (
            handing("{output: {type: object, properties: {tasks: {type: array}}}}"),
            (
                "links[0].each: `tasks` of `p` may hold any number of items, and `w` has 3 copies; a "
                "list that is never longer than there are copies; write `maxItems: 3` in its schema, "
                "or raise `replicas` of `w`"
            ),
        ),
        (
            handing(f"{{output: {LIST}}}", more=", cap: 1"),
            (
                "links[0].each: `each` is not allowed on a closing link; let it lead to a role "
                "before `w`, whose plain link has `each`"
            ),
        ),
        (
            (
                f"roles: {{p: {{output: {LIST}}}, v: {{vote: tasks}}}}\n"
                "links: [{from: p, to: v, kind: forward, each: tasks}]\noutput: v\n"
            ),
            "links[0].each: `v` votes on whole outputs, not on items; hand the items to the voters",
        ),
    ],
)
def test_items(issues: Lines, text: str, line: str) -> None:
    """Nothing is ever clipped: the schema bounds the list, or the spec is refused."""
    assert line in issues(text)


def test_a_bound_may_stand_anywhere_in_the_schema(issues: Lines) -> None:
    """Behind a reference, in every branch, in a part of all."""
    parts = (
        "{$ref: '#/$defs/l'}",
        "{anyOf: [{type: array, maxItems: 1}, {$ref: '#/$defs/l'}]}",
        "{type: array, allOf: [{maxItems: 3}, {minItems: 1}]}",
    )
    for part in parts:
        schema = f"{{type: object, properties: {{tasks: {part}}}, $defs: {{l: {{type: array, maxItems: 2}}}}}}"
        assert issues(handing(f"{{output: {schema}}}")) == [], part


TEAM = "{inputs: {topic: {type: string}, goal: {type: string}}, roles: {w: {}}, output: w}"


@pytest.mark.parametrize(
    ("role", "line"),
    [
        (
            f"{{team: {TEAM}}}",
            (
                "roles.lead.with.goal: nothing fills the input `goal` of the team of `lead`: there is "
                'no input of this name here; write `with: {goal: "{{ inbox }}"}`, say'
            ),
        ),
        (
            f"{{team: {TEAM}, sees: [inbox], with: {{goal: x}}}}",
            (
                "roles.lead.with.topic: nothing fills the input `topic` of the team of `lead`: `lead` "
                'does not see the task; write `with: {topic: "{{ inbox }}"}`, say'
            ),
        ),
        (
            f"{{team: {TEAM}, with: {{goal: x, gaol: y}}}}",
            (
                "roles.lead.with.gaol: the team of `lead` has no input `gaol`; one of `goal` or "
                "`topic`; did you mean `goal`?"
            ),
        ),
        (
            f"{{team: {TEAM}, with: {{goal: '{{{{ subject }}}}'}}}}",
            "roles.lead.with.goal: the template uses `subject`",
        ),
        (
            "{team: {roles: {w: {}, x: {}}, output: w}}",
            "roles.lead.team.roles.x: nothing uses what `x` writes",
        ),
        (
            "{team: {extends: base.yaml, roles: {w: {}}, output: w}}",
            (
                "roles.lead.team: a team that is written in its place extends nothing; name a file "
                "that extends"
            ),
        ),
        (
            "{team: {roles: {w: {modle: m}}, output: w}}",
            "roles.lead.team.roles.w.modle: unknown key modle; did you mean `model`?",
        ),
        (
            f"{{team: {TEAM}, prompt: x, with: {{goal: x}}}}",
            "roles.lead.prompt: `prompt` means nothing",
        ),
        ("{team: ../team.yaml}", "roles.lead.team: ../team.yaml: the file lies outside"),
        ("{team: spec.yaml}", "roles.lead.team: teams lie within each other in a circle: "),
    ],
)
def test_teams(issues: Lines, role: str, line: str) -> None:
    """Each fault of a team is told with the role that is the team."""
    found = issues(f"roles: {{lead: {role}}}\noutput: lead\n")
    assert [one for one in found if one.startswith(line)], found


def test_the_bounds_of_a_team_multiply(tmp_path: Path) -> None:
    """A turn of the role counts for itself and for a run of the team; votes make no call."""
    text = HEAD + (
        "roles:\n  lead: {replicas: 2, team: {roles: {w: {}, e: {}}, output: w,\n"
        "    links: [{from: e, to: w, kind: authority, cap: 1}]}}\n  boss: {}\n"
        "links: [{from: boss, to: lead, kind: authority, cap: 1}]\noutput: lead\n"
    )
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    team = check_file(tmp_path / "spec.yaml").team
    assert team is not None
    inner = team.teams["lead"].bounds
    assert (inner.turns, inner.calls) == (4, 12)
    assert team.bounds.turns == 3 * (1 + 4) + 3
    assert team.bounds.calls == 3 * 12 + 3 * 3


def test_what_an_evaluator_may_name_of_a_team(issues: Lines) -> None:
    """Its roles by both names."""
    team = "roles: {lead: {team: {roles: {w: {}}, output: w}}}\noutput: lead\n"
    assert issues(f"{team}evaluators: [{{length: {{role: lead/w}}}}]\n") == []
    (line,) = issues(f"{team}evaluators: [{{length: {{role: lead/x}}}}]\n")
    assert line.startswith("evaluators[0].length.role: there is no role `lead/x`")


def test_a_money_limit_looks_at_models_within(issues: Lines) -> None:
    """A hosted model of a team needs a price like any other."""
    model = "{h: {provider: openai, model: x, params: {max_output_tokens: 9}}}"
    team = f"{{models: {model}, roles: {{w: {{}}}}, output: w}}"
    found = issues(f"roles: {{lead: {{team: {team}}}}}\noutput: lead\nlimits: {{cost_usd: 1}}\n")
    assert any(
        "`limits.cost_usd` needs to know what a call of `lead/h` may cost" in one for one in found
    )
