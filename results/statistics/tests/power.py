"""Power and pairs needed, before a study; never after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.power import TTestPower

from orglab.results.statistics.models.wilson import wilson


def power(d_z: float, pairs: int, alpha: float = 0.05) -> float:
    """Return the power of the two-sided paired t-test (Cohen 1988), 0 to 1.

    Args:
        d_z: The true effect, in standard deviations of the differences.
        pairs: Number of pairs.
        alpha: Level of the test.

    Raises:
        ValueError: Fewer than two pairs.
    """
    if pairs < 2:
        raise ValueError("a paired t-test needs two pairs at least")
    return float(TTestPower().power(abs(d_z), pairs, alpha, alternative="two-sided"))


def pairs_needed(d_z: float, wanted: float = 0.8, alpha: float = 0.05) -> int:
    """Return the fewest pairs with which the two-sided paired t-test has the ``wanted`` power.

    Raises:
        ValueError: An effect of 0, or a power outside alpha to 1: no number of pairs will do.
    """
    if not d_z or not alpha < wanted < 1:
        raise ValueError("no number of pairs gives this power")
    low, high = 1, 2
    while power(d_z, high, alpha) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(d_z, middle, alpha) >= wanted else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True)
class SimulatedPower:
    """Power found by simulation.

    Attributes:
        hits: Simulated experiments with p < alpha.
        runs: Simulated experiments.
        untested: Those among them without a p; they count as no hit.
        power: hits / runs.
        low: Lower end of its Wilson interval.
        high: Upper end.
    """

    hits: int
    runs: int
    untested: int
    power: float
    low: float
    high: float


def simulated_power(
    experiment: Callable[[np.random.Generator], float | None],
    *,
    runs: int,
    seed: int,
    alpha: float = 0.05,
) -> SimulatedPower:
    """Estimate how often a simulated experiment rejects (interval: Wilson 1927).

    Args:
        experiment: Makes one experiment with the generator it is given, and returns the p of its
            test, or None where it could not be tested.
        runs: How many to make; each has its own generator, so that any number of them begins alike.
        seed: Root of all of them.
        alpha: Level of the test.

    Raises:
        ValueError: No runs.
    """
    if runs < 1:
        raise ValueError("power needs at least one simulated experiment")
    found = [experiment(np.random.default_rng((seed, number))) for number in range(runs)]
    tested = [p for p in found if p is not None]
    hits = sum(p < alpha for p in tested)
    low, high = wilson(hits, runs)
    return SimulatedPower(
        hits=hits, runs=runs, untested=runs - len(tested), power=hits / runs, low=low, high=high
    )
