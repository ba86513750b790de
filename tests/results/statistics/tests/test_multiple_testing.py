"""Correction within a declared family."""

from __future__ import annotations

import itertools
import json

import pandas as pd
import pytest
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from orglab.results.statistics.tests.multiple_testing import Correction, adjusted

CASE = case_folder("55-stats-correction-with-missing-p")
probabilities = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)


def test_holm() -> None:
    """Holm's step-down in the order given."""
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_case_55() -> None:
    """Case 55: a missing p stays missing, and the family's size is what was declared."""
    expected = json.loads((CASE / "expected.json").read_text(encoding="utf-8"))
    table = pd.read_csv(CASE / "pvalues.csv")
    ps = [None if pd.isna(p) else float(p) for p in table["p"]]
    order = dict(zip(table["metric"], range(len(ps)), strict=True))

    def found(method: Correction, size: int) -> list[float | None]:
        values = adjusted(ps, method, size=size)
        assert values[order["hedges"]] is None
        return [values[order[name]] for name in expected["order"]]

    assert found("holm", 4) == pytest.approx(expected["holm_m4"], abs=1e-6)
    assert found("bonferroni", 4) == pytest.approx(expected["bonferroni_m4"], abs=1e-6)
    assert found("bh", 4) == pytest.approx(expected["bh_m4"], abs=1e-6)
    assert found("bh", 5) == pytest.approx(expected["bh_m5"], abs=1e-6)
    declared = adjusted(ps)
    assert declared == [
        pytest.approx(0.005), pytest.approx(0.08), None, pytest.approx(0.12), pytest.approx(0.6)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ps", "expected"), [([], []), ([0.2], [0.2]), ([None, None], [None, None])]
)
def test_small_families(ps: list[float | None], expected: list[float | None]) -> None:
    """An empty family, one p and all missing do not crash."""
    assert adjusted(ps) == expected


@pytest.mark.parametrize(
    ("method", "theirs"), [("holm", "holm"), ("bh", "fdr_bh"), ("bonferroni", "bonferroni")]
)
def test_agrees_with_statsmodels(method: Correction, theirs: str) -> None:
    """All methods agree with statsmodels, ties and all."""
    ps = [0.01, 0.04, 0.04, 0.001, 0.7, 0.02, 0.02]
    assert adjusted(ps, method) == pytest.approx(multipletests(ps, method=theirs)[1].tolist())


@pytest.mark.parametrize("p", [-0.01, 1.01, float("nan")])
def test_impossible_p_is_refused(p: float) -> None:
    """A p outside 0 to 1 is refused, NaN too."""
    with pytest.raises(ValueError, match="outside 0 to 1"):
        adjusted([0.5, p])


def test_family_too_small_is_refused() -> None:
    """A family cannot have more p-values than declared tests."""
    with pytest.raises(ValueError, match="3 p-values in a family of 2"):
        adjusted([0.1, 0.2, 0.3], size=2)


@given(probabilities, st.integers(0, 5))
def test_holm_is_never_below_p_and_keeps_the_order(ps: list[float | None], more: int) -> None:
    """Adjusted values are at least p, at most 1, and in the order of p; missing ones stay."""
    found = adjusted(ps, size=len(ps) + more)
    assert [p is None for p in ps] == [p is None for p in found]
    known = sorted(
        (p, q) for p, q in zip(ps, found, strict=True) if p is not None and q is not None
    )
    assert all(p - 1e-12 <= q <= 1 for p, q in known)
    assert all(a[1] <= b[1] + 1e-12 for a, b in itertools.pairwise(known))


@given(probabilities)
def test_a_missing_p_changes_no_other(ps: list[float | None]) -> None:
    """A test that could not be made counts like one that found nothing."""
    found = adjusted(ps)
    filled = adjusted([1.0 if p is None else p for p in ps])
    for p, q, r in zip(ps, found, filled, strict=True):
        assert p is None or q == r
