"""Effects without each judge and each unit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.models.leave_one_out import without_each_judge, without_each_unit
from orglab.results.statistics.tests.paired import paired_t


def dataset(first: dict[str, list[float]], second: dict[str, list[float]]) -> Dataset:
    """Two arms, scores by judge ("" for none) and unit."""
    rows = [
        {"arm": arm, "unit": f"u{at:02}", "outcome": "o", "judge": judge, "value": value}
        for arm, table in (("a", first), ("b", second))
        for judge, column in table.items()
        for at, value in enumerate(column)
    ]
    return dataset_of(pd.DataFrame(rows))


def test_without_each_judge() -> None:
    """A judge on whom the effect hangs is found, with the turned sign and the lost significance."""
    zero = [0.0] * 6
    made = dataset(
        {"fan": [9.0, 8, 9, 8, 9, 8], "x": [-1.0, -2, -1, -2, -1, -2]}, {"fan": zero, "x": zero}
    )
    found = without_each_judge(made.cells("o"), "a", "b")
    assert (found.full.difference or 0) > 0
    assert found.sign_flips == ("fan",)
    assert found.smallest is not None
    assert found.smallest.left_out == "fan"
    assert found.largest is not None
    assert found.largest.left_out == "x"
    assert found.rows[0].difference == pytest.approx(-1.5)


def test_significance_flips() -> None:
    """A unit whose absence makes the effect significant is named."""
    d = [1.0, 1.1, 0.9, 1.2, 0.8, -2.0]
    made = dataset({"": d}, {"": [0.0] * 6})
    found = without_each_unit(made.cells("o"), "a", "b")
    assert found.significance_flips == ("u05",)
    assert found.sign_flips == ()


@pytest.mark.parametrize(
    ("judges", "why"),
    [({"": [1.0, 2.0, 4.0]}, "no judge"), ({"j": [1.0, 2.0, 4.0]}, "one judge only")],
)
def test_no_judge_to_leave_out(judges: dict[str, list[float]], why: str) -> None:
    """Without two judges none can be left out, and that is told."""
    found = without_each_judge(dataset(judges, judges).cells("o"), "a", "b")
    assert (found.rows, found.smallest) == ((), None)
    assert why in found.why


def test_two_units_are_too_few() -> None:
    """Without a third pair nothing is left to test."""
    found = without_each_unit(dataset({"": [1.0, 2.0]}, {"": [0.0, 0.0]}).cells("o"), "a", "b")
    assert found.why == "fewer than three pairs"


scores = st.integers(-300, 300).map(lambda value: value / 100)


@given(st.lists(scores, min_size=3, max_size=12))
def test_each_row_is_the_test_without_that_unit(d: list[float]) -> None:
    """The sums that skip a unit give what the test without it gives."""
    found = without_each_unit(dataset({"": d}, {"": [0.0] * len(d)}).cells("o"), "a", "b")
    for at, row in enumerate(found.rows):
        left = np.delete(np.array(d), at)
        test = paired_t(left, np.zeros(len(left)))
        assert row.difference == pytest.approx(test.difference, abs=1e-12)
        assert row.p == (None if test.p is None else pytest.approx(test.p, abs=1e-9))
