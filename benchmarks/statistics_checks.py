"""Do the statistics keep their promises? Simulated experiments with a known truth.

    python benchmarks/statistics_checks.py [--experiments 400]

Prints, for each check, the rate found, the Wilson interval of that rate and the rate promised; then
the time that the whole analysis takes. Everything here is simulated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from orglab.results.statistics.analysis import analyse
from orglab.results.statistics.models.mixed import mixed_model
from orglab.results.statistics.models.wilson import wilson
from orglab.results.statistics.plan import plan_of
from orglab.results.statistics.tests.paired import d_z_interval, equivalence, paired_t
from orglab.results.statistics.tests.power import power
from orglab.results.statistics.tests.wilcoxon import wilcoxon

Draw = np.random.Generator
Check = Callable[[Draw], bool]

CRITERIA = {
    "writing_clarity": ["structure", "coherence", "conciseness"],
    "utility": ["actionability", "root_cause", "strategic_depth"],
}


def rejects_t(draw: Draw, d_z: float = 0.0, pairs: int = 43) -> bool:
    """The paired t finds an effect."""
    p = paired_t(draw.normal(d_z, 1, pairs), np.zeros(pairs)).p
    return p is not None and p < 0.05


def rejects_scores(draw: Draw) -> bool:
    """The paired t on means of five judges' whole scores, 1 to 5, finds an effect."""
    base = draw.normal(3.5, 0.5, (43, 1, 1))
    scores = np.clip(np.rint(base + draw.normal(0, 0.7, (43, 5, 2))), 1, 5).mean(axis=1)
    p = paired_t(scores[:, 0], scores[:, 1]).p
    return p is not None and p < 0.05


def rejects_wilcoxon(draw: Draw) -> bool:
    """Wilcoxon on tied differences finds an effect."""
    p = wilcoxon(np.rint(draw.normal(0, 1.5, 20))).p
    return p is not None and p < 0.05


def covers(draw: Draw) -> bool:
    """The interval of d_z holds the true 0.42."""
    size = paired_t(draw.normal(0.42, 1, 43), np.zeros(43)).d_z or 0.0
    interval = d_z_interval(size, 43)
    return interval is not None and interval.low <= 0.42 <= interval.high


def calls_equivalent(draw: Draw) -> bool:
    """TOST calls arms equivalent whose difference lies just at the margin."""
    return bool(equivalence(draw.normal(0.5, 1, 43), np.zeros(43), margin=0.5).equivalent)


def rejects_mixed(draw: Draw, slope: bool) -> bool:
    """The mixed model over replicates finds an effect where there is none on average."""
    units = np.repeat(np.arange(12), 6)
    arm = np.tile(np.repeat([-0.5, 0.5], 3), 12)
    own = draw.normal(0, 1, 12)[units] + arm * draw.normal(0, 1, 12)[units]
    scores = own + draw.normal(0, 1, 72)
    fit = mixed_model(scores, arm[:, None], ["arm"], units, slope=arm if slope else None)
    p = fit.coefficients[1].p if fit.coefficients else None
    return p is not None and p < 0.05


CHECKS: dict[str, tuple[Check, float, int]] = {
    "paired t, null, 43 pairs": (rejects_t, 0.05, 10),
    "paired t, null, means of whole scores": (rejects_scores, 0.05, 10),
    "Wilcoxon, null, ties (at most)": (rejects_wilcoxon, 0.05, 10),
    "paired t, power at d_z 0.42": (lambda d: rejects_t(d, 0.42), power(0.42, 43), 10),
    "interval of d_z holds the truth": (covers, 0.95, 10),
    "TOST at its margin": (calls_equivalent, 0.05, 10),
    "mixed model with slope, null varying by unit": (lambda d: rejects_mixed(d, True), 0.05, 1),
    "mixed model without slope (never used so)": (lambda d: rejects_mixed(d, False), 0.05, 1),
}


def study(pairs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of five judges and runs of two arms."""
    draw = np.random.default_rng(1)
    names = [name for parts in CRITERIA.values() for name in parts]
    keys = [(arm, f"u{unit}") for arm in ("flat", "deep") for unit in range(pairs)]
    runs = pd.DataFrame(keys, columns=["arm", "unit"]).assign(status="completed", reason="")
    runs["loops"] = draw.integers(0, 3, len(runs))
    runs["words"] = draw.normal(1000, 50, len(runs))
    runs["model.writer"] = [unit[-1] for _, unit in keys]
    rows = pd.MultiIndex.from_product([range(len(keys)), names, range(5)]).to_frame(index=False)
    scores = pd.DataFrame([keys[at] for at in rows[0]], columns=["arm", "unit"])
    scores = scores.assign(outcome=rows[1], judge=[f"j{at}" for at in rows[2]], scale="ordinal")
    return scores.assign(value=draw.integers(1, 6, len(scores)).astype(float)), runs


def timed(pairs: int) -> float:
    """Seconds for the whole analysis of so many pairs."""
    plan = {
        "contrasts": [["deep", "flat"]],
        "primary": list(CRITERIA),
        "followups": {"outcomes": [name for parts in CRITERIA.values() for name in parts]},
        "covariates": ["words"],
        "leave_one_out": ["judge", "unit"],
        "mixed": {"outcome": "utility"},
        "dose": {"outcome": "writing_clarity", "dose": "loops", "within": "deep"},
        "subsets": {"unexercised": {"arm": "deep", "where": "loops == 0"}},
        "equivalence": {"margin_dz": 0.5},
        "by": ["model.writer"],
    }
    scores, runs = study(pairs)
    began = time.perf_counter()
    analyse(scores, plan_of(plan, CRITERIA), runs=runs).json()
    return time.perf_counter() - began


def main() -> None:
    """Runs all checks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--experiments", type=int, default=400)
    wanted = parser.parse_args().experiments
    print(f"{'check':48}{'found':>8}{'99 % interval':>18}{'promised':>10}{'n':>7}")
    for name, (check, promised, times) in CHECKS.items():
        n = wanted * times
        hits = sum(check(np.random.default_rng((7, number))) for number in range(n))
        low, high = wilson(hits, n, 0.99)
        print(f"{name:48}{hits / n:8.3f}{low:8.3f} to {high:.3f}{promised:10.3f}{n:7}")
    for pairs in (43, 2000):
        print(f"whole analysis, {pairs} pairs x 5 judges: {timed(pairs):.1f} s")


if __name__ == "__main__":
    main()
