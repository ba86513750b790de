"""The report of an experiment: HTML, Markdown and JSON from its store alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from orglab.results.number_format import amount
from orglab.results.report.experiment.answer import answer, decision_lines
from orglab.results.report.experiment.findings import ExperimentFindings, read_findings
from orglab.results.report.experiment.sections.costs import costs_section
from orglab.results.report.experiment.sections.drafts import drafts_section
from orglab.results.report.experiment.sections.effects import effects_section, pairs_section
from orglab.results.report.experiment.sections.execution import (
    attrition_section,
    changed_after_data,
    deviations_section,
    loops_section,
    methods_section,
)
from orglab.results.report.experiment.sections.hedges import hedges_section
from orglab.results.report.experiment.sections.judges import judges_section
from orglab.results.report.experiment.sections.robustness import (
    dose_section,
    leave_one_out_section,
    moderators_section,
    sensitivity_section,
    subsets_section,
)
from orglab.results.report.experiment.sections.treatment import treatment_lines, treatment_section
from orglab.results.report.page import Lead, Report, run_facts, status_banners
from orglab.results.report.render.blocks import Section

_SECTIONS: Sequence[Callable[[ExperimentFindings], Section | None]] = (
    effects_section,
    pairs_section,
    sensitivity_section,
    leave_one_out_section,
    subsets_section,
    dose_section,
    drafts_section,
    judges_section,
    moderators_section,
    hedges_section,
    costs_section,
    loops_section,
    attrition_section,
    deviations_section,
    treatment_section,
    methods_section,
)


def report_of(place: Path) -> Report[ExperimentFindings]:
    """Analyse an experiment.

    Raises:
        StoreError: There is no study at ``place``, or it is no experiment.
    """
    findings = read_findings(place)
    plan = findings.plan.normal
    changed = (
        "The analysis was changed after runs had ended: what it tests was not all "
        "declared beforehand. What was changed stands under Deviations."
    )
    unfinished = "looking early at a result makes a false alarm likelier"
    units = (
        f"{amount(len(plan['units']), 'unit')}, {amount(len(findings.plan.arms), 'arm')}, "
        f"{amount(plan['replicates'], 'replicate')}"
    )
    return Report(
        name=plan["name"],
        question=plan["question"],
        heading=plan["question"] or "What does the difference between the arms do?",
        banners=status_banners(
            findings, unfinished=unfinished, changed=changed if changed_after_data(findings) else ""
        ),
        answer=answer(findings),
        leads=[
            Lead("Treatment", treatment_lines(findings)),
            Lead("To decide", decision_lines(findings), "decision"),
        ],
        facts=[("Units", units), *run_facts(findings)],
        sections=[section for build in _SECTIONS if (section := build(findings)) is not None],
        findings=findings,
    )
