"""The report of a sweep as plain data, for other programs."""

from __future__ import annotations

from dataclasses import asdict

from orglab.providers.base import JSON
from orglab.results.report.sweep.findings import OutcomeFindings, SweepFindings
from orglab.results.report.sweep.report import SweepReport
from orglab.results.statistics.models.main_effects import Estimate

__all__ = ["FORMAT", "sweep_json_form"]


FORMAT = 1
"""Grows when fields change their meaning."""


def sweep_json_form(report: SweepReport) -> dict[str, JSON]:
    """Everything that the report tells, in strict JSON; what is missing is null, never 0."""
    findings = report.findings
    total = findings.costs.total
    return {
        "format": FORMAT,
        "kind": "sweep",
        "name": report.name,
        "question": report.question,
        "simulated": findings.simulated,
        "finished": findings.progress.finished,
        "banners": [{"title": each.title, "text": each.text} for each in report.banners],
        "answer": report.answer,
        "leads": [{"title": each.title, "lines": list(each.lines)} for each in report.leads],
        "plan": {
            "hash": findings.plan.hash,
            "frozen": findings.plan.added,
            **findings.plan.normal,
        },
        "plan_changes": [asdict(change) for change in findings.changes],
        "faults": list(findings.faults),
        "runs": {**asdict(findings.progress), "outside_the_plan": findings.tables.outside},
        "quality": findings.quality,
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
                "cost": _estimate(row.cost),
                "quality": _estimate(row.quality),
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
                "mean": _estimate(row.mean),
                "difference": _estimate(row.against),
                "p_adjusted": row.p_adjusted,
            }
            for row in outcome.variants
        ],
        "main_effects": [
            {
                "factor": axes[row.factor].name,
                "level": axes[row.factor].labels[row.level],
                "mean": _estimate(row.mean),
                "difference": _estimate(row.effect) if row.how else None,
                "p_adjusted": row.p_adjusted,
                "how": row.how or "reference",
            }
            for row in outcome.effects
        ],
        "trends": [
            {"factor": axes[row.factor].name, "slope": _estimate(row.slope), "log": row.log}
            for row in outcome.trends
        ],
        "interactions": [
            {
                "factors": [axes[at].name for at in row.factors],
                "levels": [
                    axes[at].labels[level]
                    for at, level in zip(row.factors, row.levels, strict=True)
                ],
                "difference": _estimate(row.effect),
                "p_adjusted": row.p_adjusted,
            }
            for row in outcome.interactions
        ],
    }


def _estimate(found: Estimate) -> dict[str, JSON]:
    return asdict(found)
