"""Scores of simulated judges."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import pytest

from orglab.evaluators.judge.evaluator import _prompt
from orglab.evaluators.judge.rubric import RubricCriterion
from orglab.providers.base import Labels, Message, Request
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.providers.simulated.scoring import reported

LEVEL = {"type": "integer", "minimum": 1, "maximum": 5}
NAMES = ("structure", "conciseness", "strategic_depth")
SCHEMA = {
    "type": "object",
    "properties": {"analysis": {"type": "string", "minLength": 1, "maxLength": 4000}, **dict.fromkeys(NAMES, LEVEL)},
    "required": ["analysis", *NAMES],
    "additionalProperties": False,
}  # fmt: skip
FENCE = "=" * 20
STILL = {"shared": 0, "own": 0, "halo": 0, "noise": 0}


async def scores(profile: Any, report: str, number: int = 0, purpose: Any = "judge") -> Mapping[str, Any]:  # fmt: skip
    """What a judge gives a report."""
    import json

    asked = Request(
        model="",
        identity=f"judge {number}",
        messages=(Message(role="user", content=f"Judge.\n\n{FENCE}\n{report}\n{FENCE}\n\nmay might could"),),
        schema=SCHEMA,
        labels=Labels(purpose=purpose),
    )  # fmt: skip
    found: Mapping[str, Any] = json.loads(
        (await SimulatedProvider.from_spec("", {"profile": profile}).complete(asked)).text
    )
    return found  # fmt: skip


def still(**settings: Any) -> dict[str, Any]:
    """A profile of a judge without chance, level 4."""
    criteria = {name: {**STILL, "level": 4, "hedges": 0, "concessions": 0} for name in NAMES}
    return {"base": "sycophantic", "judging": {"criteria": criteria, **settings}}


async def test_severity_is_taken_from_every_score() -> None:
    """A severe judge is a point lower throughout."""
    assert [(await scores(still(), "It is so."))[name] for name in NAMES] == [4, 4, 4]
    severe = await scores(still(severity=1), "It is so.")
    assert [severe[name] for name in NAMES] == [3, 3, 3]


async def test_scores_stay_within_the_fields_bounds() -> None:
    """However severe the judge."""
    assert (await scores(still(severity=9), "It is so."))["structure"] == 1


async def test_hedges_and_concessions_are_counted_in_the_report_alone() -> None:
    """By thousand words and by piece; what stands outside the fences does not count."""
    profile = still()
    profile["judging"]["criteria"]["conciseness"] |= {"hedges": -0.01, "concessions": -1}
    plain = " ".join(["word"] * 99) + "."
    assert (await scores(profile, plain))["conciseness"] == 4
    assert (await scores(profile, f"{plain[:-5]} may."))["conciseness"] == 4
    twice = " ".join(["word"] * 8 + ["may", "might"]) + "."
    assert (await scores(profile, twice))["conciseness"] == 2
    assert (await scores(profile, f"{plain} As directed, it is so."))["conciseness"] == 3
    profile["judging"]["bother"] = 0
    assert (await scores(profile, twice))["conciseness"] == 4


async def test_all_judges_see_the_same_quality() -> None:
    """It is in the report, not in the judge: two judges without chance agree on every report."""
    profile = still()
    for name in NAMES:
        profile["judging"]["criteria"][name] |= {"shared": 0.8, "own": 0.4}
    observed = set()
    for number in range(20):
        first = await scores(profile, f"Report {number} is so.", number)
        second = await scores(profile, f"Report {number} is so. And more.", number + 100)
        assert [first[name] for name in NAMES] == [second[name] for name in NAMES]
        observed.add(first["structure"])
    assert len(observed) > 1


async def test_a_judge_of_the_null_profile_does_not_read_hedges() -> None:
    """On average a hedging report gets what a plain one gets."""
    plain = " ".join(["word"] * 60)
    hedging = " ".join(["word", "may", "possibly"] * 20)
    means = {}
    for said in (plain, hedging):
        found = [await scores("null", f"Report {n}. {said}.", n) for n in range(150)]
        means[said] = fmean(each["strategic_depth"] for each in found)
    assert means[plain] == pytest.approx(means[hedging], abs=0.15)
    found = [await scores("sycophantic", f"Report {n}. {hedging}.", n) for n in range(20)]
    assert fmean(each["strategic_depth"] for each in found) < means[plain] - 1


async def test_only_judges_score() -> None:
    """A role's own whole numbers are drawn like any others."""
    found = [await scores(still(), "It is so.", n, purpose="turn") for n in range(20)]
    assert len({each["structure"] for each in found}) > 1


def test_a_judge_reads_what_a_panel_shows_it() -> None:
    """The report alone, as the panel's prompt fences it in; else all that was said."""
    report = "## One\n\nIt may be so.\n\n=====\n\nIt ends."
    criterion = RubricCriterion(name="structure", asks="Is it?", levels={1: "may", 5: "might"})
    shown = Message(role="user", content=_prompt([criterion], report))
    assert reported([shown]) == report
    assert reported([Message(role="user", content="It is so.")]) == "It is so."
