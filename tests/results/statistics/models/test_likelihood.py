"""The likelihood of a mixed model, by designs in place of units."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from orglab.results.statistics.models.likelihood import AlikeMixedLM


def parts(seed: int) -> dict[str, object]:
    """Unbalanced rows of twelve units, with an intercept and a slope that vary by unit."""
    draw = np.random.default_rng(seed)
    units = np.sort(draw.integers(0, 12, 70))
    arm = draw.choice([-0.5, 0.5], 70)
    groups = [np.flatnonzero(units == unit) for unit in np.unique(units)]
    mats = [[arm[rows][:, None] for rows in groups], [np.ones((len(rows), 1)) for rows in groups]]
    names = [[["0"] for _ in groups] for _ in mats]
    outcome = 1000 + arm + draw.normal(0, 1, 12)[units] + draw.normal(0, 1, 70)
    return {
        "endog": outcome,
        "exog": np.column_stack([np.ones(70), arm]),
        "groups": units,
        "exog_vc": VCSpec(["slope", "unit"], names, mats),
    }


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_that_of_statsmodels(seed: int, reml: bool) -> None:
    """Also of unbalanced rows far from 0, by REML and by ML."""
    theirs, ours = MixedLM(**parts(seed)), AlikeMixedLM(**parts(seed))
    theirs.cov_pen = None
    theirs.reml = ours.reml = reml
    for packed in ([0.5, 1.0], [1.5, 0.2], [0.01, 3.0]):
        expected = theirs.loglike(np.array(packed))
        assert ours.loglike(np.array(packed)) == pytest.approx(expected, abs=1e-6)


def test_no_variance_is_least_squares() -> None:
    """At 0 it is the likelihood of least squares, where statsmodels divides by 0."""
    ours = AlikeMixedLM(**parts(1))
    ours.reml = False
    rest = ours.endog - ours.exog @ np.linalg.lstsq(ours.exog, ours.endog, rcond=None)[0]
    expected = -35 * (np.log(2 * np.pi * (rest @ rest) / 70) + 1)
    assert ours.loglike(np.zeros(2)) == pytest.approx(expected, abs=1e-9)


def test_units_that_are_alike_are_done_once() -> None:
    """As many designs as there are different ones, whatever the number of units."""
    units = np.repeat(np.arange(50), 2)
    arm = np.tile([-0.5, 0.5], 50)
    ones = [np.ones((2, 1))] * 50
    spec = VCSpec(["unit"], [[["0"]] * 50], [ones])
    exog = np.column_stack([np.ones(100), arm])
    outcome = np.random.default_rng(1).normal(0, 1, 100)
    model = AlikeMixedLM(outcome, exog, groups=units, exog_vc=spec)
    assert [each.units for each in model._designs()] == [50]
