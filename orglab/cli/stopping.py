"""Ctrl-C: what is under way is kept, nothing else is begun."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from rich.console import Console

from orglab.providers.human_terminal import hang_up

__all__ = ["stop_on_interrupt"]


def stop_on_interrupt(console: Console) -> asyncio.Event:
    """An event that Ctrl-C sets, once; a second Ctrl-C ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_to_stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.set()
        hang_up()  # a person at the terminal is not waited for
        console.print("Waiting for calls under way, to keep their replies; Ctrl-C again: at once.")

    with suppress(NotImplementedError):  # Windows: there Ctrl-C ends the process at once
        loop.add_signal_handler(signal.SIGINT, ask_to_stop)
    return stop
