"""Figures in words: tokens, dollars, seconds, where unknown is unknown and never 0."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from orglab.results.records import CallRecord

__all__ = ["cost_of", "count", "dollars", "seconds", "simulated_note", "tokens", "unreal"]


def count(number: int, one: str, many: str = "") -> str:
    """``1 turn``, ``2,000 turns``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tokens(read: int, written: int) -> str:
    """``1,204 tokens in, 180 out``."""
    return f"{read:,} tokens in, {written:,} out"


def dollars(known: float | None, at_least: float = 0.0) -> str:
    """``$0.0412``, ``$0.000080``; ``cost unknown`` for None, with what is known of it."""
    if known is None:
        return f"cost unknown (over ${at_least:.4g})" if at_least else "cost unknown"
    if known == 0:
        return "$0"
    if known >= 1e-4:
        return f"${known:,.2f}" if known >= 1 else f"${known:.4f}"
    return f"${known:.{1 - floor(log10(known))}f}" if known >= 1e-9 else "under $0.000000001"


def seconds(value: float) -> str:
    """``0 s`` under a twentieth, ``0.4 s``, ``93 s``, ``12 min``, ``1 h 05``."""
    if value < 0.05:
        return "0 s"
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02}"


def cost_of(calls: Sequence[CallRecord]) -> str:
    """What calls cost together; a call without an answer counts where its price is known."""
    known = sum(call.cost_usd or 0.0 for call in calls)
    unknown = any(
        call.cost_usd is None and (call.error is None or any(call.tokens.values()))
        for call in calls
    )
    return dollars(None if unknown else known, known)


def unreal(simulated: int, of: int) -> str:
    """What dollars of so many runs or calls are: ``simulated``, ``partly simulated``; "" where all are real."""
    if not simulated:
        return ""
    return "simulated" if simulated >= of else "partly simulated"


def simulated_note(simulated: int, calls: int) -> str:
    """``SIMULATED``, ``PARTLY SIMULATED (3 of 9 calls)``, or "" where nothing was."""
    if not simulated:
        return ""
    return "SIMULATED" if simulated == calls else f"PARTLY SIMULATED ({simulated} of {calls} calls)"
