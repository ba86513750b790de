"""The report as plain data, for other programs."""

from __future__ import annotations

from dataclasses import asdict

from orglab.providers.base import JSON
from orglab.results.report.experiment.costs import ArmCosts, Use
from orglab.results.report.experiment.counts import HedgeCounts
from orglab.results.report.experiment.report import Report

__all__ = ["FORMAT", "json_form"]


FORMAT = 1
"""Grows when fields change their meaning."""


def json_form(report: Report) -> dict[str, JSON]:
    """Everything that the report tells, in strict JSON; what is missing is null, never 0."""
    findings = report.findings
    analysis = findings.analysis
    return {
        "format": FORMAT,
        "name": report.name,
        "question": report.question,
        "simulated": findings.simulated,
        "finished": findings.progress.finished,
        "banners": [{"title": each.title, "text": each.text} for each in report.banners],
        "answer": report.answer,
        "decisions": list(report.decisions),
        "treatment": list(report.treatment),
        "plan": {
            "hash": findings.plan.hash,
            "frozen": findings.plan.added,
            **findings.plan.normal,
        },
        "declared": findings.declared,
        "faults": list(findings.faults),
        "plan_changes": [asdict(change) for change in findings.changes],
        "runs": {
            **asdict(findings.progress),
            "outside_the_plan": findings.tables.outside,
            "of_earlier_contents": findings.tables.earlier,
        },
        "analysis": analysis.json() if analysis is not None else None,
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
    return {
        "runs": counts.runs,
        "words": counts.words,
        "classes": dict(counts.classes),
        "terms": dict(counts.terms),
    }


def _arm(arm: ArmCosts) -> dict[str, JSON]:
    return {
        "runs": arm.runs,
        "roles": {role: _use(use) for role, use in arm.roles.items()},
        "generation": _use(arm.generation),
        "judging": _use(arm.judging),
        "both": _use(arm.both),
        "put_aside": _use(arm.put_aside),
    }


def _use(use: Use) -> dict[str, JSON]:
    return {
        "calls": use.calls,
        "tokens": use.tokens,
        "cost_usd": use.cost,
        "priced_usd": use.usd,
        "unpriced_calls": use.unpriced,
        "seconds": use.seconds,
        "shared_calls": use.shared_calls,
        "kept_calls": use.kept_calls,
        "kept_tokens": use.kept_tokens,
        "kept_usd": use.kept_usd,
        "net_tokens": use.net_tokens,
        "net_cost_usd": use.net_cost,
    }
