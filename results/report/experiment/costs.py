"""Usage and cost of a study by arm and role: writing, judging, both; in full and as paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orglab.results.report.experiment.data import Tables
from orglab.results.store.reader import Reader
from orglab.results.usage.spending import ANSWERED

JUDGING = "judge"
"""The purpose of the calls of judges."""


@dataclass(kw_only=True)
class UsageTotals:
    """What calls used together.

    Attributes:
        calls: Calls.
        tokens: Tokens read and written.
        usd: US dollars of the calls whose price is known.
        unpriced: Calls whose price is not known.
        seconds: Seconds of service and waiting, added up also where calls ran side by side.
        shared_calls: Calls whose reply was taken from the other arm or from another study, so that
            they were not paid.
        shared_tokens: Their tokens.
        shared_usd: Their dollars.
        cached_calls: Those of them whose reply another study had paid for.
        cached_tokens: Their tokens.
        cached_usd: Their dollars.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    shared_calls: int = 0
    shared_tokens: int = 0
    shared_usd: float = 0.0
    cached_calls: int = 0
    cached_tokens: int = 0
    cached_usd: float = 0.0

    @property
    def cost(self) -> float | None:
        """Dollars in full; None where the price of a call is unknown."""
        return None if self.unpriced else self.usd

    @property
    def net_cost(self) -> float | None:
        """Dollars that were paid."""
        return None if self.unpriced else self.usd - self.shared_usd

    @property
    def net_tokens(self) -> int:
        """Tokens that were paid."""
        return self.tokens - self.shared_tokens

    def add(self, other: UsageTotals) -> None:
        """Add what other calls used."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(kw_only=True)
class ArmCosts:
    """One arm.

    Attributes:
        arm: The arm.
        runs: Runs that were begun.
        roles: By role, the judges aside.
        judging: Calls of judges.
        put_aside: Calls of attempts that failed and were tried again: paid, and in no figure else.
    """

    arm: str
    runs: int = 0
    roles: dict[str, UsageTotals] = field(default_factory=dict)
    judging: UsageTotals = field(default_factory=UsageTotals)
    put_aside: UsageTotals = field(default_factory=UsageTotals)

    @property
    def generation(self) -> UsageTotals:
        """All roles together."""
        return _sum(self.roles.values())

    @property
    def both(self) -> UsageTotals:
        """Writing and judging."""
        return _sum([self.generation, self.judging])


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of all arms.

    Attributes:
        arms: By arm, in the plan's order.
        roles: Every role that spoke in any arm, in order of its tokens.
        simulated: Calls that no language model answered.
        answered: Calls that were answered; a reply that could not be read is one.
        calls: All calls.
        simulated_judging: Calls of judges that no language model answered.
    """

    arms: Mapping[str, ArmCosts]
    roles: Sequence[str]
    simulated: int
    answered: int
    calls: int
    simulated_judging: int

    @property
    def unreal(self) -> str:
        """``simulated`` or ``partly simulated``, as the dollars are; "" where all were asked for."""
        if not self.simulated:
            return ""
        return "simulated" if self.simulated == self.answered else "partly simulated"

    @property
    def total(self) -> UsageTotals:
        """Everything, put aside calls included."""
        return _sum(use for arm in self.arms.values() for use in (arm.both, arm.put_aside))

    @property
    def shares(self) -> bool:
        """A reply was not paid: it was taken from another arm or another study."""
        return self.total.shared_calls > 0

    @property
    def between_arms(self) -> bool:
        """A reply was taken from another arm."""
        return self.total.shared_calls > self.total.cached_calls


_SQL = f"""
SELECT run, role, purpose='judge' AS judging, superseded>0 AS aside,
  COUNT(*) AS calls, SUM(tokens_input+tokens_output) AS tokens, TOTAL(cost_usd) AS usd,
  SUM(cost_usd IS NULL AND {ANSWERED}) AS unpriced,
  TOTAL(service_seconds+waiting_seconds) AS seconds,
  SUM(shared) AS shared_calls, SUM(shared*(tokens_input+tokens_output)) AS shared_tokens,
  TOTAL(shared*cost_usd) AS shared_usd, SUM(kept) AS cached_calls,
  SUM(kept*(tokens_input+tokens_output)) AS cached_tokens, TOTAL(kept*cost_usd) AS cached_usd,
  SUM(simulated) AS simulated, SUM(error IS NULL OR served<>'') AS answered
FROM (SELECT *, attempts=0 AND error IS NULL AS shared,
  attempts=0 AND error IS NULL AND json_extract(reply, '$.kept') IS NOT NULL AS kept FROM calls)
GROUP BY run, role, judging, aside ORDER BY run, role
"""  # noqa: S608 - constants of ours


def read_costs(reader: Reader, tables: Tables, arms: Sequence[str]) -> Costs:
    """Add up the calls of every planned run, however it ended."""
    found = {arm: ArmCosts(arm=arm) for arm in arms}
    for run in tables.rows.values():
        found[run.arm].runs += 1
    numbers = tables.numbers
    simulated = answered = judging = calls = 0
    for row in reader.rows(_SQL):
        if row["run"] not in numbers:
            continue
        use = UsageTotals(**{name: row[name] for name in vars(UsageTotals())})
        _totals_for(found[numbers[row["run"]].arm], row["role"], row["judging"], row["aside"]).add(
            use
        )
        calls += row["calls"]
        simulated += row["simulated"]
        answered += row["answered"]
        judging += row["simulated"] if row["judging"] else 0
    return Costs(
        arms=found,
        roles=_roles_by_tokens(found.values()),
        simulated=simulated,
        answered=answered,
        calls=calls,
        simulated_judging=judging,
    )


def _totals_for(costs: ArmCosts, role: str, judging: int, aside: int) -> UsageTotals:
    if aside:
        return costs.put_aside
    return costs.judging if judging else costs.roles.setdefault(role, UsageTotals())


def _roles_by_tokens(arms: Iterable[ArmCosts]) -> list[str]:
    tokens: dict[str, int] = {}
    for arm in arms:
        for role, use in arm.roles.items():
            tokens[role] = tokens.get(role, 0) + use.tokens
    return sorted(tokens, key=lambda role: (-tokens[role], role))


def _sum(uses: Iterable[UsageTotals]) -> UsageTotals:
    total = UsageTotals()
    for use in uses:
        total.add(use)
    return total
