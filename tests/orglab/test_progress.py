"""Progress: what is told of money while a study runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from orglab.cli.progress import progress_of
from orglab.engine.study.batch.batch import BatchTally
from orglab.results.records import CallEntry
from orglab.results.store.journal.run_journal import RunTotals


@pytest.mark.parametrize(
    ("dollars", "unpriced", "told"),
    [(0.0145, 0, "$0.0145"), (0.0145, 1, "at least $0.0145"), (0.0, 1, "$ unknown")],
)
def test_a_part_of_unknown_price_is_never_nothing(dollars: float, unpriced: int, told: str) -> None:
    """Case 41: a sum with an unknown part is "at least"; what is wholly unknown is not $0."""
    out = io.StringIO()
    with progress_of(Console(file=out, width=200), "study") as progress:
        progress(BatchTally(planned=1, completed=1, cost_usd=dollars, unpriced=unpriced))
    assert out.getvalue().strip().endswith(f"0 tokens, {told}")


@pytest.mark.parametrize(("attempts", "shared"), [(1, 0), (0, 1)])
def test_a_reply_that_was_taken_is_not_paid_for_now(attempts: int, shared: int) -> None:
    """Case 41: of unknown price or not, what another run or study paid for costs nothing now."""
    used = RunTotals()
    used.entry(CallEntry(position="1.turn.0.0", attempts=attempts, read={"problem": None}))
    assert (used.unpriced, used.shared_unpriced) == (1, shared)
