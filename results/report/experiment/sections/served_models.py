"""Models that did not stay the same while the study ran."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.results.number_format import NOTHING, amount
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.render.blocks import Block, Column, Paragraph, Table
from orglab.results.usage.served_models import Drift

__all__ = ["served_blocks"]


def served_blocks(findings: Findings) -> list[Block]:
    """A warning and a table; [] where every model was served by one."""
    if not findings.drifts:
        return []
    words = (
        f"{amount(len(findings.drifts), 'model')} that was asked for did not stay the same: several "
        "versions served it. Where arms were served by other versions, what differs between them "
        "need not be the treatment."
    )
    columns = [
        Column(title=title, figures=False) for title in ("asked for", "served", "fingerprint")
    ]
    columns += [Column(title=f"{arm}: calls") for arm in findings.plan.arms]
    rows = [row for drift in findings.drifts for row in _rows(drift, findings.plan.arms)]
    table = Table(columns=columns, rows=rows, caption="Models served by several versions")
    return [Paragraph(text=words, kind="warning"), table]


def _rows(drift: Drift, arms: Sequence[str]) -> list[list[str]]:
    return [
        [
            drift.model or drift.provider,
            version.served,
            version.fingerprint or NOTHING,
            *[f"{version.calls.get(arm, 0):,}" for arm in arms],
        ]
        for version in drift.versions
    ]
