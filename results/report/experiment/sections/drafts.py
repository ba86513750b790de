"""Drafts: the second against the first, the first against the other arm's report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orglab.results.number_format import (
    NOTHING,
    clear_places,
    interval,
    label,
    number,
    p_value,
    signed,
)
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.render.blocks import Block, Column, Figure, Paragraph, Section, Table
from orglab.results.report.render.slope_plot import SlopePanel, slopes
from orglab.results.statistics.models.draft_comparison import DraftRow

__all__ = ["drafts_part"]


def drafts_part(findings: Findings) -> Section | None:
    """Every declared comparison of drafts."""
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
        blocks.append(Figure(name="drafts", svg=slopes("drafts", panels), caption=caption))
    blocks.append(_table(rows))
    words = (
        "Only runs in which the role wrote a second draft are in the rows of second drafts: they "
        "were chosen by what happened. Rows are not corrected for the number of tests."
    )
    blocks.append(Paragraph(text=words, kind="note"))
    return Section(id="drafts", title="Drafts", blocks=blocks)


def _table(rows: Sequence[DraftRow]) -> Table:
    columns = [
        Column(title=title, figures=False) for title in ("role, arm", "measure", "comparison")
    ]
    columns += [
        Column(title=title)
        for title in ("n", "mean", "against", "difference", "d_z", "p", "Wilcoxon p", "median")
    ]
    return Table(columns=columns, rows=[_cells(row) for row in rows])


def _cells(row: DraftRow) -> list[str]:
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
    digits = clear_places(test.difference, test.low, test.high)
    size = f"{signed(test.difference, digits)}"
    size += f" [{interval(test.low, test.high, digits)}]" if test.low is not None else ""
    return [
        *cells,
        number(row.against.mean),
        size,
        number(test.d_z, 2),
        p_value(test.p) if test.p is not None else test.why,
        p_value(row.robust.p) if row.robust else NOTHING,
        median,
    ]


def _panel(findings: Findings, row: DraftRow) -> SlopePanel | None:
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


def _means(findings: Findings, drafts: pd.DataFrame) -> pd.Series[float]:
    """Unit means over the completed runs."""
    runs = findings.tables.runs
    done = runs.loc[runs["status"] == "completed", ["arm", "unit", "replicate"]]
    known = drafts.dropna(subset=["value"]).merge(done, on=["arm", "unit", "replicate"])
    return known.astype({"value": "float64"}).groupby("unit")["value"].mean().sort_index()
