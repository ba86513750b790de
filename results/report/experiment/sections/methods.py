"""Methods section: what was done, in words for a paper."""

from __future__ import annotations

from orglab.providers.base import JSON
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import Block, Bullets, Paragraph, Section
from orglab.results.report.render.pages import paragraphs, sentences

__all__ = ["methods_section"]


def methods_section(findings: ExperimentFindings) -> Section:
    """Describe design, measures, analysis and sources."""
    values = _values(findings)
    texts = paragraphs("methods.txt.j2", **values)
    blocks: list[Block] = [Paragraph(text=text) for text in texts]
    if findings.analysis is not None:
        blocks.append(Bullets(items=sorted(sentences("sources.txt.j2", **values))))
    blocks.append(Paragraph.note(_software(findings)))
    return Section(id="methods", title="Methods", blocks=blocks)


def _values(findings: ExperimentFindings) -> dict[str, JSON]:
    """Return what the templates show."""
    plan, analysis, runs = findings.plan.normal, findings.analysis, findings.tables.runs
    rows = [*analysis.primary, *analysis.followups] if analysis else []
    judging = analysis.judging if analysis else ()
    models = [name for name in runs.columns if name.startswith("model.")]
    names = [name for each in plan["evaluators"] for name in each]
    return {
        "findings": findings,
        "plan": plan,
        "arms": findings.plan.arms,
        "models_vary": any(runs[name].nunique() > 1 for name in models),
        "evaluators": list(dict.fromkeys(names)),
        "judging": judging,
        "judges": [each.judge for each in judging[0].judges] if judging else [],
        "analysis": analysis,
        "asked": findings.analysis_plan,
        "paired": any(row.test == "paired t" for row in rows),
        "rates": any(row.rates for row in rows),
        "families": {row.family: row.family_size for row in rows if row.family_size > 1},
        "robust": any(row.robust for row in rows),
        "gaps": any(side.missing.units for row in rows for side in row.arms.values()),
        "mtld": any(each.measure == "mtld" for each in (analysis.drafts if analysis else ())),
    }


def _software(findings: ExperimentFindings) -> str:
    meta, progress = findings.meta, findings.progress
    when = (
        f"Runs were made from {progress.first} to {progress.last or 'now'}"
        if progress.first
        else "No run was begun"
    )
    return (
        f"{when}, with orglab {meta.get('orglab', '(unknown)')} on Python "
        f"{meta.get('python', '(unknown)')}; the frozen plan has the hash "
        f"{findings.plan.hash}."
    )
