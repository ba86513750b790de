"""Designs of a sweep: from factors to the points that are run, each a level of every factor.

Draws of ``random`` hang on the seed, the factor and the number of the draw, so that a larger ``n``
keeps the points it had.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TypeAlias

from orglab.engine.run.calls.call_key import draw
from orglab.engine.spec.errors import Problem
from orglab.engine.study.sweep.factors import Factor, Level
from orglab.providers.base import JSON

Point: TypeAlias = tuple[Level, ...]
"""A level of each factor, in the order of the factors."""

MOST_POINTS = 100_000
"""Points of one sweep."""
_TRIES = 200
"""Draws for each point that is wanted, before it is given up that another one is found."""


def draws_of(design: JSON) -> tuple[str, Mapping[str, JSON]]:
    """Return the design's name, and what it says of its draws."""
    if isinstance(design, str):
        return design, {}
    ((name, settings),) = design.items()
    return name, settings


def design_problems(design: JSON, factors: Sequence[Factor]) -> Iterator[Problem]:
    """List of unlike lengths in a zip; more points than there are, or than can be run."""
    name, settings = draws_of(design)
    sizes = [
        len(factor.levels) or (factor.span.size if factor.span else None) for factor in factors
    ]
    if name == "zip":
        yield from _unlike(factors)
        return
    whole = _product(sizes)
    if name == "grid":
        if whole is not None and whole > MOST_POINTS:
            wrong = f"a grid of {whole:,} variants; {MOST_POINTS:,} are the limit"
            hint = "draw from it: `design: {random: {n: 1000}}`"
            yield Problem(path=("vary",), wrong=wrong, hint=hint, at_key=True)
        return
    if name == "random" and whole is not None and settings["n"] > whole:
        wrong = f"{settings['n']:,} variants are to be drawn, and there are {whole:,} in all"
        yield Problem(path=("design", name, "n"), wrong=wrong, hint="write `design: grid`")


def _unlike(factors: Sequence[Factor]) -> Iterator[Problem]:
    for factor in factors[1:]:
        if len(factor.levels) != len(factors[0].levels):
            wrong = (
                f"a zip takes first with first: {len(factor.levels)} values here, "
                f"{len(factors[0].levels)} under {factors[0].path}"
            )
            hint = "make the lists alike, or write `design: grid`"
            yield Problem(path=("vary", factor.path), wrong=wrong, hint=hint)


def _product(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def points_of(design: JSON, factors: Sequence[Factor], seed: int) -> list[Point]:
    """Return the points of a design without errors, each once.

    A Latin hypercube may meet the same point twice where factors are lists; it is kept once.
    """
    name, settings = draws_of(design)
    if name == "grid":
        return list(product(*(factor.levels for factor in factors)))
    if name == "zip":
        return list(zip(*(factor.levels for factor in factors), strict=True))
    seed, wanted = settings.get("seed", seed), settings["n"]
    if name == "latin":
        return list(_once(_points(factors, _hypercube(len(factors), wanted, seed))))
    tries = islice(_points(factors, _random(factors, seed)), wanted * _TRIES)
    found = list(islice(_once(tries), wanted))
    return found if len(found) == wanted else found + _others(factors, found, wanted)


def _points(factors: Sequence[Factor], shares: Iterator[Sequence[float]]) -> Iterator[Point]:
    for row in shares:
        yield tuple(factor.level(share) for factor, share in zip(factors, row, strict=True))


def _once(points: Iterator[Point]) -> Iterator[Point]:
    seen: set[tuple[str, ...]] = set()
    for point in points:
        key = tuple(level.label for level in point)
        if key not in seen:
            seen.add(key)
            yield point


def _random(factors: Sequence[Factor], seed: int) -> Iterator[Sequence[float]]:
    number = 0
    while True:
        yield [draw(seed, "", number, "sweep", factor.path, 0) for factor in factors]
        number += 1


def _others(factors: Sequence[Factor], found: Sequence[Point], wanted: int) -> list[Point]:
    """Return where draws meet hardly anything but known points: the first others of the grid."""
    seen = {tuple(level.label for level in point) for point in found}
    grid = product(*(_every(factor) for factor in factors))
    fresh = (point for point in grid if tuple(level.label for level in point) not in seen)
    return list(islice(fresh, wanted - len(found)))


def _every(factor: Factor) -> Sequence[Level]:
    size = factor.span.size if factor.span else None
    if size is None or factor.span is None:
        return factor.levels
    low = int(factor.span.low)
    return [
        Level(label=str(value), value=value, at=(factor.path,)) for value in range(low, low + size)
    ]


def _hypercube(factors: int, n: int, seed: int) -> Iterator[Sequence[float]]:
    # Here, so that no other design pays for SciPy.
    from scipy.stats import qmc

    for row in qmc.LatinHypercube(d=factors, rng=seed).random(n):
        yield [float(share) for share in row]
