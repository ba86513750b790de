"""Writes a report: ``report.html``, ``report.md``, ``report.json``, transcripts, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.report.experiment.costs import ArmCosts, UsageTotals
from orglab.results.report.experiment.findings import ExperimentFindings, HedgeCounts
from orglab.results.report.experiment.plan_history import is_sweep
from orglab.results.report.experiment.report import report_of
from orglab.results.report.experiment.transcripts import transcript_pages
from orglab.results.report.page import Report, StudyFindings
from orglab.results.report.render.blocks import Block, FigureBlock, Fold
from orglab.results.report.render.canvas import standalone
from orglab.results.report.render.pages import html_page, markdown_page
from orglab.results.report.sweep.findings import OutcomeFindings, SweepFindings
from orglab.results.store.reader import Reader

FORMAT = 1
"""Grows when fields change their meaning."""


def _common(report: Report[StudyFindings], kind: dict[str, JSON]) -> dict[str, JSON]:
    return {
        "format": FORMAT,
        **kind,
        "name": report.name,
        "question": report.question,
        "simulated": report.findings.simulated,
        "finished": report.findings.progress.finished,
        "banners": [banner._asdict() for banner in report.banners],
        "answer": report.answer,
    }


def _plan(findings: StudyFindings) -> dict[str, JSON]:
    plan = findings.plan
    return {"hash": plan.hash, "frozen": plan.added, **plan.normal}


def experiment_json(report: Report[ExperimentFindings]) -> dict[str, JSON]:
    """Convert an experiment's report to strict JSON; what is missing is null, never 0."""
    findings = report.findings
    return _common(report, {}) | {
        "decisions": list(report.lines("To decide")),
        "treatment": list(report.lines("Treatment")),
        "plan": _plan(findings),
        "declared": findings.declared,
        "faults": list(findings.errors),
        "plan_changes": [asdict(change) for change in findings.changes],
        "runs": {
            **asdict(findings.progress),
            "outside_the_plan": findings.tables.outside,
            "of_earlier_contents": findings.tables.earlier,
        },
        "analysis": findings.analysis.json() if findings.analysis is not None else None,
        "costs": {name: _arm(arm) for name, arm in findings.costs.arms.items()},
        "calls": findings.costs.calls,
        "simulated_calls": findings.costs.simulated,
        "loops": [row._asdict() for row in findings.loops],
        "hedges": {
            arguments: {arm: _hedges(counts) for arm, counts in arms.items()}
            for arguments, arms in findings.hedges.items()
        },
        "drifts": [drift.as_json() for drift in findings.drifts],
        "cut_requests": [asdict(call) for call in findings.spending.cut]
        if findings.spending
        else [],
        "made_with": dict(findings.meta),
    }


def _hedges(counts: HedgeCounts) -> dict[str, JSON]:
    return vars(counts) | {"classes": dict(counts.classes), "terms": dict(counts.terms)}


def _arm(arm: ArmCosts) -> dict[str, JSON]:
    return {
        "runs": arm.runs,
        "roles": {role: _usage(use) for role, use in arm.roles.items()},
        "generation": _usage(arm.generation),
        "judging": _usage(arm.judging),
        "both": _usage(arm.both),
        "put_aside": _usage(arm.put_aside),
    }


def _usage(use: UsageTotals) -> dict[str, JSON]:
    return {
        "calls": use.calls,
        "tokens": use.tokens,
        "cost_usd": use.cost,
        "priced_usd": use.usd,
        "unpriced_calls": use.unpriced,
        "seconds": use.seconds,
        "shared_calls": use.shared_calls,
        "kept_calls": use.cached_calls,
        "kept_tokens": use.cached_tokens,
        "kept_usd": use.cached_usd,
        "net_tokens": use.net_tokens,
        "net_cost_usd": use.net_cost,
    }


def sweep_json(report: Report[SweepFindings]) -> dict[str, JSON]:
    """Convert a sweep's report to strict JSON; what is missing is null, never 0."""
    findings = report.findings
    total = findings.costs.total
    return _common(report, {"kind": "sweep"}) | {
        "leads": [{"title": each.title, "lines": list(each.lines)} for each in report.leads],
        "plan": _plan(findings),
        "plan_changes": [asdict(change) for change in findings.changes],
        "faults": list(findings.errors),
        "runs": {**asdict(findings.progress), "outside_the_plan": findings.tables.outside},
        "quality": findings.main.name if findings.main else None,
        "quality_chosen": findings.chosen,
        "cost_in": findings.cost,
        "cost": {
            "tokens": total.tokens,
            "cost_usd": total.cost,
            "priced_usd": total.usd,
            "calls": findings.costs.calls,
            "simulated_calls": findings.costs.simulated,
        },
        "outcomes": [_outcome(findings, outcome) for outcome in findings.outcomes],
        "front": [
            {
                "variant": findings.names[row.point],
                "cost": asdict(row.cost),
                "quality": asdict(row.quality),
                "front": row.front,
                "held": row.share,
            }
            for row in findings.front
        ],
        "made_with": dict(findings.meta),
    }


def _outcome(findings: SweepFindings, outcome: OutcomeFindings) -> dict[str, JSON]:
    axes = findings.axes
    return {
        "outcome": outcome.name,
        "lower_is_better": outcome.lower,
        "reference": findings.names[findings.reference],
        "variants": [
            {
                "variant": findings.names[row.point],
                "team": findings.teams[row.point],
                "levels": {
                    axis.name: axis.labels[code]
                    for axis, code in zip(
                        axes, findings.design.codes[row.point].tolist(), strict=True
                    )
                },
                "mean": asdict(row.mean),
                "difference": asdict(row.against),
                "p_adjusted": row.p_adjusted,
            }
            for row in outcome.variants
        ],
        "main_effects": [
            {
                "factor": axes[row.factor].name,
                "level": axes[row.factor].labels[row.level],
                "mean": asdict(row.mean),
                "difference": asdict(row.effect) if row.how else None,
                "p_adjusted": row.p_adjusted,
                "how": row.how or "reference",
            }
            for row in outcome.effects
        ],
        "trends": [
            {"factor": axes[row.factor].name, "slope": asdict(row.slope), "log": row.log}
            for row in outcome.trends
        ],
        "interactions": [
            {
                "factors": [axes[at].name for at in row.factors],
                "levels": [
                    axes[at].labels[level]
                    for at, level in zip(row.factors, row.levels, strict=True)
                ],
                "difference": asdict(row.effect),
                "p_adjusted": row.p_adjusted,
            }
            for row in outcome.interactions
        ],
    }


class Written(NamedTuple):
    """What was written.

    Attributes:
        answer: The answer in one sentence.
        simulated: A reply was written by no language model.
        page: The page to open.
        files: How many files were written.
        lines: What else a terminal shows: of a sweep the best variants.
    """

    answer: str
    simulated: bool
    page: Path
    files: int
    lines: Sequence[str] = ()


def write_report(place: Path, out: Path | None = None, *, transcripts: bool = True) -> Written:
    """Analyse a study and write its report; existing files are replaced.

    Args:
        place: The study's folder or file.
        out: The folder to write to; default: the study's own.
        transcripts: Write the pages of transcripts too, one a unit.

    Raises:
        StoreError: There is no study, or it is no experiment and no sweep.
        OSError: A file cannot be written.
    """
    folder = out or (place if place.is_dir() else place.parent)
    with Reader(place) as reader:
        of_sweep = is_sweep(reader)
    if of_sweep:
        # Imported here: the report of an experiment does not need it.
        from orglab.results.report.sweep.report import sweep_report_of

        sweep = sweep_report_of(place)
        lines = [
            f"{lead.title}: {line}"
            for lead in sweep.leads
            if lead.title in ("Best", "To decide")
            for line in lead.lines
        ]
        return _write_pages(folder, sweep, sweep_json(sweep), [])._replace(lines=lines)
    report = report_of(place)
    links = []
    if transcripts:
        with Reader(place) as reader:
            for unit, name, text in transcript_pages(reader, report.findings):
                _write_file(folder / "transcripts" / name, text)
                links.append((unit, f"transcripts/{quote(name)}"))
    return _write_pages(folder, report, experiment_json(report), links)


def _write_pages(
    folder: Path, report: Report[StudyFindings], form: JSON, links: list[tuple[str, str]]
) -> Written:
    figures = list(_figures(block for section in report.sections for block in section.blocks))
    for figure in figures:
        _write_file(folder / "figures" / f"{figure.name}.svg", standalone(figure.svg))
    _write_file(folder / "report.json", dumps(form) + "\n")
    _write_file(folder / "report.md", markdown_page(report, links))
    _write_file(folder / "report.html", html_page(report, links))
    return Written(
        answer=report.answer,
        simulated=report.findings.simulated,
        page=folder / "report.html",
        files=3 + len(links) + len(figures),
    )


def _figures(blocks: Iterable[Block]) -> Iterator[FigureBlock]:
    for block in blocks:
        if isinstance(block, FigureBlock):
            yield block
        elif isinstance(block, Fold):
            yield from _figures(block.blocks)


def _write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all; lone surrogates are escaped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
