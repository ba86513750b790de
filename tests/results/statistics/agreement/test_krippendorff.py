"""Agreement and severity of judges."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.agreement.krippendorff import (
    Metric,
    agreement,
    alpha,
    judging,
    metric_of,
)
from orglab.results.statistics.data.cells import Floats
from orglab.results.statistics.data.dataset import dataset_of

CASE = case_folder("58-stats-agreement-missing")
METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval", "ratio")


def table(*judges: str) -> Floats:
    """Items in rows, judges in columns, from one text a judge."""
    rows = [[np.nan if one == "." else float(one) for one in judge.split()] for judge in judges]
    return np.array(rows).T


KRIPPENDORFF = table(
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


@pytest.mark.parametrize(
    ("metric", "value"),
    [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)],
)
def test_krippendorff_s_table(metric: Metric, value: float) -> None:
    """The table of Krippendorff (2011), with gaps, on every metric."""
    assert alpha(KRIPPENDORFF, metric) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("metric", METRICS)
def test_binary(metric: Metric) -> None:
    """Two judges, ten items, two values: all metrics are one."""
    ratings = table("0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0")
    assert alpha(ratings, metric) == pytest.approx(0.095238, abs=5e-7)


def test_case_58() -> None:
    """Case 58: gaps are gaps; an item with one rating is left out, and counted."""
    expected = json.loads((CASE / "expected.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(CASE / "ratings.csv")
    ratings = rows.pivot_table(index="item", columns="judge", values="score").to_numpy(float)
    for metric in METRICS[:3]:
        found = agreement(ratings, metric, resamples=0)
        assert found.alpha == pytest.approx(expected[metric], abs=5e-7)
        assert (found.items, found.left_out) == (expected["items_used"], 1)


def test_raw_agreement() -> None:
    """Raw agreement is the part of equal pairs of ratings of one item."""
    found = agreement(table("1 1 2 .", "1 2 2 1", "1 2 3 ."), "nominal", resamples=0)
    assert found.raw == pytest.approx(5 / 9)
    assert (found.ratings, found.judges) == (9, 3)


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        (table("3 3 3", "3 3 3"), "no variation"),
        (table("1 . 2", ". 2 ."), "no item has two ratings"),
    ],
)
def test_undefined(ratings: Floats, why: str) -> None:
    """Without variation, or without two ratings of an item, alpha is undefined and said so."""
    found = agreement(ratings, "ordinal")
    assert (found.alpha, found.low, found.high) == (None, None, None)
    assert why in found.why


def test_perfect_and_opposite() -> None:
    """Full agreement is 1; systematic disagreement lies below 0."""
    assert alpha(table("1 2 3 4", "1 2 3 4"), "interval") == 1
    assert (alpha(table("1 2 1 2", "2 1 2 1"), "nominal") or 0) < 0


def test_bootstrap_is_seeded() -> None:
    """The interval holds alpha, and comes again from the same seed."""
    found = agreement(KRIPPENDORFF, "ordinal", seed=7)
    assert found == agreement(KRIPPENDORFF, "ordinal", seed=7)
    assert found.low != agreement(KRIPPENDORFF, "ordinal", seed=8).low
    assert (found.low or 0) < (found.alpha or 0) < (found.high or 0)


def test_bootstrap_draws_whole_groups() -> None:
    """With one group there is nothing to draw, so no interval."""
    groups = np.zeros(len(KRIPPENDORFF), dtype=np.intp)
    found = agreement(KRIPPENDORFF, "ordinal", groups=groups)
    assert found.alpha is not None
    assert found.low is None


def test_negative_ratio_is_refused() -> None:
    """A ratio scale has no negative values."""
    with pytest.raises(ValueError, match="no negative"):
        alpha(table("-1 2", "1 2"), "ratio")


def test_unknown_metric_is_refused() -> None:
    """Only Krippendorff's four metrics."""
    with pytest.raises(ValueError, match="no such metric"):
        alpha(KRIPPENDORFF, "cardinal")  # type: ignore[arg-type]


def test_scale_gives_the_metric() -> None:
    """An evaluator's scale chooses the metric; unknown scales are intervals."""
    assert [metric_of(scale) for scale in ("binary", "ordinal", "count", "")] == [
        "nominal",
        "ordinal",
        "ratio",
        "interval",
    ]


cells = st.one_of(st.just(np.nan), st.integers(1, 5).map(float))
tables = st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=8).map(np.array)


@given(tables, st.sampled_from(METRICS), st.permutations(range(3)))
def test_order_does_not_matter(ratings: Floats, metric: Metric, order: list[int]) -> None:
    """The order of judges and of items changes nothing."""
    one, other = alpha(ratings, metric), alpha(ratings[::-1][:, order], metric)
    assert other == (None if one is None else pytest.approx(one))


@given(tables, st.sampled_from(["interval", "ordinal", "nominal"]), st.floats(0.5, 20))
def test_linear_scale_does_not_matter(ratings: Floats, metric: Metric, factor: float) -> None:
    """Doubling and shifting all ratings changes nothing but on a ratio scale."""
    one, other = alpha(ratings, metric), alpha(ratings * factor + 3, metric)
    assert other == (None if one is None else pytest.approx(one))


@given(tables, st.sampled_from(METRICS))
def test_alpha_is_at_most_one(ratings: Floats, metric: Metric) -> None:
    """Alpha never exceeds 1."""
    found = alpha(ratings, metric)
    assert found is None or found <= 1 + 1e-12


def verdicts(values: dict[str, list[float | None]]) -> pd.DataFrame:
    """Scores of one outcome in one arm, by judge and unit."""
    rows = [
        {"arm": "a", "unit": f"u{at}", "outcome": "o", "judge": judge, "value": value}
        for judge, column in values.items()
        for at, value in enumerate(column)
    ]
    return pd.DataFrame(rows).assign(scale="ordinal", reason="")


def test_severity() -> None:
    """A severe judge lies below the others on the same runs; gaps are counted."""
    dataset = dataset_of(verdicts({"mild": [4, 5, 3], "plain": [4, 4, 3], "severe": [2, 3, None]}))
    found = judging(dataset, dataset.cells("o"), resamples=0)
    rows = {row.judge: row for row in found.judges}
    assert min(rows.values(), key=lambda row: row.severity or 0).judge == "severe"
    assert rows["severe"].severity == pytest.approx((2 - 10 / 3 + 3 - 4) / 2)
    assert (rows["severe"].ratings, rows["severe"].missing, rows["severe"].mean) == (2, 1, 2.5)
    assert (rows["severe"].alpha_without or 0) > (found.agreement.alpha or 0)
    assert found.agreement.metric == "ordinal"


def test_alpha_by_arm() -> None:
    """Alpha is given for each arm too."""
    rows = verdicts({"x": [1, 2, 3], "y": [1, 2, 3]})
    other = verdicts({"x": [1, 2, 3], "y": [3, 2, 1]}).assign(arm="b")
    dataset = dataset_of(pd.concat([rows, other]))
    found = judging(dataset, dataset.cells("o"), resamples=0)
    assert found.by_arm["a"] == 1
    assert (found.by_arm["b"] or 0) < 0
