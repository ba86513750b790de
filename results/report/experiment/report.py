"""The report of an experiment: HTML, Markdown and JSON from its store alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from orglab.results.number_format import amount
from orglab.results.report.experiment.answer import answer, decision_lines
from orglab.results.report.experiment.findings import Findings, read_findings
from orglab.results.report.experiment.sections.costs import costs_part, total_words
from orglab.results.report.experiment.sections.deviations import changed_after_data, deviations_part
from orglab.results.report.experiment.sections.dose import dose_part
from orglab.results.report.experiment.sections.drafts import drafts_part
from orglab.results.report.experiment.sections.effects import effects_part, pairs_part
from orglab.results.report.experiment.sections.execution import attrition_part, loops_part
from orglab.results.report.experiment.sections.hedges import hedges_part
from orglab.results.report.experiment.sections.judges import judges_part
from orglab.results.report.experiment.sections.methods import methods_part
from orglab.results.report.experiment.sections.moderators import drawn_part
from orglab.results.report.experiment.sections.robustness import (
    leaving_out_part,
    sensitivity_part,
    subsets_part,
)
from orglab.results.report.experiment.sections.treatment import treatment_part, treatment_words
from orglab.results.report.page import Banner, Lead, simulation_banner
from orglab.results.report.render.blocks import Section

__all__ = ["Banner", "Report", "report_of"]

Part: TypeAlias = Callable[[Findings], Section | None]

_PARTS: Sequence[Part] = (
    effects_part,
    pairs_part,
    sensitivity_part,
    leaving_out_part,
    subsets_part,
    dose_part,
    drafts_part,
    judges_part,
    drawn_part,
    hedges_part,
    costs_part,
    loops_part,
    attrition_part,
    deviations_part,
    treatment_part,
    methods_part,
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report, ready to be shown.

    Attributes:
        name: The study's name.
        question: What it asks, or "".
        banners: What must be seen first: simulated, unfinished, changed.
        answer: The answer in one sentence.
        treatment: What the arms differ in, one line a contrast.
        facts: Name and value of what stands beside the answer.
        decisions: One line a contrast for who must decide.
        sections: Everything else.
        findings: What it was made from.
    """

    name: str
    question: str
    banners: Sequence[Banner]
    answer: str
    treatment: Sequence[str]
    facts: Sequence[tuple[str, str]]
    decisions: Sequence[str]
    sections: Sequence[Section]
    findings: Findings

    @property
    def heading(self) -> str:
        """The question, or what every experiment asks."""
        return self.question or "What does the difference between the arms do?"

    @property
    def leads(self) -> Sequence[Lead]:
        """The treatment, and the lines for who must decide."""
        return [Lead("Treatment", self.treatment), Lead("To decide", self.decisions, "decision")]


def report_of(place: Path) -> Report:
    """Analyses a study and writes nothing.

    Raises:
        StoreError: There is no study at ``place``, or it is no experiment.
    """
    findings = read_findings(place)
    return Report(
        name=findings.plan.normal["name"],
        question=findings.plan.normal["question"],
        banners=_banners(findings),
        answer=answer(findings),
        treatment=treatment_words(findings),
        facts=_facts(findings),
        decisions=decision_lines(findings),
        sections=[section for part in _PARTS if (section := part(findings)) is not None],
        findings=findings,
    )


def _banners(findings: Findings) -> list[Banner]:
    simulation = simulation_banner(findings.costs)
    found = [simulation] if simulation else []
    progress = findings.progress
    if not progress.finished:
        ended = progress.planned - progress.open
        words = (
            f"{ended:,} of {amount(progress.planned, 'planned run')} {'has' if ended == 1 else 'have'} ended. Every "
            "figure is of these alone, and looking early at a result makes a false alarm "
            "likelier."
        )
        found.append(Banner("UNFINISHED", words))
    if changed_after_data(findings):
        words = (
            "The analysis was changed after runs had ended: what it tests was not all "
            "declared beforehand. What was changed stands under Deviations."
        )
        found.append(Banner("ANALYSIS CHANGED AFTER DATA EXISTED", words))
    if findings.faults and findings.tables.rows:
        found.append(Banner("NOT ALL COULD BE COMPUTED", "; ".join(findings.faults)))
    return found


def _facts(findings: Findings) -> list[tuple[str, str]]:
    progress = findings.progress
    ended = ", ".join(f"{count:,} {status}" for status, count in progress.statuses.items())
    units = len(findings.plan.normal["units"])
    return [
        (
            "Units",
            (
                f"{amount(units, 'unit')}, {amount(len(findings.plan.arms), 'arm')}, "
                f"{amount(findings.plan.normal['replicates'], 'replicate')}"
            ),
        ),
        ("Runs", f"{progress.planned:,} planned: {ended}"),
        ("Cost of the study", total_words(findings)),
    ]
