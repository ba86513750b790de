"""A whole analysis over the tables of a study."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from case_files import case_folder

from orglab.results.statistics.analysis import Analysis, analyse, plain_data
from orglab.results.statistics.errors import DatasetError, PlanError
from orglab.results.statistics.plan import (
    AnalysisPlan,
    Contrast,
    DraftsPlan,
    EquivalencePlan,
    SubsetPlan,
    plan_of,
)

CRITERIA = {
    "writing_clarity": ["structure", "coherence", "conciseness"],
    "utility": ["actionability", "root_cause", "strategic_depth"],
    "final": ["writing_clarity", "utility"],
}
ANALYSIS: dict[str, Any] = {
    "contrasts": [["deep", "flat"]],
    "primary": ["utility", "writing_clarity"],
    "followups": {"outcomes": [*CRITERIA["writing_clarity"], *CRITERIA["utility"]]},
    "covariates": ["words"],
    "leave_one_out": ["judge", "unit"],
    "mixed": {"outcome": "utility"},
    "dose": {"outcome": "writing_clarity", "dose": "loops", "within": "deep"},
    "drafts": {"role": "writer", "measures": ["hedges", "kept_share"], "against": "flat"},
    "subsets": {"unexercised": {"arm": "deep", "where": "loops == 0"}},
    "equivalence": {"margin_dz": 0.5},
    "by": ["model.writer"],
}
Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


def tables(units: int = 10, judges: int = 3) -> Tables:
    """Scores, runs and drafts of a made study; run 3 of the deep arm failed."""
    generator = np.random.default_rng(11)
    scores: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    drafts: list[dict[str, Any]] = []
    criteria = [*CRITERIA["writing_clarity"], *CRITERIA["utility"]]
    for unit in range(units):
        for arm in ("flat", "deep"):
            key = {"arm": arm, "unit": f"u{unit:02}", "replicate": 0}
            loops = unit % 3 if arm == "deep" else 0
            failed = arm == "deep" and unit == 3
            runs.append(
                key
                | {
                    "status": "failed" if failed else "completed",
                    "reason": "no key" if failed else "",
                    "loops": loops,
                    "tokens": 1000 + 500 * (arm == "deep"),
                    "cost_usd": None if unit == 0 else 0.01,
                    "words": 1000 + generator.integers(-50, 50),
                    "model.writer": "ab"[unit % 2],
                    "extra": {"any": ["thing"]},
                }
            )
            scores += [
                key
                | {
                    "outcome": name,
                    "judge": f"j{judge}",
                    "value": float(generator.integers(1, 6)),
                    "scale": "ordinal",
                }
                for name in criteria
                for judge in range(judges)
            ]
            hedges = {"outcome": "hedges", "judge": None, "value": 3.0 + generator.random()}
            scores.append(key | hedges | {"scale": "ratio"})
            for visit in range(1, loops + 2):
                draft = key | {"role": "writer", "visit": visit}
                drafts.append(
                    draft | {"measure": "hedges", "value": 3.0 + visit + generator.random()}
                )
                if visit > 1:
                    drafts.append(draft | {"measure": "kept_share", "value": 0.9})
    return pd.DataFrame(scores), pd.DataFrame(runs), pd.DataFrame(drafts)


@pytest.fixture(scope="module")
def whole() -> Analysis:
    """Everything the contract's example asks for."""
    scores, runs, drafts = tables()
    return analyse(scores, plan_of(ANALYSIS, CRITERIA), runs=runs, drafts=drafts)


def test_it_is_strict_json(whole: Analysis) -> None:
    """The whole analysis is strict JSON, no NaN anywhere."""
    text = json.dumps(whole.json(), allow_nan=False, ensure_ascii=False)
    assert json.loads(text)["primary"][0]["outcome"] == "utility"


def test_families(whole: Analysis) -> None:
    """Primary outcomes are one family, follow-ups another, by declared size."""
    assert {(row.family, row.family_size) for row in whole.primary} == {("primary", 2)}
    assert {(row.family, row.family_size) for row in whole.followups} == {("followups", 6)}
    smallest = min(row.p or 1.0 for row in whole.followups)
    assert min(row.p_adjusted or 1 for row in whole.followups) == pytest.approx(
        min(1, 6 * smallest)
    )


def test_headline_row(whole: Analysis) -> None:
    """A row holds n, means, sizes, wins, missing by arm with the reason, and compute."""
    row = whole.primary[0]
    assert (row.n, row.replicates, row.judges, row.test) == (9, 1, 3, "paired t")
    assert row.wins.wins + row.wins.ties + row.wins.losses == 9
    assert row.arms["deep"].missing.why == {"failed: no key": 1}
    assert (row.arms["flat"].n, row.arms["flat"].missing.units) == (10, ())
    assert row.arms["deep"].compute["tokens"] == 1500
    assert row.arms["deep"].compute["cost_usd"] == 0.01
    assert "deep: 1 of 10 units without a value (10%)" in row.warnings
    assert row.effect.difference == pytest.approx(
        (row.arms["deep"].paired_mean or 0) - (row.arms["flat"].paired_mean or 0)
    )
    assert row.robust is not None
    assert row.equivalence is not None


def test_parts_are_there(whole: Analysis) -> None:
    """Everything that was asked for is there."""
    assert len(whole.adjusted) == 8
    assert {row.by for row in whole.leave_one_out} == {"judge", "unit"}
    assert whole.mixed[0].rows_are == "verdicts"
    assert whole.dose[0].spearman.n == 9
    assert [one.agreement.items for one in whole.judging] == [19] * 9
    assert {one.outcome for one in whole.judging} >= {"final", "utility", "structure"}


def test_subset(whole: Analysis) -> None:
    """A subset holds the units whose run met the condition, and says how to read it."""
    found = whole.subsets[0]
    assert found.units == 3  # u00, u06, u09: u03 failed
    assert found.effects[0].n == 3
    assert "after treatment" in found.label
    assert found.effects[0].p_adjusted is None


def test_split(whole: Analysis) -> None:
    """The effect by drawn model: all pairs are in one level or left out."""
    found = whole.by[0]
    assert [(level.value, level.units) for level in found.levels] == [("a", 5), ("b", 4)]
    assert found.left_out == 0
    assert found.p is not None


def test_drafts(whole: Analysis) -> None:
    """Second against first where the role revised; first against the report; the share kept."""
    rows = {(row.measure, row.comparison): row for row in whole.drafts}
    second = rows["hedges", "second - first"]
    assert second.test is not None
    assert (second.arm, second.test.n) == ("deep", 6)
    assert 0 < (second.test.difference or 0) < 2
    first = rows["hedges", "first - report of flat"]
    assert first.test is not None
    assert first.test.n == 9
    kept = rows["kept_share", "second draft"]
    assert (kept.summary.median, kept.test) == (0.9, None)


def test_attrition_and_compute(whole: Analysis) -> None:
    """Runs by arm and how they ended; what each used, missing apart from 0."""
    deep = next(row for row in whole.attrition if row.arm == "deep")
    assert (deep.planned, deep.completed, deep.why) == (10, 9, {"failed: no key": 1})
    cost = next(row for row in whole.compute if (row.column, row.arm) == ("cost_usd", "flat"))
    assert (cost.n, cost.missing, cost.mean) == (9, 1, 0.01)
    tokens = next(row for row in whole.compute_contrasts if row.column == "tokens")
    assert (tokens.n, tokens.difference, tokens.relative) == (9, 500, 0.5)
    loops = next(row for row in whole.compute_contrasts if row.column == "loops")
    assert loops.relative is None


def test_same_tables_same_analysis(whole: Analysis) -> None:
    """Rows in another order give the same analysis, bootstrap and all."""
    scores, runs, drafts = tables()
    again = analyse(
        scores.iloc[::-1], plan_of(ANALYSIS, CRITERIA), runs=runs.iloc[::-1], drafts=drafts
    )
    assert again.json() == whole.json()


def test_arms_swapped_turn_the_sign(whole: Analysis) -> None:
    """The contrast turned round has the opposite difference and the same p."""
    scores, runs, _ = tables()
    plan = replace(
        plan_of({"contrasts": [["flat", "deep"]], "primary": ["utility"]}, CRITERIA),
    )
    row = analyse(scores, plan, runs=runs).primary[0]
    assert row.effect.difference == pytest.approx(-(whole.primary[0].effect.difference or 0))
    assert row.p == pytest.approx(whole.primary[0].p)


def simple(
    values: dict[str, list[float | None]], scale: str = "", replicate: bool = False
) -> pd.DataFrame:
    """Scores of one outcome, by arm and unit (or by arm, unit and two replicates)."""
    step = 2 if replicate else 1
    return pd.DataFrame(
        [
            {
                "arm": arm,
                "unit": f"u{at // step}",
                "replicate": at % step,
                "outcome": "o",
                "value": value,
                "scale": scale,
            }
            for arm, column in values.items()
            for at, value in enumerate(column)
        ]
    )


PLAN = AnalysisPlan(contrasts=(Contrast(arm="a", reference="b"),), primary=("o",))


def test_binary_outcomes_are_compared_by_mcnemar() -> None:
    """A declared binary outcome without replicates gets McNemar's test and Wilson intervals."""
    scores = simple({"a": [1, 1, 1, 1, 0, 1], "b": [0, 0, 1, 0, 0, 1]}, "binary")
    row = analyse(scores, PLAN).primary[0]
    assert row.test == "McNemar, exact"
    assert row.p == pytest.approx(0.25)
    assert row.rates is not None
    assert row.rates.difference == row.effect.difference == 0.5
    assert row.arms["a"].rate_low is not None


def test_binary_with_replicates_by_unit_means() -> None:
    """With replicates a binary outcome is compared by unit means."""
    scores = simple({"a": [1, 1, 1, 0, 0, 1], "b": [0, 0, 1, 0, 0, 1]}, "binary", replicate=True)
    row = analyse(scores, PLAN).primary[0]
    assert (row.test, row.rates, row.n, row.replicates) == ("paired t", None, 3, 2)


def test_worst_case_of_case_61() -> None:
    """With the range declared, the worst case puts gaps at its ends, and missing above 5 % warns."""
    wide = pd.read_csv(case_folder("61-stats-missing-judge-scores") / "scores.csv")
    table = wide.melt(id_vars="item", var_name="arm").rename(columns={"item": "unit"})
    plan = AnalysisPlan(
        contrasts=(Contrast(arm="trio", reference="solo"),),
        primary=("score",),
        bounds={"score": (0.0, 1.0)},
    )
    row = analyse(table.assign(outcome="score"), plan).primary[0]
    trio, solo = wide["trio"].fillna(0.0), wide["solo"].fillna(1.0)
    assert row.worst_case is not None
    assert row.worst_case.low == pytest.approx((trio - solo).mean())
    assert [text.split(":")[0] for text in row.warnings] == ["solo", "trio"]
    assert row.arms["solo"].mean == pytest.approx(0.771429, abs=1e-6)


def test_a_test_that_cannot_be_made_counts_in_its_family() -> None:
    """A constant outcome has no p, infects nobody, and the family stays as declared."""
    scores = pd.concat(
        [
            simple({"a": [1, 1, 1, 1], "b": [1, 1, 1, 1]}).assign(outcome="still"),
            simple({"a": [2.0, 3, 4, 6], "b": [1.0, 1, 1, 1]}),
        ]
    )
    rows = analyse(scores, replace(PLAN, primary=("still", "o"))).primary
    assert (rows[0].p, rows[0].p_adjusted) == (None, None)
    assert "no variation" in rows[0].why
    assert rows[1].p_adjusted == pytest.approx(2 * (rows[1].p or 0))


def test_nothing_has_run_yet() -> None:
    """A study of which nothing has completed gives rows without numbers, and says why."""
    runs = pd.DataFrame(
        [{"arm": arm, "unit": "u", "status": "running", "reason": ""} for arm in "ab"]
    )
    plan = replace(
        PLAN,
        leave_one_out=("judge", "unit"),
        equivalence=EquivalencePlan(margin_dz=0.5),
        subsets={"s": SubsetPlan(arm="a", where="o > 1")},
        mixed=plan_of(ANALYSIS | {"mixed": {"outcome": "o"}}).mixed,
        bounds={"o": (0, 1)},
        by=("status",),
    )
    found = analyse(simple({"a": [1.0], "b": [None]}).assign(unit="u"), plan, runs=runs)
    row = found.primary[0]
    assert (row.n, row.p, row.effect.difference) == (0, None, None)
    assert row.why == "no pair has both values"
    assert found.mixed[0].model.why == "one unit only"
    json.dumps(found.json(), allow_nan=False)


def test_one_pair() -> None:
    """One pair has a difference and no test."""
    row = analyse(simple({"a": [2.0], "b": [1.0]}), PLAN).primary[0]
    assert (row.n, row.effect.difference, row.p) == (1, 1.0, None)
    assert row.why == "one pair only: no test"


def test_measured_columns_are_cut_at_the_median() -> None:
    """A column of many numbers splits the units at its median."""
    values: list[float | None] = [float(at) for at in range(12)]
    scores = simple({"a": values, "b": [0.0] * 12})
    runs = scores[["arm", "unit", "replicate"]].assign(
        stars=[at / 2 for at in [*range(12), *range(12)]], status="completed", reason=""
    )
    found = analyse(scores, replace(PLAN, by=("stars",)), runs=runs).by[0]
    assert [level.value for level in found.levels] == ["at most 2.75", "above 2.75"]


def test_arms_that_drew_differently_are_left_out() -> None:
    """A pair whose runs do not share the value is in no level, and counted."""
    scores = simple({"a": [1.0, 2.0, 4.0], "b": [0.0, 0.0, 0.0]})
    runs = scores[["arm", "unit"]].assign(model=["x", "x", "y", "x", "x", "x"], status="completed")
    found = analyse(scores, replace(PLAN, by=("model",)), runs=runs).by[0]
    assert (found.levels[0].units, found.left_out) == (2, 1)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"by": ("nope",)}, "no column 'nope' in the runs"),
        ({"primary": ("nope",)}, "'nope'"),
        ({"contrasts": (Contrast(arm="z", reference="b"),)}, "no arm 'z'"),
        ({"subsets": {"s": SubsetPlan(arm="z", where="o == 1")}}, "subset 's': no arm 'z'"),
        ({"drafts": (DraftsPlan(role="w", measures=("o",)),)}, "there is no table of drafts"),
    ],
)
def test_what_the_tables_do_not_hold(change: dict[str, Any], match: str) -> None:
    """A plan that names what there is not is refused by that name."""
    with pytest.raises(PlanError, match=match):
        analyse(simple({"a": [1.0, 2.0], "b": [0.0, 0.0]}), replace(PLAN, **change))


def test_drafts_without_columns() -> None:
    """A table of drafts without its columns is refused."""
    plan = replace(PLAN, drafts=(DraftsPlan(role="w", measures=("o",)),))
    with pytest.raises(DatasetError, match="drafts have no column visit"):
        analyse(
            simple({"a": [1.0, 2.0], "b": [0.0, 0.0]}),
            plan,
            drafts=pd.DataFrame(columns=["arm", "unit", "role", "measure", "value"]),
        )


def test_plain_data() -> None:
    """NumPy's numbers become Python's, what is not finite becomes null, the rest is refused."""
    assert plain_data({"a": (np.float64(1), np.int64(2), float("nan"), np.bool_(1))}) == {
        "a": [1.0, 2, None, True]
    }
    with pytest.raises(TypeError, match="set is no plain data"):
        plain_data({1})
