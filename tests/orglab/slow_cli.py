"""``orglab`` with a scripted provider that says when it is asked, and waits to be told to answer.

Each call writes ``asked`` to standard output and takes one byte of standard input.
"""

from __future__ import annotations

import asyncio
import os

from orglab.cli.app import main
from orglab.providers.base import Completion, Request
from orglab.providers.scripted.provider import ScriptedProvider

__all__: list[str] = []

at_once = ScriptedProvider.complete


told: list[asyncio.Semaphore] = []


def listen() -> asyncio.Semaphore:
    """What is released for each byte of standard input."""
    if not told:
        told.append(asyncio.Semaphore(0))
        asyncio.get_running_loop().add_reader(0, hear)
    return told[0]


def hear() -> None:
    """Takes what is there; at its end there is nothing more to listen to."""
    heard = os.read(0, 64)
    if not heard:
        asyncio.get_running_loop().remove_reader(0)
    for _ in heard:
        told[0].release()


async def when_told(self: ScriptedProvider, request: Request) -> Completion:
    """Answers when a byte is there for it."""
    os.write(1, f"asked {request.labels.unit} {request.labels.copy}\n".encode())
    await listen().acquire()
    return await at_once(self, request)


if __name__ == "__main__":
    ScriptedProvider.complete = when_told  # type: ignore[method-assign]
    main()
