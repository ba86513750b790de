"""Dose-response section: an outcome against a count of events."""

from __future__ import annotations

import numpy as np

from orglab.results.number_format import (
    label,
    number,
    p_value,
)
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.experiment.sections.robustness import coefficient_text
from orglab.results.report.render.blocks import (
    Block,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.prose import sentences
from orglab.results.report.render.scatter import DosePanel, dose_figure
from orglab.results.statistics.data.cells import unit_means
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.models.dose_response import Dose
from orglab.results.statistics.models.regression import Fit

__all__ = ["dose_section"]


def dose_section(findings: ExperimentFindings) -> Section | None:
    """Show every declared dose-response."""
    analysis, dataset = findings.analysis, findings.dataset
    if analysis is None or dataset is None or not analysis.dose:
        return None
    panels = [panel for row in analysis.dose if (panel := _panel(dataset, row))]
    blocks: list[Block] = []
    if panels:
        caption = (
            "Each mark is a unit of the arm; bars are means at each dose. The line is the "
            "least-squares fit, drawn where the model has no covariates."
        )
        blocks.append(FigureBlock(name="dose", svg=dose_figure("dose", panels), caption=caption))
    for row in analysis.dose:
        text = " ".join(sentences("dose.txt.j2", row=row))
        blocks += [Paragraph(text=text), _fits_table(row)]
    return Section(id="dose", title="Dose and response", blocks=blocks)


def _panel(dataset: Dataset, row: Dose) -> DosePanel | None:
    dose, outcome = (
        unit_means(dataset.cells(name).of(row.within)) for name in (row.dose, row.outcome)
    )
    both = np.isfinite(dose) & np.isfinite(outcome)
    if not both.any():
        return None
    fitted = row.classical.coefficients
    return DosePanel(
        title=f"within {row.within}",
        axes=(label(row.dose), label(row.outcome)),
        dose=dose[both],
        outcome=outcome[both],
        line=(fitted[0].estimate, fitted[1].estimate) if fitted and not row.covariates else None,
    )


def _fits_table(row: Dose) -> TableBlock:
    columns = TableColumn.texts("least squares")
    columns += TableColumn.numbers("estimate", "t", "p", "n", "R²")
    rows = [cells for fit in (row.classical, row.clustered) for cells in _fit_rows(fit)]
    return TableBlock(columns=columns, rows=rows)


def _fit_rows(fit: Fit) -> list[list[str]]:
    kind = f"{fit.errors} errors" + (f" ({fit.clusters} clusters)" if fit.clusters else "")
    if not fit.coefficients:
        return [[f"{kind}: {fit.why}", "", "", "", "", ""]]
    return [
        [f"{label(one.name)}, {kind}", coefficient_text(one), number(one.statistic, 2),
         p_value(one.p), str(fit.n), number(fit.r_squared, 2)]
        for one in fit.coefficients[1:]
    ]  # fmt: skip
