"""Work that is done side by side, each piece to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

__all__ = ["side_by_side"]

T = TypeVar("T")


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> Sequence[T]:
    """What all give, in order; a crash of one is raised when all have ended."""
    if len(work) == 1:  # spares a task, the commonest case
        return [await work[0]]
    return [result() for result in await asyncio.gather(*map(_kept, work))]


async def _kept(work: Coroutine[Any, Any, T]) -> Callable[[], T]:
    """Gives what a piece of work gives, or raises what it raised, when it is asked."""
    try:
        value = await work
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as crash:  # noqa: BLE001 - raised by whoever asks
        fault = crash

        def fail() -> T:
            raise fault

        return fail
    return lambda: value
