"""Robustness of the effects: covariates, mixed models, leaving one out, subsets, moderators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from orglab.results.number_format import (
    MINUS,
    NOTHING,
    amount,
    label,
    name_list,
    number,
    p_equals,
    p_value,
    places,
    signed,
    with_interval,
)
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.experiment.sections.effects import (
    contrast_name,
    effect_forest,
    effect_table,
    several_contrasts,
)
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.pages import sentences
from orglab.results.report.render.panel_plots import DosePanel, dose_figure
from orglab.results.report.render.row_plots import DotRow, dots
from orglab.results.statistics.data.cells import unit_means
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.models.leave_one_out import LeaveOneOut, LeftOut
from orglab.results.statistics.models.regression import Coefficient, Dose, Fit
from orglab.results.statistics.models.sensitivity import AdjustedEffect, MixedEffect
from orglab.results.statistics.models.subgroups import Split

_FEW = 6
_MOST_DRAWN = 24


def leave_one_out_section(findings: ExperimentFindings) -> Section | None:
    """Show effects without each judge and each unit."""
    rows = findings.analysis.leave_one_out if findings.analysis else ()
    if not rows:
        return None
    blocks: list[Block] = []
    drawn = _dot_rows(_rows_to_draw(findings, rows))
    if drawn:
        svg = dots(
            "leaving-out", drawn, axis="d_z, arm minus reference",
            whole="with all", others="without each unit",
        )  # fmt: skip
        caption = (
            "Each effect without each judge (coloured) and without each unit (grey). The "
            "line is the effect with all."
        )
        blocks.append(FigureBlock(name="leaving-out", svg=svg, caption=caption))
    columns = TableColumn.texts("outcome", "without\neach")
    columns += TableColumn.numbers("with all", "smallest", "largest")
    columns += TableColumn.texts("sign turns\nwithout", "significance turns\nwithout")
    blocks.append(
        TableBlock(
            columns=columns,
            rows=[_leave_one_out_cells(row, several=several_contrasts(findings)) for row in rows],
        )
    )
    return Section(id="leaving-out", title="Leaving one out", blocks=blocks)


def _leave_one_out_cells(row: LeaveOneOut, several: bool) -> list[str]:
    cells = [contrast_name(row.outcome, row.arm, row.reference, several=several), row.by]
    if row.why:
        return [*cells, signed(row.full.difference), row.why, NOTHING, NOTHING, NOTHING]
    ends = (row.full, row.smallest, row.largest)
    digits = places(*[each.difference for each in ends if each is not None])
    return [
        *cells,
        signed(row.full.difference, digits),
        _without(row.smallest, digits),
        _without(row.largest, digits),
        _names_or_none(row.sign_flips),
        _names_or_none(row.significance_flips),
    ]


def _without(row: LeftOut | None, digits: int) -> str:
    return NOTHING if row is None else f"{signed(row.difference, digits)} ({row.left_out})"


def _names_or_none(names: Sequence[str]) -> str:
    if not names:
        return "none"
    if len(names) > _FEW:
        return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
    return name_list(list(names))


def _rows_to_draw(
    findings: ExperimentFindings, rows: Sequence[LeaveOneOut]
) -> Sequence[LeaveOneOut]:
    """Return all rows, or the primary outcomes alone if the figure would be very long."""
    primary = findings.analysis_plan.primary if findings.analysis_plan else ()
    few = len({(row.outcome, row.arm, row.reference) for row in rows}) <= _MOST_DRAWN
    return rows if few or not primary else [row for row in rows if row.outcome in primary]


def _dot_rows(rows: Sequence[LeaveOneOut]) -> list[DotRow]:
    made = []
    several = len({(row.arm, row.reference) for row in rows}) > 1
    for key in dict.fromkeys((row.outcome, row.arm, row.reference) for row in rows):
        own = [row for row in rows if (row.outcome, row.arm, row.reference) == key]
        if own[0].full.d_z is None:
            continue
        title = contrast_name(*key, several=several)
        made.append(
            DotRow(
                label=title,
                named=list(_sizes_without(row for row in own if row.by == "judge")),
                others=[
                    value for _, value in _sizes_without(row for row in own if row.by == "unit")
                ],
                whole=own[0].full.d_z,
            )
        )
    return made


def _sizes_without(rows: Iterable[LeaveOneOut]) -> Iterable[tuple[str, float]]:
    for row in rows:
        for each in row.rows:
            if each.d_z is not None:
                yield f"without {each.left_out}", each.d_z


# --- covariates and mixed models ------------------------------------------------------------------


def sensitivity_section(findings: ExperimentFindings) -> Section | None:
    """Show covariates partialled out, and mixed models."""
    analysis = findings.analysis
    if analysis is None or not (analysis.adjusted or analysis.mixed):
        return None
    blocks: list[Block] = []
    if analysis.adjusted:
        words = (
            "The difference that remains where the arms do not differ in the covariate: "
            "differences regressed on the covariate's differences, at 0."
        )
        blocks += [
            Paragraph(text=words),
            _adjusted_table(analysis.adjusted, several=several_contrasts(findings)),
        ]
    if analysis.mixed:
        words = (
            "Linear mixed models (REML), as a check of the paired t. p is from t with "
            "units less one degrees of freedom, not from z."
        )
        blocks.append(Paragraph(text=words))
        blocks += [block for row in analysis.mixed for block in _mixed_blocks(row)]
    return Section(id="sensitivity", title="Covariates and mixed models", blocks=blocks)


def _adjusted_table(rows: Sequence[AdjustedEffect], *, several: bool) -> TableBlock:
    columns = TableColumn.texts("outcome", "held equal")
    columns += TableColumn.numbers("pairs", "left out", "remaining difference", "p")
    columns += TableColumn.numbers("slope of the covariate")
    return TableBlock(columns=columns, rows=[_adjusted_cells(row, several) for row in rows])


def _adjusted_cells(row: AdjustedEffect, several: bool) -> list[str]:
    found = row.adjusted
    cells = [
        contrast_name(row.outcome, row.arm, row.reference, several=several),
        name_list([label(name) for name in found.covariates]),
    ]
    cells += [str(found.n), str(row.left_out)]
    if found.difference is None:
        return [*cells, found.why, "none", NOTHING]
    slopes = "; ".join(coefficient_text(one) for one in found.slopes)
    return [*cells, coefficient_text(found.difference), p_value(found.difference.p), slopes]


def coefficient_text(found: Coefficient) -> str:
    """Format a coefficient: ``+0.14 [0.07 to 0.21]``."""
    return with_interval(found.estimate, found.low, found.high)


def _mixed_blocks(row: MixedEffect) -> list[Block]:
    model = row.model
    title = (
        f"{label(row.outcome)}, {row.arm} {MINUS} {row.reference}: {row.structure}; "
        f"rows are {row.rows_are}"
    )
    if model.why:
        return [Paragraph.note(f"{title}. No fit: {model.why}.")]
    columns = TableColumn.texts(title) + TableColumn.numbers("estimate", "standard error", "t", "p")
    cells = [
        [
            one.name.replace(" - ", f" {MINUS} "),
            coefficient_text(one),
            number(one.error),
            number(one.statistic, 2),
            p_value(one.p),
        ]
        for one in model.coefficients
    ]
    return [
        TableBlock(columns=columns, rows=cells),
        Paragraph.note("; ".join(sentences("mixed_fit.txt.j2", model=model)) + "."),
    ]


def subsets_section(findings: ExperimentFindings) -> Section | None:
    """Show effects in declared subsets."""
    analysis, plan = findings.analysis, findings.analysis_plan
    if analysis is None or plan is None or not analysis.subsets:
        return None
    blocks: list[Block] = []
    for found in analysis.subsets:
        more = f"; {amount(found.open, 'run')} could not be placed" if found.open else ""
        words = (
            f"{found.name}: {amount(found.units, 'unit')} where {found.where} under "
            f"{found.arm} ({found.label}){more}."
        )
        blocks += [
            Paragraph(text=words),
            effect_table(found.effects, plan.alpha, unreal=findings.costs.unreal),
        ]
    blocks.append(Bullets(items=["Rows are not corrected for the number of tests."]))
    return Section(id="subsets", title="Subsets", blocks=[*blocks])


def moderators_section(findings: ExperimentFindings) -> Section | None:
    """Show every declared split of an effect."""
    analysis, plan = findings.analysis, findings.analysis_plan
    if analysis is None or plan is None or not analysis.by:
        return None
    blocks: list[Block] = []
    for at, column in enumerate(dict.fromkeys(row.column for row in analysis.by)):
        own = [row for row in analysis.by if row.column == column]
        name = f"by-{at + 1}"
        groups = [
            (
                _split_title(row),
                [(_level_label(level.value, level.units), level.effect) for level in row.levels],
            )
            for row in own
        ]
        if any(rows for _, rows in groups):
            caption = f"The effect by {column}. Exploratory: rows are not corrected."
            blocks.append(
                FigureBlock(
                    name=name,
                    svg=effect_forest(name, groups, plan.alpha, level=plan.level),
                    caption=caption,
                )
            )
        blocks += [Paragraph(text=_heterogeneity(row)) for row in own]
        blocks += _split_tables(own, plan.alpha, findings.costs.unreal)
    return Section(id="drawn", title="The effect by what was drawn", blocks=blocks)


def _split_title(row: Split) -> str:
    return f"{label(row.outcome)}, {row.arm} {MINUS} {row.reference}"


def _level_label(value: str, units: int) -> str:
    return f"{value} (n = {units})"


def _heterogeneity(row: Split) -> str:
    words = f"{_split_title(row)} by {row.column}: "
    if row.f is None:
        words += "whether the effect differs between the values cannot be tested"
    else:
        words += (
            f"do the effects differ between the values? F = {number(row.f, 2)}, {p_equals(row.p)}"
        )
    if row.left_out:
        words += (
            f"; {amount(row.left_out, 'pair')} left out, the value being missing or not the "
            "same in both arms"
        )
    return f"{words}."


def _split_tables(rows: Sequence[Split], alpha: float, unreal: str) -> list[Block]:
    return [
        effect_table(
            [level.effect for level in row.levels],
            alpha,
            names=[level.value for level in row.levels],
            first=_split_title(row),
            unreal=unreal,
        )
        for row in rows
        if row.levels
    ]


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
