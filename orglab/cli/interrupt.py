"""Ctrl-C and the end of the money: what is under way is kept, nothing else is begun."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from rich.console import Console

from orglab.engine.study.batch.budget import Budget
from orglab.providers.human.terminal import hang_up
from orglab.results.number_format import dollars

BUDGET_REACHED = 3
"""Exit code: the study needs more money than it was given."""


def at_the_budget(budget: Budget) -> str:
    """Return what a study that its budget stopped has spent."""
    more = (
        f", and at most {dollars(budget.unknown)} more for calls that were cut or not counted"
        if budget.unknown
        else ""
    )
    return (
        f"Stopped at the budget: {dollars(budget.spent)} of {dollars(budget.limit)} spent{more}; the next call "
        "might cost more than what is left. Every reply is stored; run the same command with a larger "
        "--max-cost to resume."
    )


def stop_on_interrupt(console: Console) -> asyncio.Event:
    """Return an event that Ctrl-C sets, once; a second Ctrl-C ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_to_stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.set()
        hang_up()  # a person at the terminal is not waited for
        console.print(
            "Waiting for running calls to keep their replies; press Ctrl-C again to stop immediately."
        )

    with suppress(NotImplementedError):  # Windows: there Ctrl-C ends the process at once
        loop.add_signal_handler(signal.SIGINT, ask_to_stop)
    return stop
