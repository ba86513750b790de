"""The page of a report: banners, the answer, leads, facts, sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from orglab.results.number_format import amount, money, percent
from orglab.results.report.experiment.costs import Costs
from orglab.results.report.experiment.data import NOT_RUN, Tables
from orglab.results.report.experiment.plan_history import FrozenPlan
from orglab.results.report.render.blocks import Section


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How many planned runs have ended.

    Attributes:
        planned: Planned runs.
        statuses: Planned runs by status; ``not run`` for those not begun.
        first: When the first run began, or "".
        last: When the last one ended, or "".
    """

    planned: int
    statuses: Mapping[str, int]
    first: str
    last: str

    @property
    def open(self) -> int:
        """Runs that were not begun or have not ended."""
        return self.statuses.get(NOT_RUN, 0) + self.statuses.get("running", 0)

    @property
    def finished(self) -> bool:
        """Whether every planned run has ended."""
        return self.open == 0


def progress_of(tables: Tables) -> Progress:
    """Count the planned runs by status."""
    rows = tables.rows.values()
    statuses: dict[str, int] = dict(Counter(str(row.status) for row in rows).most_common())
    if tables.planned > len(rows):
        statuses[NOT_RUN] = tables.planned - len(rows)
    return Progress(
        planned=tables.planned,
        statuses=statuses,
        first=min((row.started for row in rows), default=""),
        last=max((row.ended or "" for row in rows), default=""),
    )


@dataclass(frozen=True, kw_only=True)
class StudyFindings:
    """ExperimentFindings that every report shares.

    Attributes:
        plan: The plan that counts: the last one that was frozen.
        tables: The tables.
        progress: How many planned runs have ended.
        costs: Usage by arm and role.
        errors: What could not be computed, and why.
        meta: The store's metadata.
    """

    plan: FrozenPlan
    tables: Tables
    progress: Progress
    costs: Costs
    errors: Sequence[str]
    meta: Mapping[str, str]

    @property
    def simulated(self) -> bool:
        """Whether a simulated model wrote a reply of a role or a judge."""
        return self.costs.simulated > 0

    @property
    def wholly_simulated(self) -> bool:
        """Whether simulated models wrote every reply."""
        return self.costs.simulated == self.costs.answered


F = TypeVar("F", bound=StudyFindings, covariant=True)


class Banner(NamedTuple):
    """Something that must be seen before anything else."""

    title: str
    text: str


class Lead(NamedTuple):
    """Lines under a heading of the first screen.

    Attributes:
        title: The heading.
        lines: The lines; the first few are shown at once.
        kind: ``decision`` stands out.
    """

    title: str
    lines: Sequence[str]
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Report(Generic[F]):
    """A report.

    Attributes:
        name: The study's name.
        question: Its question, or "".
        heading: The question, or a default.
        banners: What must be seen first: simulated, unfinished, changed.
        answer: The answer in one sentence.
        leads: Lines beside the answer.
        facts: Names and values beside the answer.
        sections: Everything else.
        findings: What the report was made from.
    """

    name: str
    question: str
    heading: str
    banners: Sequence[Banner]
    answer: str
    leads: Sequence[Lead]
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    findings: F

    def lines(self, title: str) -> Sequence[str]:
        """Return the lines of the lead with this title."""
        return next((lead.lines for lead in self.leads if lead.title == title), ())


def status_banners(findings: StudyFindings, *, unfinished: str, changed: str = "") -> list[Banner]:
    """Return what must be seen before the answer.

    Args:
        findings: The findings.
        unfinished: What it means that runs are missing.
        changed: What was changed after runs had ended, or "".
    """
    found = []
    costs, progress = findings.costs, findings.progress
    if findings.wholly_simulated and findings.simulated:
        words = (
            "No language model wrote these replies or verdicts. The figures measure nothing but "
            "the simulation."
        )
        found.append(Banner("SIMULATED", words))
    elif findings.simulated:
        words = (
            f"{costs.simulated:,} of {amount(costs.answered, 'reply', 'replies')} "
            f"{'was' if costs.simulated == 1 else 'were'} written by no language "
            f"model ({costs.simulated_judging:,} of them verdicts of judges)."
        )
        found.append(Banner("PARTLY SIMULATED", words))
    if not progress.finished:
        ended = progress.planned - progress.open
        words = (
            f"{ended:,} of {amount(progress.planned, 'planned run')} "
            f"{'has' if ended == 1 else 'have'} ended. Every figure is of these alone, and {unfinished}."
        )
        found.append(Banner("UNFINISHED", words))
    if changed:
        found.append(Banner("ANALYSIS CHANGED AFTER DATA EXISTED", changed))
    if findings.errors and findings.tables.rows:
        found.append(Banner("NOT ALL COULD BE COMPUTED", "; ".join(findings.errors)))
    return found


def answer_opening(findings: StudyFindings) -> str:
    """Return how the answer begins where replies were simulated or runs are missing."""
    words = ""
    if findings.simulated:
        words = f"With {'' if findings.wholly_simulated else 'partly '}simulated models"
    if not findings.progress.finished:
        ended = findings.progress.planned - findings.progress.open
        so_far = f"so far ({ended:,} of {amount(findings.progress.planned, 'run')})"
        words = f"{words}, {so_far}" if words else so_far.capitalize()
    return f"{words}, " if words else ""


def run_facts(findings: StudyFindings) -> list[tuple[str, str]]:
    """Return the runs by status, and the cost of the study."""
    progress = findings.progress
    ended = ", ".join(f"{count:,} {status}" for status, count in progress.statuses.items())
    return [
        ("Runs", f"{progress.planned:,} planned: {ended}"),
        ("Cost of the study", cost_summary(findings.costs)),
    ]


def cost_summary(costs: Costs) -> str:
    """Summarise the cost of a study: dollars, tokens, what was shared or paid before."""
    total = costs.total
    cost = (
        money(total.cost)
        if total.cost is not None
        else f"over {money(total.usd)} (some prices unknown)"
    )
    unreal = f" ({costs.unreal})" if costs.unreal and total.usd else ""
    words = f"{cost}{unreal} and {total.tokens:,} tokens"
    judging = sum(arm.judging.tokens for arm in costs.arms.values())
    if judging:
        words += f", {percent(judging / max(total.tokens, 1))} of them for judging"
    if costs.between_arms:
        shared = total.shared_tokens - total.cached_tokens
        words += f"; {shared:,} tokens were shared between arms and paid once"
    if total.cached_calls:
        kept = f" ({money(total.cached_usd)})" if total.cached_usd else ""
        words += f"; {total.cached_tokens:,} tokens{kept} had been paid by other studies"
    return words
