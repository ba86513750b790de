"""Text about cost: what was paid, what was taken from elsewhere, and what is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orglab.results.number_format import amount, dollars
from orglab.results.records import CallEntry
from orglab.results.usage.spending import Spending, StudyRows, spending

__all__ = [
    "Unpaid",
    "cost_of",
    "interrupted_text",
    "money_notes",
    "simulated_note",
    "uncounted_text",
    "unpaid",
    "unreal",
]


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


def unpaid(study: StudyRows) -> Unpaid:
    """Count the replies of a study that other arms, runs or studies had paid for."""
    (row,) = study.rows(_SQL)
    return Unpaid(int(row["shared"]), row["shared_usd"], int(row["kept"]), row["kept_usd"])


def money_notes(study: StudyRows) -> list[str]:
    """Describe what was paid, not paid again, and unknown; [] if nothing was shared or interrupted."""
    spent, free = spending(study), unpaid(study)
    lines: list[str] = []
    taken = [
        f"{amount(number, 'reply', 'replies')} {source}{_in_brackets(usd)}"
        for number, source, usd in (
            (free.shared, "shared with other runs", free.shared_usd),
            (free.kept, "taken from other studies", free.kept_usd),
        )
        if number
    ]
    costs = spent.paid_usd or spent.unpriced or free.shared_usd or free.kept_usd
    if spent.cut or spent.uncounted_usd or (taken and costs):
        known = None if spent.unpriced else spent.paid_usd
        lines.append(f"Paid{_simulated_mark(study, spent)}: {dollars(known, spent.paid_usd)}.")
    if taken and costs:
        lines.append(f"Not paid again: {', '.join(taken)}.")
    if spent.cut:
        lines.append(interrupted_text(spent))
    if spent.uncounted_usd:
        lines.append(uncounted_text(spent))
    return lines


def _simulated_mark(study: StudyRows, spent: Spending) -> str:
    """Mark the dollars of simulated models."""
    (row,) = study.rows("SELECT TOTAL(simulated) AS n, COUNT(*) AS of FROM calls WHERE cost_usd>0")
    words = unreal(int(row["n"]), row["of"]) if spent.paid_usd else ""
    return f" ({words})" if words else ""


def _in_brackets(usd: float) -> str:
    return f" ({dollars(usd)})" if usd else ""


def uncounted_text(spent: Spending) -> str:
    """Describe what replies without a token count may have cost."""
    return (
        "Replies came without a count of tokens: they can have cost at most "
        f"{dollars(spent.uncounted_usd)} more."
    )


def interrupted_text(spent: Spending) -> str:
    """Describe what interrupted requests may have cost."""
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


def cost_of(calls: Sequence[CallEntry]) -> str:
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
