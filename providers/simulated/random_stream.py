"""Random numbers that depend on a seed text alone, equal on every machine."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

_MOST = 500.0
_T = TypeVar("_T")


class RandomStream:
    """Stream of random numbers seeded by ``seed``.

    Everything is made of ``random.Random.random``, the one method whose stream Python promises to
    keep between versions.
    """

    def __init__(self, seed: str) -> None:
        self._next = random.Random(seed).random  # noqa: S311 - a simulation, not a secret

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._next() < probability

    def below(self, number: int) -> int:
        """Return an integer from 0 to ``number`` - 1."""
        return min(int(self._next() * number), number - 1)

    def between(self, least: int, most: int) -> int:
        """Return an integer from ``least`` to ``most``, both included."""
        return least + self.below(most - least + 1)

    def real(self, least: float, most: float) -> float:
        """Return a number from ``least`` to ``most``."""
        return min(least + self._next() * (most - least), most)

    def pick(self, items: Sequence[_T]) -> _T:
        """Return one of ``items``."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        """Return ``items`` in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]

    def some(self, items: Sequence[_T], number: int) -> list[_T]:
        """Return ``number`` of ``items``, or all if there are fewer, in random order."""
        left = list(items)
        for place in range(min(number, len(left))):
            other = place + self.below(len(left) - place)
            left[place], left[other] = left[other], left[place]
        return left[:number]

    def weighted(self, weights: Mapping[_T, float]) -> _T:
        """Return a key with probability by weight; uniform if every weight is 0."""
        total = sum(weights.values())
        if total <= 0:
            return self.pick(list(weights))
        left = self._next() * total
        chosen = None
        for key, weight in weights.items():
            if weight > 0:
                chosen = key
                left -= weight
                if left < 0:
                    break
        assert chosen is not None
        return chosen

    def normal(self, mean: float, sd: float) -> float:
        """Return a number from a normal distribution (Box and Muller, 1958)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self._next()))
        return mean + sd * radius * math.cos(2.0 * math.pi * self._next())

    def count(self, mean: float, spread: float = 0.0) -> int:
        """Return a number of events (Knuth's method for the Poisson distribution).

        Args:
            mean: How many there are on average.
            spread: Standard deviation of the logarithm of the mean, which varies itself.
        """
        if spread:
            mean *= math.exp(self.normal(-spread * spread / 2.0, spread))
        left, number = math.exp(-min(mean, _MOST)), 0
        chance = self._next()
        while chance > left:
            number += 1
            chance *= self._next()
        return number
