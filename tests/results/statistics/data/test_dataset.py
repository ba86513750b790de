"""Tables read into cells, and arms paired by unit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from case_files import case_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from orglab.results.statistics.data.cells import unit_means
from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.data.pairing import missing, pair
from orglab.results.statistics.errors import DatasetError, PlanError
from orglab.results.statistics.tests.paired import paired_t


def case(name: str) -> dict[str, Any]:
    """The expected values of a case."""
    found: dict[str, Any] = json.loads((case_folder(name) / "expected.json").read_text("utf-8"))
    return found


def rows(*values: tuple[Any, ...]) -> pd.DataFrame:
    """Scores from (arm, unit, replicate, judge, value)."""
    table = pd.DataFrame(values, columns=["arm", "unit", "replicate", "judge", "value"])
    return table.assign(outcome="o")


def test_case_61() -> None:
    """Case 61: gaps are not 0; each arm over what it has, the difference over the pairs."""
    expected = case("61-stats-missing-judge-scores")
    wide = pd.read_csv(case_folder("61-stats-missing-judge-scores") / "scores.csv")
    table = wide.melt(id_vars="item", var_name="arm").rename(columns={"item": "unit"})
    dataset = dataset_of(table.assign(outcome="score", reason="unreadable"))
    cells = dataset.cells("score")
    for arm, n in (("solo", 7), ("trio", 6)):
        means = unit_means(cells.of(arm))
        assert np.isfinite(means).sum() == n
        assert np.nanmean(means) == pytest.approx(expected[f"mean_{arm}"], abs=1e-6)
    pairs = pair(cells, "trio", "solo")
    test = paired_t(pairs.first, pairs.second)
    assert test.n == expected["n_pairs"]
    assert test.difference == pytest.approx(expected["mean_diff"])
    assert (test.statistic, test.p) == pytest.approx((expected["t"], expected["p"]), abs=1e-6)
    gaps = missing(dataset, cells, "trio")
    assert (gaps.units, gaps.rate, gaps.why) == (("i1", "i6"), 0.25, {"unreadable": 2})


def test_case_64() -> None:
    """Case 64: repeats are averaged; the error comes from six items, not from thirty rows."""
    expected = case("64-stats-repeats-not-independent")
    table = pd.read_csv(case_folder("64-stats-repeats-not-independent") / "scores.csv")
    table = table.rename(columns={"item": "unit", "repeat": "replicate", "score": "value"})
    dataset = dataset_of(table.assign(arm="solo", outcome="score"))
    means = unit_means(dataset.cells("score").of("solo"))
    assert (len(means), len(dataset.axes.replicates)) == (6, 5)
    assert means.mean() == pytest.approx(expected["mean"])
    assert means.std(ddof=1) / 6**0.5 == pytest.approx(expected["se_items"], abs=5e-7)


def test_case_65() -> None:
    """Case 65: pairs by key; equal duplicates dropped and counted; no partner is told."""
    expected = case("65-stats-pairing-by-key")
    table = pd.read_csv(case_folder("65-stats-pairing-by-key") / "results.csv")
    names = {"item": "unit", "team": "arm", "repeat": "replicate", "score": "value"}
    dataset = dataset_of(table.rename(columns=names).assign(outcome="score"))
    pairs = pair(dataset.cells("score"), "trio", "solo")
    test = paired_t(pairs.first, pairs.second)
    assert (test.n, dataset.duplicates) == (expected["n_pairs"], expected["duplicates"])
    assert test.difference == pytest.approx(expected["mean_diff"])
    assert (test.statistic, test.p) == pytest.approx((expected["t"], expected["p"]), abs=1e-6)
    gaps = missing(dataset, dataset.cells("score"), "trio")
    assert (list(gaps.units), gaps.why) == (expected["unpaired"], {"not run": 1})


def test_duplicates_that_differ_are_refused() -> None:
    """A value written twice with two values is an error that names the cell and both."""
    table = rows(("a", "u", 0, "j", 1.0), ("a", "u", 0, "j", 2.0))
    with pytest.raises(DatasetError, match=r"arm a, unit u, replicate 0.* judge j: 1.0 and 2.0"):
        dataset_of(table)


def test_missing_column_is_named() -> None:
    """A table without a needed column is refused by the column's name."""
    with pytest.raises(DatasetError, match="scores have no column outcome, value"):
        dataset_of(pd.DataFrame({"arm": [], "unit": []}))


def test_text_is_no_value() -> None:
    """A value that is no number is refused."""
    with pytest.raises(DatasetError, match="no number"):
        dataset_of(rows(("a", "u", 0, None, "good")))


def test_infinite_values_are_missing() -> None:
    """A value that is not finite counts as missing."""
    dataset = dataset_of(rows(("a", "u", 0, None, float("inf")), ("a", "v", 0, None, 1.0)))
    assert missing(dataset, dataset.cells("o"), "a").units == ("u",)


def test_nullable_columns_of_the_store() -> None:
    """Tables with pandas' own missing values, as the store makes them, are read alike."""
    table = rows(("a", "u", 0, None, 1.0), ("a", "v", 0, None, None)).astype(
        {
            "arm": "string",
            "unit": "string",
            "replicate": "Int64",
            "judge": "string",
            "value": "Float64",
        }
    )
    dataset = dataset_of(table)
    assert np.isfinite(dataset.cells("o").values).sum() == 1
    assert not dataset.cells("o").judged


def test_like_is_compared_with_like() -> None:
    """A judge missing under one arm is left out under the other, so severity is no effect."""
    table = rows(
        ("a", "u", 0, "mild", 5.0),
        ("a", "u", 0, "severe", 1.0),
        ("b", "u", 0, "mild", 5.0),
        ("b", "u", 0, "severe", None),
    )
    pairs = pair(dataset_of(table).cells("o"), "a", "b")
    assert (pairs.first.tolist(), pairs.second.tolist(), pairs.unmatched) == ([5.0], [5.0], 1)


def test_replicates_weigh_alike() -> None:
    """Judges are averaged within a replicate first, then replicates, however many judges each had."""
    table = rows(("a", "u", 0, "x", 1.0), ("a", "u", 0, "y", 3.0), ("a", "u", 1, "x", 6.0))
    assert unit_means(dataset_of(table).cells("o").of("a")).tolist() == [4.0]


def runs(*values: tuple[Any, ...]) -> pd.DataFrame:
    """Runs from (arm, unit, status, reason)."""
    return pd.DataFrame(values, columns=["arm", "unit", "status", "reason"])


def test_runs_that_did_not_complete_count_for_nothing() -> None:
    """A score of a stopped run is out, and the reason is the run's."""
    table = rows(("a", "u", 0, None, 1.0), ("b", "u", 0, None, 2.0))
    states = runs(("a", "u", "stopped", "40 turns"), ("b", "u", "completed", ""))
    dataset = dataset_of(table, states)
    assert pair(dataset.cells("o"), "a", "b").units == ()
    assert missing(dataset, dataset.cells("o"), "a").why == {"stopped: 40 turns": 1}


def test_planned_units_without_a_run() -> None:
    """A unit that one arm has not run yet is missing there."""
    states = runs(
        ("a", "u", "completed", ""), ("a", "v", "completed", ""), ("b", "u", "running", "")
    )
    dataset = dataset_of(rows(("a", "u", 0, None, 1.0)), states)
    assert missing(dataset, dataset.cells("o"), "b").why == {"not run": 1, "running": 1}
    assert missing(dataset, dataset.cells("o"), "a").why == {"no score": 1}


def test_two_rows_for_one_run_are_refused() -> None:
    """A run has one row."""
    states = runs(("a", "u", "completed", ""), ("a", "u", "failed", ""))
    with pytest.raises(DatasetError, match="two rows for one run: arm a, unit u"):
        dataset_of(rows(("a", "u", 0, None, 1.0)), states)


def test_panel_that_failed_whole() -> None:
    """A row without a judge and without a value is a gap, not an outcome of another kind."""
    table = rows(("a", "u", 0, "j", 4.0), ("a", "v", 0, None, None)).assign(reason="panel failed")
    dataset = dataset_of(table)
    assert dataset.cells("o").judges == ("j",)
    assert missing(dataset, dataset.cells("o"), "a").why == {"panel failed": 1}


def test_judged_and_unjudged_values_do_not_mix() -> None:
    """One outcome cannot have values of judges and values of none."""
    with pytest.raises(DatasetError, match="without a judge"):
        dataset_of(rows(("a", "u", 0, "j", 4.0), ("a", "v", 0, None, 3.0)))


def test_one_scale_an_outcome() -> None:
    """An outcome has one scale."""
    table = rows(("a", "u", 0, None, 4.0), ("a", "v", 0, None, 3.0)).assign(
        scale=["ratio", "count"]
    )
    with pytest.raises(DatasetError, match="more than one scale: count, ratio"):
        dataset_of(table)


def test_columns_of_runs_are_outcomes_too() -> None:
    """A numeric column of the runs can be asked for; runs that failed are out."""
    states = runs(("a", "u", "completed", ""), ("a", "v", "failed", "")).assign(loops=[2, 9])
    dataset = dataset_of(rows(("a", "u", 0, None, 1.0)), states)
    assert unit_means(dataset.cells("loops").of("a"))[0] == 2
    assert np.isnan(unit_means(dataset.cells("loops").of("a"))[1])
    with pytest.raises(PlanError, match="no outcome and no column of the runs is named 'x'"):
        dataset.cells("x")
    with pytest.raises(PlanError, match="no arm 'z'"):
        dataset.cells("o").of("z")


PARTS: dict[str, float | None] = {"x": 1.0, "y": 2.0, "z": 6.0}


def parts(values: dict[str, float | None], judge: str | None = None) -> pd.DataFrame:
    """One unit's outcomes."""
    return pd.DataFrame(
        [
            {"arm": "a", "unit": "u", "outcome": name, "judge": judge, "value": value}
            for name, value in values.items()
        ]
    )


def composed(table: pd.DataFrame, composites: dict[str, list[str]]) -> Dataset:
    """A study with composites."""
    return dataset_of(table, composites=composites)


def test_composites_nest() -> None:
    """A composite is the mean of its parts, which may be composites."""
    dataset = composed(parts(PARTS), {"both": ["x", "y"], "final": ["both", "z"]})
    assert dataset.cells("final").values.item() == 3.75


def test_composites_in_any_order() -> None:
    """A composite may be declared before its parts."""
    dataset = composed(parts(PARTS), {"final": ["both", "z"], "both": ["x", "y"]})
    assert dataset.cells("final").values.item() == 3.75


def test_missing_part_makes_it_missing() -> None:
    """Without one part there is no composite."""
    dataset = composed(parts({**PARTS, "y": None}), {"both": ["x", "y"], "final": ["both", "z"]})
    assert np.isnan(dataset.cells("final").values.item())


def test_composite_of_a_verdict_and_a_measure() -> None:
    """Parts with and without judges are joined by their means over judges."""
    table = pd.concat([parts({"x": 1.0}, "j"), parts({"x": 3.0}, "k"), parts({"y": 4.0})])
    dataset = composed(table, {"both": ["x", "y"]})
    assert dataset.cells("both").values.item() == 3.0
    assert not dataset.cells("both").judged


@pytest.mark.parametrize(
    ("composites", "match"),
    [
        ({"c": ["x", "nope"]}, "'c' has no such part: 'nope'; there are x, y, z"),
        ({"c": ["d"], "d": ["c"]}, "contains itself: c > d > c"),
        ({"x": ["y"]}, "'x' has the name of an outcome"),
        ({"c": []}, "composite 'c' has no such part"),
    ],
)
def test_wrong_composites_are_refused(composites: dict[str, list[str]], match: str) -> None:
    """Unknown parts, circles and taken names are refused."""
    with pytest.raises(PlanError, match=match):
        composed(parts(PARTS), composites)


values = st.one_of(st.none(), st.integers(1, 5).map(float))


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from("uvw"), st.integers(0, 1), st.sampled_from("jk")
        ),
        values,
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_rows_and_repeats_do_not_matter(cells: dict[Any, Any], random: Any) -> None:
    """Rows in any order, and written twice, give the same pairs."""
    table = [(*key, value) for key, value in cells.items()]
    both = [("a", "z", 0, "j", 1.0), ("b", "z", 0, "j", 2.0)]
    shuffled = [*table, *both, *table]
    random.shuffle(shuffled)
    one = pair(dataset_of(rows(*table, *both)).cells("o"), "a", "b")
    other = pair(dataset_of(rows(*shuffled)).cells("o"), "a", "b")
    assert one.units == other.units
    assert one.first.tolist() == other.first.tolist()
    back = pair(dataset_of(rows(*shuffled)).cells("o"), "b", "a")
    assert back.first.tolist() == one.second.tolist()
