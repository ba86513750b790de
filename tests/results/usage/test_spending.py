"""What a study has cost, and the requests of which nobody knows whether they were billed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orglab.results.records import CallEntry
from orglab.results.store.journal.journal import Attempt
from orglab.results.store.journal.run_journal import RunJournal
from orglab.results.store.store import Store
from orglab.results.usage.spending import spending


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A study."""
    with Store(tmp_path) as made:
        yield made


def _open(store: Store) -> RunJournal:
    return store.open_run(
        "run", arm="a", unit="u", inputs={}, extra={}, replicate=0, seed=0, spec_hash="s", order=0
    )


def _kept(position: str, **body: Any) -> CallEntry:
    told: Mapping[str, Any] = {"attempts": 1, "tokens": {"input": 1, "output": 1}, "text": "x"}
    return CallEntry(**{"position": position, "identity": "i", **told, **body})


async def test_kept_replies_are_what_was_paid(store: Store) -> None:
    """Replies taken from elsewhere cost nothing; an unknown price is counted, never 0 dollars."""
    run = _open(store)
    await run.keep(_kept("1", cost_usd=0.25))
    await run.keep(_kept("2", cost_usd=0.5, attempts=0))
    await run.keep(_kept("3", cost_usd=None))
    found = spending(store)
    assert (found.paid_usd, found.unpriced, list(found.cut)) == (0.25, 1, [])


async def test_requests_cut_by_the_server_are_listed(store: Store) -> None:
    """With what was reserved for them; also where the call was answered in the end."""
    run = _open(store)
    await run.begin(Attempt(position="1", copy="w", most_usd=0.2))
    await run.begin(Attempt(position="1", copy="w", most_usd=0.2, cut=1))
    await run.keep(_kept("1", copy="w", cost_usd=0.1, attempts=2, cut=1, reserved_usd=0.2))
    (cut,) = spending(store).cut
    assert (cut.requests, cut.reserved_usd, cut.killed, cut.copy) == (1, 0.2, False, "w")


async def test_requests_under_way_at_a_kill_are_listed(store: Store) -> None:
    """Also when they were asked again, and answered, by a later process."""
    first = _open(store)
    await first.begin(Attempt(position="1", copy="w", most_usd=0.2))
    await first.begin(Attempt(position="1", copy="w", most_usd=0.2, cut=1))
    await first.begin(Attempt(position="2", copy="v", most_usd=None))
    await first.begin(Attempt(position="3", copy="v"))  # nobody bills it
    store.leave("run")
    (both, unknown) = spending(store).cut
    assert (both.requests, both.reserved_usd, both.killed) == (2, 0.4, True)
    assert (unknown.position, unknown.reserved_usd) == ("2", None)
    later = _open(store)
    await later.begin(Attempt(position="1", copy="w", most_usd=0.3))
    await later.keep(_kept("1", copy="w", cost_usd=0.1))
    found = spending(store)
    assert [(cut.position, cut.requests) for cut in found.cut] == [("1", 2), ("2", 1)]
    assert found.reserved_usd == pytest.approx(0.4)
