"""What was paid, what was taken from elsewhere, and what is unknown, in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from orglab.results.number_format import amount, dollars
from orglab.results.records import CallRecord
from orglab.results.usage.spending import Spending, spending

__all__ = [
    "Unpaid",
    "cost_of",
    "cut_words",
    "money_words",
    "simulated_note",
    "uncounted_words",
    "unpaid",
    "unreal",
]


class _Rows(Protocol):
    def rows(self, sql: str, arguments: Sequence[object] = ()) -> Iterator[sqlite3.Row]: ...


class Unpaid(NamedTuple):
    """Calls whose reply was taken from elsewhere, and what it had cost as far as that is known."""

    shared: int
    shared_usd: float
    kept: int
    kept_usd: float


_SQL = """
SELECT TOTAL(kept=0) AS shared, TOTAL((kept=0)*cost_usd) AS shared_usd,
  TOTAL(kept) AS kept, TOTAL(kept*cost_usd) AS kept_usd
FROM (SELECT json_extract(reply, '$.kept') IS NOT NULL AS kept, COALESCE(cost_usd, 0) AS cost_usd
  FROM calls WHERE attempts=0 AND error IS NULL)
"""


def unpaid(study: _Rows) -> Unpaid:
    """Replies of a study that other arms, runs or studies had paid for."""
    (row,) = study.rows(_SQL)
    return Unpaid(int(row["shared"]), row["shared_usd"], int(row["kept"]), row["kept_usd"])


def money_words(study: _Rows) -> list[str]:
    """Paid, not paid again, unknown: [] where nothing was taken from elsewhere and nothing cut."""
    spent, free = spending(study), unpaid(study)
    lines: list[str] = []
    taken = [
        f"{amount(number, 'reply', 'replies')} {source}{_worth(usd)}"
        for number, source, usd in (
            (free.shared, "shared with other runs", free.shared_usd),
            (free.kept, "taken from other studies", free.kept_usd),
        )
        if number
    ]
    costs = spent.paid_usd or spent.unpriced or free.shared_usd or free.kept_usd
    if spent.cut or spent.uncounted_usd or (taken and costs):
        known = None if spent.unpriced else spent.paid_usd
        lines.append(f"Paid{_unreal(study, spent)}: {dollars(known, spent.paid_usd)}.")
    if taken and costs:
        lines.append(f"Not paid again: {', '.join(taken)}.")
    if spent.cut:
        lines.append(cut_words(spent))
    if spent.uncounted_usd:
        lines.append(uncounted_words(spent))
    return lines


def _unreal(study: _Rows, spent: Spending) -> str:
    """Simulated models are paid by nobody."""
    (row,) = study.rows("SELECT TOTAL(simulated) AS n, COUNT(*) AS of FROM calls WHERE cost_usd>0")
    words = unreal(int(row["n"]), row["of"]) if spent.paid_usd else ""
    return f" ({words})" if words else ""


def _worth(usd: float) -> str:
    return f" ({dollars(usd)})" if usd else ""


def uncounted_words(spent: Spending) -> str:
    """What is known of replies with which no count of tokens came."""
    return (
        "Replies came without a count of tokens: they can have cost at most "
        f"{dollars(spent.uncounted_usd)} more."
    )


def cut_words(spent: Spending) -> str:
    """What is known of requests that were cut."""
    requests = sum(call.requests for call in spent.cut)
    bounded = all(call.reserved_usd is not None for call in spent.cut)
    most = (
        f"at most {dollars(spent.reserved_usd)} is reserved for that"
        if bounded
        else "the most that they can have cost is not known"
    )
    return (
        f"{amount(requests, 'attempt')} {'was' if requests == 1 else 'were'} cut on the way: {most}; "
        "what was really billed is unknown."
    )


def cost_of(calls: Sequence[CallRecord]) -> str:
    """Format the cost of calls; a call without an answer counts where its price is known."""
    known = sum(call.cost_usd or 0.0 for call in calls)
    unknown = any(
        call.cost_usd is None and (call.error is None or any(call.tokens.values()))
        for call in calls
    )
    return dollars(None if unknown else known, known)


def unreal(simulated: int, of: int) -> str:
    """Return ``simulated`` or ``partly simulated``; "" if none of the runs or calls was simulated."""
    if not simulated:
        return ""
    return "simulated" if simulated >= of else "partly simulated"


def simulated_note(simulated: int, calls: int) -> str:
    """Return ``SIMULATED``, ``PARTLY SIMULATED (3 of 9 calls)``, or "" if none was."""
    if not simulated:
        return ""
    return "SIMULATED" if simulated == calls else f"PARTLY SIMULATED ({simulated} of {calls} calls)"
