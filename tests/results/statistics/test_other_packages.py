"""The same figures as public packages give, where those are installed (group ``compare``)."""

from __future__ import annotations

import warnings
from types import ModuleType

import numpy as np
import pytest

from orglab.results.statistics.agreement.krippendorff import Metric, alpha
from orglab.results.statistics.tests.paired import paired_t
from orglab.results.statistics.tests.wilcoxon import wilcoxon

GENERATOR = np.random.default_rng(17)
FIRST = GENERATOR.normal(0.4, 1, 30)
SECOND = GENERATOR.normal(0, 1.3, 30)
RATINGS = np.where(GENERATOR.random((40, 4)) < 0.2, np.nan, GENERATOR.integers(1, 6, (40, 4)))


def package(name: str) -> ModuleType:
    """An optional package; its own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: ModuleType = pytest.importorskip(name)
    return found


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_as_krippendorff(metric: Metric) -> None:
    """Alpha with gaps on every metric, as the package krippendorff has it."""
    theirs = package("krippendorff").alpha(reliability_data=RATINGS.T, level_of_measurement=metric)
    assert alpha(RATINGS, metric) == pytest.approx(theirs)


def test_paired_t_as_pingouin() -> None:
    """The same t, p and interval as pingouin; its d is d_av with the root mean square of the SDs."""
    pingouin = package("pingouin")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = pingouin.ttest(FIRST, SECOND, paired=True).iloc[0]
    ours = paired_t(FIRST, SECOND)
    p = next(row[name] for name in ("p-val", "p_val") if name in row)
    interval = next(row[name] for name in ("CI95%", "CI95") if name in row)
    assert ours.statistic == pytest.approx(row["T"])
    assert ours.p == pytest.approx(p)
    assert [ours.low, ours.high] == pytest.approx(list(interval), abs=0.006)  # it rounds
    d = (FIRST - SECOND).mean() / np.sqrt((FIRST.var(ddof=1) + SECOND.var(ddof=1)) / 2)
    size = next(row[name] for name in ("cohen-d", "cohen_d") if name in row)
    assert abs(d) == pytest.approx(size)


def test_wilcoxon_as_pingouin() -> None:
    """The same W, p and rank-biserial correlation as pingouin, without ties."""
    pingouin = package("pingouin")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = pingouin.wilcoxon(FIRST, SECOND, method="exact").iloc[0]
    ours = wilcoxon(FIRST - SECOND)
    values = {str(name).replace("_", "-").lower(): value for name, value in row.items()}
    assert ours.statistic == values["w-val"]
    assert ours.p == pytest.approx(values["p-val"])
    assert ours.rank_biserial == pytest.approx(values["rbc"])
