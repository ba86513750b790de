"""Cost of a study, and the unconfirmed cost of interrupted requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.number_format import amount, dollars
from orglab.results.records import CallEntry

_REFUSED, _UNREADABLE = "refusal", "unreadable reply"
ANSWERED = f"""(error IS NULL OR error = '{_REFUSED}' OR error LIKE '{_UNREADABLE}%'
  OR tokens_input + tokens_output > 0)"""
"""Of a row of ``calls``, in SQL: a reply came, or the server counted tokens: it may be billed."""


class StudyRows(Protocol):
    """A study that can be queried: a ``Reader`` or an open ``Store``."""

    def rows(self, sql: str, arguments: Sequence[object] = ()) -> Iterator[sqlite3.Row]:
        """Run a query."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class InterruptedCall:
    """Requests of one call that were sent and broke off: whether they were billed is unknown.

    Attributes:
        arm: The arm of the run.
        unit: Its unit.
        replicate: Its replicate.
        position: Position of the call in the run.
        copy: The copy that spoke.
        requests: How many.
        reserved_usd: The most US dollars that they can have cost; None where that is unknown.
        killed: The process died while they were under way; else the server broke them off.
    """

    arm: str
    unit: str
    replicate: int
    position: str
    copy: str
    requests: int
    reserved_usd: float | None
    killed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """Money of a study.

    Attributes:
        paid_usd: US dollars of the replies kept, those put aside included, whose price is known.
        unpriced: Replies whose price is unknown.
        uncounted_usd: The most US dollars that answered calls can have cost of which the server
            counted no tokens, as far as that is known.
        cut: Calls of which requests were cut.
    """

    paid_usd: float
    unpriced: int
    uncounted_usd: float
    cut: Sequence[InterruptedCall]

    @property
    def reserved_usd(self) -> float:
        """The most US dollars that cut requests can have cost, as far as that is known."""
        return sum(call.reserved_usd or 0.0 for call in self.cut)

    @property
    def unknown_usd(self) -> float:
        """The most US dollars that may have been billed beyond what was paid, as far as known."""
        return self.uncounted_usd + self.reserved_usd


def spending(study: StudyRows) -> Spending:
    """Sum up what a study has cost."""
    paid = f"""SELECT TOTAL(cost_usd) AS usd, TOTAL(cost_usd IS NULL AND {ANSWERED}) AS unpriced,
              TOTAL(CASE WHEN cut = 0 THEN reserved_usd END) AS uncounted
              FROM calls WHERE attempts > 0"""  # noqa: S608 - constants of ours
    (row,) = study.rows(paid)
    cut = [*_interrupted_by_server(study), *_interrupted_by_crash(study)]
    return Spending(
        paid_usd=row["usd"],
        unpriced=int(row["unpriced"]),
        uncounted_usd=row["uncounted"],
        cut=cut,
    )


def _interrupted_by_server(study: StudyRows) -> Iterator[InterruptedCall]:
    sql = """SELECT r.arm, r.unit, r.replicate, c.position, c.copy, c.cut AS requests, c.reserved_usd
             FROM calls c JOIN runs r USING (run) WHERE c.cut > 0 ORDER BY c.run, c.position"""
    for row in study.rows(sql):
        yield InterruptedCall(**dict(row), killed=False)


def _interrupted_by_crash(study: StudyRows) -> Iterator[InterruptedCall]:
    """Find requests under way when a process died: begun, and no entry records their end."""
    sql = """SELECT a.run, a.position, COALESCE(c.kept, 0) AS kept FROM
             (SELECT run, position, SUM(what NOT LIKE '%"cut":%') AS begun FROM attempts
              WHERE what LIKE '%"reserved":%' GROUP BY run, position) a
             LEFT JOIN (SELECT run, position, COUNT(*) AS kept FROM calls GROUP BY run, position) c
             ON c.run=a.run AND c.position=a.position WHERE a.begun > COALESCE(c.kept, 0)"""
    for lost in list(study.rows(sql)):
        yield from _lost_requests_of_call(study, lost["run"], lost["position"], lost["kept"])


def _lost_requests_of_call(
    study: StudyRows, run: int, position: str, kept: int
) -> Iterator[InterruptedCall]:
    sql = """SELECT r.arm, r.unit, r.replicate, a.again, a.what FROM attempts a
             JOIN runs r USING (run) WHERE a.run=? AND a.position=? ORDER BY a.number"""
    rows = list(study.rows(sql, (run, position)))
    if not rows:  # attempts of a run that the study does not hold
        return
    requests = _lost_requests(
        [(bool(row["again"]), loads_stored(row["what"])) for row in rows], kept
    )
    if not requests:
        return
    reserved = [what["reserved"] for what in requests]
    known = [most for most in reserved if most is not None]
    yield InterruptedCall(
        arm=rows[0]["arm"],
        unit=rows[0]["unit"],
        replicate=rows[0]["replicate"],
        position=position,
        copy=requests[0]["copy"],
        requests=len(requests),
        reserved_usd=sum(known) if len(known) == len(reserved) else None,
        killed=True,
    )


def _lost_requests(
    rows: Sequence[tuple[bool, Mapping[str, JSON]]], kept: int
) -> list[Mapping[str, JSON]]:
    """Return the requests of a call's processes that recorded nothing.

    A process's requests begin with one that follows no cut. A request ``again`` says that the
    process before kept nothing; for the last one, see the number of kept entries.
    """
    groups: list[tuple[bool, list[Mapping[str, JSON]]]] = []
    for again, what in rows:
        if "cut" not in what or not groups:
            groups.append((again, []))
        groups[-1][1].append(what)
    followed = [again for again, _ in groups[1:]]
    last = len(groups) - sum(followed) > kept
    lost = [group for (_, group), gone in zip(groups, [*followed, last], strict=True) if gone]
    return [what for group in lost for what in group if "reserved" in what]


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
