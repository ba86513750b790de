"""Draws that depend on a text alone: the same text, the same draws, on every machine."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

__all__ = ["Draws"]

_MOST = 500.0
_T = TypeVar("_T")


class Draws:
    """A stream of draws seeded by ``seed``.

    Everything is made of ``random.Random.random``, the one method whose stream Python promises to
    keep between versions.
    """

    def __init__(self, seed: str) -> None:
        self._next = random.Random(seed).random  # noqa: S311 - a simulation, not a secret

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._next() < probability

    def below(self, number: int) -> int:
        """A whole number from 0 to ``number`` - 1."""
        return min(int(self._next() * number), number - 1)

    def between(self, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``, both included."""
        return least + self.below(most - least + 1)

    def real(self, least: float, most: float) -> float:
        """A number from ``least`` to ``most``."""
        return min(least + self._next() * (most - least), most)

    def pick(self, items: Sequence[_T]) -> _T:
        """One of ``items``."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        """``items`` in a drawn order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]

    def some(self, items: Sequence[_T], number: int) -> list[_T]:
        """``number`` of ``items``, or all where there are fewer, in a drawn order."""
        left = list(items)
        for place in range(min(number, len(left))):
            other = place + self.below(len(left) - place)
            left[place], left[other] = left[other], left[place]
        return left[:number]

    def weighted(self, weights: Mapping[_T, float]) -> _T:
        """One of the keys, each as likely as its weight; all alike where every weight is 0."""
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
        """A draw from a normal distribution (Box and Muller, 1958)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self._next()))
        return mean + sd * radius * math.cos(2.0 * math.pi * self._next())

    def count(self, mean: float, spread: float = 0.0) -> int:
        """A draw of a number of events (Knuth's method for the Poisson distribution).

        Args:
            mean: How many there are on average.
            spread: How much the mean itself varies from draw to draw: the standard deviation of
                its logarithm, the mean staying what it is.
        """
        if spread:
            mean *= math.exp(self.normal(-spread * spread / 2.0, spread))
        left, number = math.exp(-min(mean, _MOST)), 0
        chance = self._next()
        while chance > left:
            number += 1
            chance *= self._next()
        return number
