"""Estimates: what earlier runs of a team used, at today's prices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from orglab.engine.spec.model import Model
from orglab.engine.study.plan.prices import known, known_sum, priced
from orglab.engine.study.plan.upper_bounds import ModelBound
from orglab.providers.base import JSON, TokenUsage
from orglab.results.usage.usage_history import Asked, PastRun, PastUse, UsageSpread, spread_of


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelEstimate:
    """What runs use of one model on average, or in all.

    Attributes:
        calls: Calls.
        input: Tokens read.
        output: Tokens written.
        usd: US dollars at today's prices; None where a price is unknown.
        seconds: Seconds of service.
    """

    calls: float
    input: float
    output: float
    usd: float | None
    seconds: float

    @classmethod
    def sum(cls, parts: Iterable[tuple[ModelEstimate | None, int]]) -> ModelEstimate | None:
        """Means times numbers of runs; None where a part is not known, or there is none."""
        every = list(parts)
        found = [(line, runs) for line, runs in every if line is not None]
        if not found or len(found) < len(every):
            return None
        totals = {
            field.name: known_sum(_times(getattr(line, field.name), runs) for line, runs in found)
            for field in fields(cls)
        }
        return cls(**totals)  # type: ignore[arg-type]

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _times(value: float | None, runs: int) -> float | None:
    return None if value is None else value * runs


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageEstimate:
    """What one run of a team uses by what earlier ones did; spreads are over runs.

    Attributes:
        runs: Earlier runs.
        judged: Of them, those that were judged as the new ones will be.
        turns: Turns.
        seconds: Seconds on the critical path.
        calls: Calls, in full.
        input: Tokens read, in full.
        output: Tokens written, in full.
        usd: US dollars, as far as they are paid: without what arms share, judges included.
        usd_full: US dollars in full, judges included.
        judging_calls: Calls of judges.
        judging_usd: US dollars of judges.
        lines: By model, as paid.
    """

    runs: int
    judged: int
    turns: UsageSpread | None
    seconds: UsageSpread | None
    calls: UsageSpread | None
    input: UsageSpread | None
    output: UsageSpread | None
    usd: UsageSpread | None
    usd_full: UsageSpread | None
    judging_calls: UsageSpread | None
    judging_usd: UsageSpread | None
    lines: Mapping[str, ModelEstimate]

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        body: dict[str, JSON] = {"runs": self.runs, "judged": self.judged}
        for field in fields(self)[2:-1]:
            spread = getattr(self, field.name)
            body[field.name] = spread.as_json() if spread else None
        return body | {"models": {name: line.as_json() for name, line in self.lines.items()}}


def estimated_sum(
    parts: Iterable[tuple[UsageSpread | None, int]],
) -> tuple[float, float | None] | None:
    """Return the sum over numbers of runs with its standard error, which is None where it is unknown."""
    total, variance = 0.0, 0.0
    exact = True
    for spread, runs in parts:
        if spread is None:
            return None
        value, error = spread.of(runs)
        total += value
        exact = exact and error is not None
        variance += (error or 0.0) ** 2
    return total, math.sqrt(variance) if exact else None


def estimate(
    runs: Sequence[PastRun], lines: Sequence[ModelBound], *, shared: bool
) -> UsageEstimate:
    """Estimate one run.

    Args:
        runs: Earlier runs of the team, one at least.
        lines: Whom a run asks.
        shared: The arms share calls, so that what is paid is less than the full figures.
    """
    judged = [run for run in runs if run.judged_alike]
    judging = any(line.judging for line in lines)
    alike = judged if judging else runs
    bill = _Bill(lines, shared)
    return UsageEstimate(
        runs=len(runs),
        judged=len(judged),
        turns=spread_of(run.turns for run in runs),
        seconds=spread_of(run.seconds for run in runs),
        calls=_spread(runs, lambda asked, use: use.calls * (not asked.judging)),
        input=_spread(runs, lambda asked, use: use.input * (not asked.judging)),
        output=_spread(runs, lambda asked, use: use.output * (not asked.judging)),
        usd=spread_of(bill.of(run, paid=True) for run in alike),
        usd_full=spread_of(bill.of(run, paid=False) for run in alike),
        judging_calls=_spread(judged, lambda asked, use: use.calls * asked.judging),
        judging_usd=spread_of(bill.of(run, paid=True, judging=True) for run in judged),
        lines={
            line.name: bill.mean(line, judged if line.judging else runs)
            for line in lines
            if judged or not line.judging
        },
    )


def _spread(
    runs: Sequence[PastRun], value: Callable[[Asked, PastUse], float]
) -> UsageSpread | None:
    return spread_of(sum(value(*use) for use in run.uses.items()) for run in runs)


@dataclass(frozen=True, slots=True)
class _Bill:
    """Reckons earlier calls at today's prices."""

    lines: Sequence[ModelBound]
    shared: bool

    def of(self, run: PastRun, *, paid: bool, judging: bool | None = None) -> float | None:
        """Dollars of a run, of its judges alone where asked; None where a price is unknown."""
        found: list[float | None] = []
        for asked, use in run.uses.items():
            line, model = self._asked(asked)
            # a judge that the plan does not have costs nothing in it
            if judging in (None, asked.judging) and not (asked.judging and line is None):
                found.append(self._usd(model, use, paid))
        return known_sum(found)

    def mean(self, line: ModelBound, runs: Sequence[PastRun]) -> ModelEstimate:
        """Return what a run uses of one line on average, as paid."""
        used = [self._paid(line, run) for run in runs]
        means = {
            field.name: known([getattr(each, field.name) for each in used])
            for field in fields(ModelEstimate)
        }
        return ModelEstimate(
            **{name: None if of is None else fmean(of) for name, of in means.items()}  # type: ignore[arg-type]
        )

    def _paid(self, line: ModelBound, run: PastRun) -> ModelEstimate:
        own = [(asked, use) for asked, use in run.uses.items() if self._asked(asked)[0] is line]
        sizes = [(use, _size(use, self.shared)) for _, use in own]
        return ModelEstimate(
            calls=sum(size[0] for _, size in sizes),
            input=sum(size[1] for _, size in sizes),
            output=sum(size[3] for _, size in sizes),
            usd=known_sum(self._usd(self._asked(asked)[1], use, paid=True) for asked, use in own),
            seconds=sum(use.seconds * size[0] / use.calls for use, size in sizes),
        )

    def _usd(self, model: Model | None, use: PastUse, paid: bool) -> float | None:
        if model is None:
            return None
        _, read, cached, written = _size(use, self.shared and paid)
        usage = TokenUsage(input=read, cached_input=cached, output=written)
        return priced(model).cost(usage, use.longest)

    def _asked(self, asked: Asked) -> tuple[ModelBound | None, Model | None]:
        """Return the line and the model that earlier calls belong to."""
        for line in self.lines:
            names = (asked.role, f"judge {asked.model or asked.provider}")
            mine = (
                line.judging and line.name in names if asked.judging else asked.role in line.roles
            )
            for model in line.models if mine else ():
                if (model.provider, model.model) == (asked.provider, asked.model):
                    return line, model
        return None, None


def _size(use: PastUse, paid: bool) -> tuple[int, int, int, int]:
    """Return calls, tokens read, of them cached, tokens written."""
    return use.paid if paid else (use.calls, use.input, use.cached, use.output)
