"""Least squares, covariates and dose-response."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.models.regression import dose_response, least_squares, spearman
from orglab.results.statistics.models.sensitivity import adjusted_difference
from orglab.results.statistics.plan import DosePlan

SLEEP_D = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
COVARIATE = [3.0, -1.0, 2.0, 0.0, -2.0, 1.0, 4.0, -3.0, 5.0, 1.0]
DIETOX = Path(statsmodels.__file__).parent / "regression/tests/results/dietox.csv"


def test_covariate_partialled_out() -> None:
    """The intercept is the difference at no difference in the covariate."""
    found = adjusted_difference(SLEEP_D, {"words": COVARIATE})
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx(1.276667, abs=5e-7)
    assert found.difference.error == pytest.approx(0.343594, abs=5e-7)
    assert found.difference.p == pytest.approx(0.005908, abs=5e-7)
    assert found.df == 8
    assert found.slopes[0].name == "words"


@pytest.mark.skipif(not DIETOX.exists(), reason="this statsmodels does not ship the table")
def test_clustered_errors() -> None:
    """Dietox by pig: errors clustered by pig, t with 71 degrees of freedom."""
    table = pd.read_csv(DIETOX)
    pigs = pd.factorize(table["Pig"])[0]
    found = least_squares(
        table["Weight"].to_numpy(float), table[["Time"]].to_numpy(float), ["time"], clusters=pigs
    )
    assert [one.error for one in found.coefficients] == pytest.approx(
        [0.547819, 0.080787], abs=5e-7
    )
    assert (found.df, found.clusters, found.errors) == (71, 72, "clustered by unit")


@pytest.mark.parametrize(
    ("covariates", "why"),
    [
        ({"words": [2.0] * 10}, "words does not vary"),
        ({"words": COVARIATE, "chars": [2 * x for x in COVARIATE]}, "are collinear"),
    ],
)
def test_covariates_that_say_nothing(covariates: dict[str, list[float]], why: str) -> None:
    """A constant or redundant covariate gives no estimate, and a reason."""
    found = adjusted_difference(SLEEP_D, covariates)
    assert found.difference is None
    assert why in found.why


def test_too_few_rows() -> None:
    """Two rows do not bear two coefficients."""
    assert "too few" in adjusted_difference([1.0, 2.0], {"w": [1.0, 2.0]}).why


def test_exact_fit_has_no_p() -> None:
    """Where the covariate gives the difference to rounding, p would be an artefact."""
    found = adjusted_difference([2 * x + 1 for x in COVARIATE], {"words": COVARIATE})
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx(1)
    assert found.difference.p is None
    assert "to rounding" in found.why


def test_one_cluster() -> None:
    """One cluster has no clustered error."""
    clusters = np.zeros(10, dtype=np.intp)
    found = least_squares(np.array(SLEEP_D), np.array([COVARIATE]).T, ["x"], clusters=clusters)
    assert found.why == "one cluster only"


@given(st.permutations(range(10)))
def test_order_of_pairs_does_not_matter(order: list[int]) -> None:
    """The order of the units changes nothing."""
    found = adjusted_difference(
        [SLEEP_D[at] for at in order], {"words": [COVARIATE[at] for at in order]}
    )
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx(1.276667, abs=5e-7)


def test_spearman_with_ties() -> None:
    """Mid-ranks, p from t."""
    found = spearman(np.array([0.0, 0, 1, 1, 2, 2]), np.array([5.0, 4, 4, 3, 2, 2]))
    assert found.rho == pytest.approx(-15 / (16 * 16.5) ** 0.5)  # by hand
    assert found.n == 6


def test_spearman_without_variation() -> None:
    """A constant dose has no correlation, and a reason."""
    found = spearman(np.zeros(5), np.arange(5.0))
    assert (found.rho, found.p) == (None, None)
    assert "no variation" in found.why
    assert "too few" in spearman(np.arange(2.0), np.arange(2.0)).why


def dataset(loops: list[int], clarity: list[float], replicates: int = 1) -> Dataset:
    """Runs of one arm with their loops and one score each."""
    keys = [
        {"arm": "deep", "unit": f"u{at // replicates:02}", "replicate": at % replicates}
        for at in range(len(loops))
    ]
    scores = pd.DataFrame(
        [key | {"outcome": "clarity", "value": v} for key, v in zip(keys, clarity, strict=True)]
    )
    runs = pd.DataFrame([key | {"loops": n} for key, n in zip(keys, loops, strict=True)])
    return dataset_of(scores, runs.assign(status="completed", reason="", words=range(len(runs))))


LOOPS = [0, 1, 2, 0, 1, 2, 2, 0]
CLARITY = [4.1, 3.9, 3.4, 4.4, 3.8, 3.5, 3.3, 4.0]
PLAN = DosePlan(outcome="clarity", dose="loops", within="deep")


def test_dose_response() -> None:
    """One row a unit: slope, errors of both kinds, and the label."""
    found = dose_response(dataset(LOOPS, CLARITY), PLAN)
    slope = found.classical.coefficients[1]
    assert slope.estimate == pytest.approx(np.polyfit(LOOPS, CLARITY, 1)[0])
    assert found.clustered.coefficients[1].estimate == pytest.approx(slope.estimate)
    assert found.label == "correlational"
    assert (found.spearman.rho or 0) < -0.8
    assert found.left_out == 0


def test_replicates_are_averaged_for_the_ranks() -> None:
    """Spearman and classical errors count units; clustered ones count runs in their units."""
    found = dose_response(dataset(LOOPS, CLARITY, replicates=2), PLAN)
    assert (found.spearman.n, found.classical.n) == (4, 4)
    assert (found.clustered.n, found.clustered.clusters) == (8, 4)


def test_random_loops_are_labelled() -> None:
    """A dose drawn by chance is not called correlational."""
    plan = DosePlan(
        outcome="clarity", dose="loops", within="deep", covariates=("words",), randomised=True
    )
    found = dose_response(dataset(LOOPS, CLARITY), plan)
    assert found.label == "randomised dose"
    assert [one.name for one in found.classical.coefficients] == ["intercept", "loops", "words"]


def test_dose_without_variation() -> None:
    """Where every run had the same loops there is no slope."""
    found = dose_response(dataset([1] * 8, CLARITY), PLAN)
    assert found.classical.why == "loops does not vary"
    assert found.clustered.coefficients == ()


def test_unknown_dose() -> None:
    """A dose that no table holds is the plan's fault."""
    plan = DosePlan(outcome="clarity", dose="lops", within="deep")
    with pytest.raises(PlanError, match="'lops'"):
        dose_response(dataset(LOOPS, CLARITY), plan)


def test_one_cluster_that_alone_decides_a_coefficient_has_no_error() -> None:
    """Its variance is 0, or negative by rounding: no error, no test, and no warning."""
    outcome = np.array([2.25, 2.75, 3.25, 3.25, 2.75, 4.25, 4.25])
    dose = np.array([[2.0], [2], [2], [2], [2], [0], [2]])
    fit = least_squares(outcome, dose, ["dose"], clusters=np.arange(7))
    intercept = fit.coefficients[0]
    assert intercept.estimate == pytest.approx(4.25)
    assert intercept.error is None or intercept.error < 1e-6
    assert fit.coefficients[1].error is not None
