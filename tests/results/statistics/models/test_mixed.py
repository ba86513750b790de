"""The mixed model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
from case_files import case_folder

from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.models.mixed import mixed_model
from orglab.results.statistics.models.sensitivity import mixed_effect
from orglab.results.statistics.plan import Contrast
from orglab.results.statistics.tests.paired import paired_t

CASE = case_folder("56-stats-mixedlm-boundary")
DIETOX = Path(statsmodels.__file__).parent / "regression/tests/results/dietox.csv"
SLEEP_A = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_B = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
CONTRAST = Contrast(arm="b", reference="a")


@pytest.mark.skipif(not DIETOX.exists(), reason="this statsmodels does not ship the table")
def test_dietox() -> None:
    """R's dietox, Weight on Time, pigs as random intercepts, REML."""
    table = pd.read_csv(DIETOX)
    pigs = pd.factorize(table["Pig"])[0]
    found = mixed_model(
        table["Weight"].to_numpy(float), table[["Time"]].to_numpy(float), ["time"], pigs
    )
    estimates = [one.estimate for one in found.coefficients]
    assert estimates == pytest.approx([15.723523, 6.942505], abs=5e-6)
    assert [one.error for one in found.coefficients] == pytest.approx(
        [0.788054, 0.033387], abs=5e-6
    )
    assert found.variances is not None
    assert found.variances["residual"] == pytest.approx(11.36692, abs=5e-5)
    assert found.variances["unit"] == pytest.approx(40.39395, abs=5e-4)
    assert (found.converged, found.optimiser, found.df) == (True, "powell", 71)


def test_case_56() -> None:
    """Case 56: at the boundary the estimates equal least squares, and the boundary is named."""
    expected = json.loads((CASE / "expected.json").read_text(encoding="utf-8"))
    table = pd.read_csv(CASE / "scores.csv")
    team, hard = (table["team"] == "trio").to_numpy(float), table["hard"].to_numpy(float)
    found = mixed_model(
        table["score"].to_numpy(float),
        np.column_stack([team, hard, team * hard]),
        ["team", "hard", "interaction"],
        pd.factorize(table["item"])[0],
        balanced=True,
    )
    fixed = [one.estimate for one in found.coefficients]
    assert fixed == pytest.approx(list(expected["fixed"].values()), abs=1e-6)
    errors = [one.error for one in found.coefficients]
    assert errors == pytest.approx(list(expected["se"].values()), abs=1e-5)
    assert found.variances is not None
    assert (found.variances["unit"], found.boundary) == (0.0, ("unit",))
    assert (found.converged, found.agrees) == (True, True)


def scores(values: dict[str, np.ndarray], judges: int = 1) -> Dataset:
    """A study of two arms: values by arm, unit, replicate and judge."""
    rows = [
        {
            "arm": arm,
            "unit": f"u{unit:02}",
            "replicate": replicate,
            "outcome": "o",
            "judge": f"j{judge}" if judges > 1 else None,
            "value": value,
        }
        for arm, table in values.items()
        for (unit, replicate, judge), value in np.ndenumerate(table)
    ]
    return dataset_of(pd.DataFrame(rows))


def test_one_row_a_unit_and_arm_is_the_paired_t() -> None:
    """On unit means the model is the paired t: same error, and p from t with n - 1."""
    made = scores({"a": np.reshape(SLEEP_A, (10, 1, 1)), "b": np.reshape(SLEEP_B, (10, 1, 1))})
    found = mixed_effect(made, "o", CONTRAST)
    paired = paired_t(SLEEP_B, SLEEP_A)
    arm = found.model.coefficients[1]
    assert (arm.estimate, arm.statistic, arm.p) == pytest.approx(
        (paired.difference, paired.statistic, paired.p), rel=1e-5
    )
    assert (found.rows_are, found.structure) == ("unit means", "random intercept by unit")


def simulated(units: int, judges: int, replicates: int = 1) -> dict[str, np.ndarray]:
    """Scores with an effect that varies by unit, and severe judges."""
    generator = np.random.default_rng(5)
    base = generator.normal(3, 0.5, (units, 1, 1)) + generator.normal(0, 0.4, (1, 1, judges))
    slope = generator.normal(0.2, 0.4, (units, 1, 1))
    shape = (units, replicates, judges)
    return {
        "a": base + generator.normal(0, 0.3, shape),
        "b": base + slope + generator.normal(0, 0.3, shape),
    }


def test_judges_cross_the_units() -> None:
    """Verdict rows get a slope by unit and a crossed judge; balanced, the error is the paired t's."""
    values = simulated(12, 3)
    found = mixed_effect(scores(values, 3), "o", CONTRAST)
    assert found.rows_are == "verdicts"
    assert "judge, crossed" in found.structure
    assert found.model.variances is not None
    assert set(found.model.variances) == {"unit", "slope", "judge", "residual"}
    paired = paired_t(values["b"].mean(axis=(1, 2)), values["a"].mean(axis=(1, 2)))
    assert found.model.coefficients[1].p == pytest.approx(paired.p, rel=1e-2)
    assert found.model.agrees is True


def test_many_units_take_judges_as_fixed() -> None:
    """Where crossing is too large the judges are fixed effects, and it is said."""
    found = mixed_effect(scores(simulated(80, 2), 2), "o", CONTRAST)
    assert "judges as fixed effects" in found.structure
    assert [one.name for one in found.model.coefficients] == ["intercept", "b - a", "judge j1"]


def test_replicates_get_a_slope() -> None:
    """With replicates the arm's effect varies by unit."""
    found = mixed_effect(scores(simulated(10, 1, replicates=3)), "o", CONTRAST)
    assert (found.rows_are, "slope" in found.structure) == ("runs", True)


@pytest.mark.parametrize(
    ("outcome", "arm", "units", "why"),
    [
        ([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1], [0, 0, 0, 0], "one unit only"),
        ([1.0, 2.0, 3.0], [0, 1, 0], [0, 0, 1], "too few"),
        ([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1], [0, 0, 1, 1], "do not vary"),
        ([1.0, 2.0, 1.0, 2.0], [0, 1, 0, 1], [0, 0, 1, 1], "no variation"),
    ],
)
def test_no_fit_with_a_reason(
    outcome: list[float], arm: list[int], units: list[int], why: str
) -> None:
    """What cannot be fitted has no coefficients and a reason."""
    found = mixed_model(
        np.array(outcome), np.array([arm], dtype=float).T, ["arm"], np.array(units, dtype=np.intp)
    )
    assert found.coefficients == ()
    assert why in found.why


def test_too_many_units() -> None:
    """A table too large for the library is not fitted, and that is told."""
    units = np.repeat(np.arange(2600), 2)
    arm = np.tile([0.0, 1.0], 2600)
    values = np.random.default_rng(0).normal(size=5200)
    assert "too many" in mixed_model(values, arm[:, None], ["arm"], units).why
