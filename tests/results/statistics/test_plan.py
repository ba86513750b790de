"""The plan as an experiment writes it."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.plan import Contrast, plan_of

WHOLE: dict[str, Any] = {
    "contrasts": [["hierarchical", "flat"]],
    "primary": ["utility", "writing_clarity"],
    "followups": {"outcomes": ["structure", "coherence"], "correct": "holm"},
    "robust": "wilcoxon",
    "covariates": ["words"],
    "leave_one_out": ["judge", "unit"],
    "mixed": {"outcome": "utility", "random": "unit"},
    "dose": {
        "outcome": "writing_clarity",
        "dose": "loops",
        "within": "hierarchical",
        "covariates": [],
    },
    "drafts": {"role": "writer", "measures": ["hedges", "words"], "against": "flat"},
    "subsets": {"unexercised": {"arm": "hierarchical", "where": "loops == 0"}},
    "equivalence": {"margin_dz": 0.5},
    "by": ["model.writer"],
}


def test_the_example_of_the_contract() -> None:
    """The whole ``analysis`` block of STATISTICS.md is read."""
    plan = plan_of(WHOLE, {"utility": ["actionability", "root_cause"]})
    assert plan.contrasts == (Contrast(arm="hierarchical", reference="flat"),)
    assert plan.outcomes == ("utility", "writing_clarity", "structure", "coherence")
    assert plan.dose[0].covariates == ()
    assert plan.drafts[0].measures == ("hedges", "words")
    assert plan.subsets["unexercised"].where == "loops == 0"
    assert plan.composites == {"utility": ["actionability", "root_cause"]}


def test_lists_may_stand_for_one() -> None:
    """Several mixed models or doses are a list."""
    plan = plan_of(WHOLE | {"mixed": [{"outcome": "a"}, {"outcome": "b"}], "by": "x"})
    assert [one.outcome for one in plan.mixed] == ["a", "b"]
    assert plan.by == ("x",)


def test_least_plan() -> None:
    """Contrasts and primary are enough; Wilcoxon stands beside t unless it is switched off."""
    plan = plan_of({"contrasts": [["a", "b"]], "primary": ["o"]})
    assert (plan.robust, plan.mixed, plan.followups) == ("wilcoxon", (), None)
    assert plan_of({"contrasts": [["a", "b"]], "primary": "o", "robust": None}).robust is None


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"primry": []}, "analysis: unknown primry; there are contrasts"),
        ({"primary": []}, "contrasts and primary"),
        ({"contrasts": ["ab"]}, "'ab' is no pair"),
        ({"contrasts": [["a", "b", "c"]]}, "is no pair"),
        ({"robust": "signs"}, "analysis.robust: 'signs' is not one of wilcoxon"),
        ({"zeros": "drop"}, "analysis.zeros"),
        ({"leave_one_out": ["role"]}, "analysis.leave_one_out: 'role'"),
        ({"followups": {"outcomes": ["a"], "correct": "bh"}}, "followups.correct: 'bh'"),
        ({"mixed": {"outcome": "a", "random": "judge"}}, "mixed.random"),
        ({"mixed": {"outcom": "a"}}, "analysis.mixed: unknown outcom"),
        ({"dose": {"outcome": "a"}}, "analysis.dose: .*missing"),
        ({"equivalence": {}}, "give margin_dz or margin"),
    ],
)
def test_wrong_plans_are_refused(change: dict[str, Any], match: str) -> None:
    """Unknown keys and values are refused by name."""
    with pytest.raises(PlanError, match=match):
        plan_of(WHOLE | change)
