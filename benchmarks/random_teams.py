"""Random teams with every feature: bounds, caps, delays and resumption, in thousands.

    python benchmarks/random_teams.py [--teams 6000] [--from 0]

Stops with the number of the team whose run exceeds a bound, hangs, or differs when it is delayed or resumed.
Prints how far the upper bounds lie above what was used.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.engine.run.conftest import make_topology
from tests.engine.run.test_fuzz import Examined, examine


async def examined(first: int, teams: int) -> list[Examined]:
    """Examine the sound ones of so many random teams."""
    found = [await examine(number, make_topology) for number in range(first, first + teams)]
    return [each for each in found if each is not None]


def main() -> None:
    """Examine random teams and print figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--teams", type=int, default=6000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    given = parser.parse_args()
    sound = asyncio.run(examined(given.first, given.teams))
    kinds = Counter(kind for each in sound for kind in each.kinds)
    print(f"{len(sound):,} of {given.teams:,} teams are sound; of them {dict(kinds)}")
    print(f"ended: {dict(Counter(each.status for each in sound))}")
    for at, name in enumerate(("turns", "calls", "dollars")):
        ratios = sorted(
            bound / each.used[at]
            for each in sound
            if each.status == "completed" and each.used[at] and (bound := each.bounds[at])
        )
        low, middle, high = (ratios[int(q * (len(ratios) - 1))] for q in (0.05, 0.5, 0.95))
        print(
            f"bound / used, {name}: least {ratios[0]:.2f}, 5 % {low:.2f}, median {middle:.2f}, "
            f"95 % {high:.1f} ({len(ratios):,} completed runs)"
        )


if __name__ == "__main__":
    main()
