"""Drafts section: the second against the first, the first against the other arm's report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orglab.results.number_format import NOTHING, label, number, p_value, with_interval
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import (
    Block,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.panel_plots import SlopePanel, slopes
from orglab.results.statistics.models.draft_comparison import DraftRow


def drafts_section(findings: ExperimentFindings) -> Section | None:
    """Show every declared comparison of drafts."""
    analysis, plan = findings.analysis, findings.analysis_plan
    if analysis is None or plan is None or not plan.drafts:
        return None
    rows = analysis.drafts
    if not rows:
        words = "No run has a second draft, and no first draft could be compared."
        return Section(id="drafts", title="Drafts", blocks=[Paragraph(text=words)])
    blocks: list[Block] = []
    panels = [panel for row in rows if (panel := _panel(findings, row))]
    if panels:
        caption = (
            "First and second draft of the same run: green where the second is higher, red "
            "where it is lower. Black: means."
        )
        blocks.append(FigureBlock(name="drafts", svg=slopes("drafts", panels), caption=caption))
    blocks.append(_drafts_table(rows))
    words = (
        "Only runs in which the role wrote a second draft are in the rows of second drafts: they "
        "were chosen by what happened. Rows are not corrected for the number of tests."
    )
    blocks.append(Paragraph.note(words))
    return Section(id="drafts", title="Drafts", blocks=blocks)


def _drafts_table(rows: Sequence[DraftRow]) -> TableBlock:
    columns = TableColumn.texts("role, arm", "measure", "comparison")
    columns += TableColumn.numbers(
        "n", "mean", "against", "difference", "d_z", "p", "Wilcoxon p", "median"
    )
    return TableBlock(columns=columns, rows=[_draft_cells(row) for row in rows])


def _draft_cells(row: DraftRow) -> list[str]:
    cells = [
        f"{row.role}, {row.arm}",
        label(row.measure),
        row.comparison.replace(" - ", " against "),
    ]
    cells += [str(row.summary.n), number(row.summary.mean)]
    median = number(row.summary.median)
    if row.test is None or row.against is None:
        return [*cells, *[NOTHING] * 5, median]
    test = row.test
    return [
        *cells,
        number(row.against.mean),
        with_interval(test.difference, test.low, test.high),
        number(test.d_z, 2),
        p_value(test.p) if test.p is not None else test.why,
        p_value(row.robust.p) if row.robust else NOTHING,
        median,
    ]


def _panel(findings: ExperimentFindings, row: DraftRow) -> SlopePanel | None:
    if row.comparison != "second - first" or not row.summary.n:
        return None
    drafts = findings.tables.drafts
    own = drafts[
        (drafts["role"] == row.role)
        & (drafts["measure"] == row.measure)
        & (drafts["arm"] == row.arm)
    ]
    first, second = (_means(findings, own[own["visit"] == number]) for number in (1, 2))
    both = first.index.intersection(second.index)
    if not len(both):
        return None
    return SlopePanel(
        title=f"{label(row.measure)}, {row.arm}",
        sides=("first", "second"),
        left=np.asarray(first.loc[both], dtype=np.float64),
        right=np.asarray(second.loc[both], dtype=np.float64),
    )


def _means(findings: ExperimentFindings, drafts: pd.DataFrame) -> pd.Series[float]:
    """Return unit means over the completed runs."""
    runs = findings.tables.runs
    done = runs.loc[runs["status"] == "completed", ["arm", "unit", "replicate"]]
    known = drafts.dropna(subset=["value"]).merge(done, on=["arm", "unit", "replicate"])
    return known.astype({"value": "float64"}).groupby("unit")["value"].mean().sort_index()
