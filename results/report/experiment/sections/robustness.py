"""How sturdy the effects are: covariates, mixed models, leaving out, subsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orglab.results.number_format import (
    MINUS,
    NOTHING,
    amount,
    clear_places,
    interval,
    label,
    name_list,
    number,
    p_value,
    places,
    signed,
)
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.experiment.sections.effect_table import (
    contrast_name,
    effect_table,
    several_contrasts,
)
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    Column,
    Figure,
    Paragraph,
    Section,
    Table,
)
from orglab.results.report.render.dots import DotRow, dots
from orglab.results.statistics.models.leave_one_out import LeaveOneOut, LeftOut
from orglab.results.statistics.models.regression import Coefficient
from orglab.results.statistics.models.sensitivity import AdjustedEffect, MixedEffect

__all__ = ["coefficient_words", "leaving_out_part", "sensitivity_part", "subsets_part"]

_FEW = 6
_MOST_DRAWN = 24


def leaving_out_part(findings: Findings) -> Section | None:
    """Each judge and each unit left out in turn."""
    rows = findings.analysis.leave_one_out if findings.analysis else ()
    if not rows:
        return None
    blocks: list[Block] = []
    drawn = _dot_rows(_drawn(findings, rows))
    if drawn:
        svg = dots(
            "leaving-out", drawn, axis="d_z, arm minus reference",
            whole="with all", others="without each unit",
        )  # fmt: skip
        caption = (
            "Each effect without each judge (coloured) and without each unit (grey). The "
            "line is the effect with all."
        )
        blocks.append(Figure(name="leaving-out", svg=svg, caption=caption))
    columns = [Column(title="outcome", figures=False), Column(title="without\neach", figures=False)]
    columns += [Column(title=title) for title in ("with all", "smallest", "largest")]
    columns += [
        Column(title=title, figures=False)
        for title in ("sign turns\nwithout", "significance turns\nwithout")
    ]
    blocks.append(
        Table(
            columns=columns,
            rows=[_summary(row, several=several_contrasts(findings)) for row in rows],
        )
    )
    return Section(id="leaving-out", title="Leaving one out", blocks=blocks)


def _summary(row: LeaveOneOut, several: bool) -> list[str]:
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
        _names(row.sign_flips),
        _names(row.significance_flips),
    ]


def _without(row: LeftOut | None, digits: int) -> str:
    return NOTHING if row is None else f"{signed(row.difference, digits)} ({row.left_out})"


def _names(names: Sequence[str]) -> str:
    if not names:
        return "none"
    if len(names) > _FEW:
        return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
    return name_list(list(names))


def _drawn(findings: Findings, rows: Sequence[LeaveOneOut]) -> Sequence[LeaveOneOut]:
    """All, or the primary outcomes alone where all would be a very long figure."""
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
                named=list(_values(row for row in own if row.by == "judge")),
                others=[value for _, value in _values(row for row in own if row.by == "unit")],
                whole=own[0].full.d_z,
            )
        )
    return made


def _values(rows: Iterable[LeaveOneOut]) -> Iterable[tuple[str, float]]:
    for row in rows:
        for each in row.rows:
            if each.d_z is not None:
                yield f"without {each.left_out}", each.d_z


# --- covariates and mixed models ------------------------------------------------------------------


def sensitivity_part(findings: Findings) -> Section | None:
    """Covariates partialled out, and mixed models."""
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
        blocks += [block for row in analysis.mixed for block in _mixed(row)]
    return Section(id="sensitivity", title="Covariates and mixed models", blocks=blocks)


def _adjusted_table(rows: Sequence[AdjustedEffect], *, several: bool) -> Table:
    columns = [Column(title="outcome", figures=False), Column(title="held equal", figures=False)]
    columns += [Column(title=title) for title in ("pairs", "left out", "remaining difference", "p")]
    columns.append(Column(title="slope of the covariate"))
    return Table(columns=columns, rows=[_adjusted_cells(row, several) for row in rows])


def _adjusted_cells(row: AdjustedEffect, several: bool) -> list[str]:
    found = row.adjusted
    cells = [
        contrast_name(row.outcome, row.arm, row.reference, several=several),
        name_list([label(name) for name in found.covariates]),
    ]
    cells += [str(found.n), str(row.left_out)]
    if found.difference is None:
        return [*cells, found.why, "none", NOTHING]
    slopes = "; ".join(coefficient_words(one) for one in found.slopes)
    return [*cells, coefficient_words(found.difference), p_value(found.difference.p), slopes]


def coefficient_words(found: Coefficient) -> str:
    """``+0.14 [0.07 to 0.21]``."""
    digits = clear_places(found.estimate, found.low, found.high)
    if found.low is None:
        return signed(found.estimate, digits)
    return f"{signed(found.estimate, digits)} [{interval(found.low, found.high, digits)}]"


def _mixed(row: MixedEffect) -> list[Block]:
    model = row.model
    title = (
        f"{label(row.outcome)}, {row.arm} {MINUS} {row.reference}: {row.structure}; "
        f"rows are {row.rows_are}"
    )
    if model.why:
        return [Paragraph(text=f"{title}. No fit: {model.why}.", kind="note")]
    columns = [
        Column(title=title, figures=False),
        *[Column(title=name) for name in ("estimate", "standard error", "t", "p")],
    ]
    cells = [
        [
            one.name.replace(" - ", f" {MINUS} "),
            coefficient_words(one),
            number(one.error),
            number(one.statistic, 2),
            p_value(one.p),
        ]
        for one in model.coefficients
    ]
    return [Table(columns=columns, rows=cells), Paragraph(text=_fit_words(row), kind="note")]


def _fit_words(row: MixedEffect) -> str:
    model = row.model
    words = [f"{model.rows:,} rows, {amount(model.units, 'unit')}, {model.df} degrees of freedom"]
    words += [
        f"variance of {name} {number(value, 3)}" for name, value in (model.variances or {}).items()
    ]
    words += [f"on the boundary, 0: {name_list(list(model.boundary))}"] if model.boundary else []
    words.append(f"{model.optimiser} {'converged' if model.converged else 'DID NOT CONVERGE'}")
    if model.agrees is not None:
        words.append(
            "least squares agree"
            if model.agrees
            else "LEAST SQUARES DISAGREE, as they must not in a balanced table"
        )
    return "; ".join([*words, *(note.rstrip(".") for note in model.notes)]) + "."


def subsets_part(findings: Findings) -> Section | None:
    """Effects in declared subsets."""
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
