"""Names of outcomes: each is resolved before anything is run, or refused with the nearest name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orglab.engine.spec.errors import SpecError, SpecIssue
from orglab.engine.study.experiment.document_loading import LoadOptions
from orglab.engine.study.experiment.load import ExperimentLoading
from orglab.engine.study.sweep.load import load_sweep

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {worker: {provider: scripted, file: replies.jsonl}}
roles: {writer: {prompt: "Write about {{ topic }}."}, editor: {}}
links: [{id: oversight, from: editor, to: writer, kind: authority, cap: 0}]
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms: {free: team.yaml, bound: {base: team.yaml, set: {links.oversight.cap: 2}}}
treatment: [links.oversight.cap]
units: {file: units.csv, id: id}
"""
EVALUATORS = (
    "[usage, approvals, {hedges: {drafts: true}}, words, {judge_panel: {file: panel.yaml}}]"
)
PANEL = """\
rubric: {criteria: {clarity: {asks: Is it clear?, levels: {"1": No., "5": Yes.}}}}
judges: {one: {provider: scripted, file: replies.jsonl}}
"""
SWEEP = """\
kind: sweep
version: 1
name: caps
base: team.yaml
vary: {links.oversight.cap: [0, 1]}
units: {file: units.csv, id: id}
"""

Check = Callable[..., list[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A team, units, replies and a panel of judges."""
    for name, text in {
        "team.yaml": TEAM,
        "units.csv": "id,topic,reviews,region\na,tea,3,north\nb,coffee,7,south\n",
        "replies.jsonl": '{"role": "writer", "reply": "x"}\n',
        "panel.yaml": PANEL,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def check(folder: Path) -> Check:
    """The errors of an experiment with this analysis, as ``path: what is wrong; hint``."""

    def checked(analysis: str, more: str = "", evaluators: str = EVALUATORS) -> list[str]:
        file = folder / "experiment.yaml"
        text = f"{EXPERIMENT}evaluators: {evaluators}\nanalysis: {analysis}\n{more}"
        file.write_text(text, encoding="utf-8")
        return [shown(issue) for issue in ExperimentLoading(file, LoadOptions()).load()[1]]

    return checked


def shown(issue: SpecIssue) -> str:
    """The place in the document, what is wrong, and the hint."""
    problem = issue.problem
    return f"{'.'.join(map(str, problem.path))}: {problem.wrong}; {problem.hint}"


SOUND = {
    "scores": "{primary: [hedges, hedges.modal, clarity, tokens.total, first_try_approval]}",
    "of drafts": "{primary: [words, hedges@2], drafts: {role: writer, measures: [hedges]}}",
    "of the panel": "{primary: [clarity], covariates: [judge_panel.missing]}",
    "columns": "{primary: [clarity], covariates: [reviews, loops, tokens, cost_usd]}",
    "to split by": "{primary: [clarity], by: [region, model.writer, topic]}",
    "a subset": "{primary: [clarity], subsets: {s: {arm: bound, where: 'loops > 0 and reviews > 3'}}}",
    "a dose": "{primary: [clarity], dose: {outcome: words, dose: loops, within: bound}}",
}


@pytest.mark.parametrize("name", SOUND)
def test_names_that_are_given_are_sound(check: Check, name: str) -> None:
    """Scores of every evaluator, columns of runs and of units."""
    assert check(SOUND[name]) == []


WRONG = {
    "primary": ("{primary: [clarty]}", "analysis.primary.0: `clarty` is", "`clarity`"),
    "followups": ("{followups: {outcomes: [wrods]}}", "analysis.followups.outcomes.0", "`words`"),
    "covariates": ("{covariates: [reviws]}", "analysis.covariates.0", "`reviews`"),
    "dose": (
        "{dose: {outcome: clarity, dose: loop, within: bound}}",
        "analysis.dose.dose: `loop`",
        "`loops`",
    ),
    "one of several doses": (
        "{dose: [{outcome: clarity, dose: loops, within: bound, covariates: [wrds]}]}",
        "analysis.dose.0.covariates.0",
        "`words`",
    ),
    "mixed": ("{mixed: {outcome: clarit}}", "analysis.mixed.outcome", "`clarity`"),
    "drafts": (
        "{drafts: {role: writer, measures: [hedgs]}}",
        "analysis.drafts.measures.0: no evaluator gives `hedgs` of drafts",
        "`hedges`",
    ),
    "not measured by draft": (
        "{drafts: {role: writer, measures: [words]}}",
        "analysis.drafts.measures.0: no evaluator gives `words` of drafts",
        "hedges",
    ),
    "subsets": (
        "{subsets: {s: {arm: bound, where: 'lops > 0'}}}",
        "analysis.subsets.s.where: `lops`",
        "`loops`",
    ),
    "no condition": (
        "{subsets: {s: {arm: bound, where: 'loops >'}}}",
        "analysis.subsets.s.where: condition",
        "",
    ),
    "by": ("{by: [regin]}", "analysis.by.0", "`region`"),
    "bounds": ("{bounds: {clarty: [1, 5]}}", "analysis.bounds.clarty", "`clarity`"),
    "text": (
        "{covariates: [region]}",
        "analysis.covariates.0: the column `region` holds text",
        "`by`",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_is_refused_at_its_place(check: Check, name: str) -> None:
    """One error, with the nearest name."""
    analysis, place, hint = WRONG[name]
    (found,) = check(analysis)
    assert found.startswith(place)
    assert hint in found


def test_text_cannot_be_averaged(folder: Path, check: Check) -> None:
    """A field whose schema takes text alone: what can be done is said."""
    schema = '{type: object, properties: {verdict: {enum: ["yes", "no"]}}, required: [verdict]}'
    team = TEAM.replace("writer: {", f"writer: {{output: {schema}, ")
    (folder / "team.yaml").write_text(team, encoding="utf-8")
    found = check("{primary: [field.verdict]}", evaluators="[{field: {path: verdict}}]")
    assert [text.partition(";")[0] for text in found] == [
        "analysis.primary.0: `field.verdict` is text, not a number"
    ]
    assert "`equals`" in found[0]
    assert check("{by: [field.verdict]}", evaluators="[{field: {path: verdict}}]") == []
    equals = "[{field: {path: verdict, equals: 'yes'}}]"
    assert check("{primary: [field.verdict]}", evaluators=equals) == []


def test_parts_of_composites_are_scores(check: Check) -> None:
    """A column of the runs is none."""
    (found,) = check("{primary: [mix]}", "composites: {mix: [clarity, lops]}\n")
    assert found.startswith("composites.mix.1: `lops` is neither a score of the evaluators nor")
    assert check("{primary: [mix]}", "composites: {mix: [clarity, mix2], mix2: [words]}\n") == []


def test_a_score_of_several_evaluators_needs_its_arguments(check: Check) -> None:
    """The hint is the name under which the table has it."""
    twice = "[words, {words: {role: writer}}]"
    (found,) = check("{primary: [words]}", evaluators=twice)
    assert found == (
        "analysis.primary.0: 2 evaluators give `words`; "
        'write `words (words {})` or `words (words {"role":"writer"})`'
    )
    assert check("""{primary: ['words (words {"role":"writer"})']}""", evaluators=twice) == []


def test_names_of_a_sweep_are_resolved(folder: Path) -> None:
    """Its outcomes, and those of which less is better."""
    file = folder / "sweep.yaml"
    text = f"{SWEEP}evaluators: [words]\nanalysis: {{primary: [wrds], lower_is_better: [wods]}}\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        load_sweep(file)
    places = [".".join(map(str, issue.problem.path)) for issue in refused.value.issues]
    assert places == ["analysis.primary.0", "analysis.lower_is_better.0"]
    assert all("`words`" in issue.problem.hint for issue in refused.value.issues)
