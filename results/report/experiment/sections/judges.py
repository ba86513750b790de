"""Judges section: agreement and severity."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.results.number_format import (
    amount,
    label,
    number,
    percent,
    signed,
    with_interval,
)
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import (
    Block,
    FigureBlock,
    Fold,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.row_plots import DotRow, ForestGroup, ForestRow, dots, forest
from orglab.results.statistics.agreement.krippendorff import JudgeAgreement


def judges_section(findings: ExperimentFindings) -> Section | None:
    """Show agreement and severity, by outcome; None without judges."""
    rows = findings.analysis.judging if findings.analysis else ()
    if not rows:
        return None
    blocks: list[Block] = [
        _alpha_figure(rows, findings.level),
        _agreement_table(rows, findings.plan.arms),
    ]
    if any(each.severity is not None for row in rows for each in row.judges):
        blocks.append(_severity_figure(rows))
    blocks.append(Fold(title="Each judge", blocks=[_judge_table(row) for row in rows]))
    scored = findings.tables.scored
    if scored.repeats > 1:
        words = (
            f"Each judge gave up to {scored.repeats} verdicts on a report; they are "
            "averaged and count as one."
        )
        blocks.append(Paragraph.note(words))
    if scored.same_model:
        words = (
            f"In {amount(scored.same_model, 'run')} a judge's model also served a role of "
            "the team: such a judge may favour its own."
        )
        blocks.append(Paragraph.warning(words))
    return Section(id="judges", title="Judges", blocks=blocks)


def _alpha_figure(rows: Sequence[JudgeAgreement], level: float) -> FigureBlock:
    made = [
        ForestRow(label=label(row.outcome), value=row.agreement.alpha, low=row.agreement.low,
                  high=row.agreement.high, note=f"undefined: {row.agreement.why}")
        for row in rows
    ]  # fmt: skip
    svg = forest(
        "agreement",
        [ForestGroup(title="", rows=made)],
        axis=f"Krippendorff's alpha, with {percent(level)} bootstrap interval",
    )
    return FigureBlock(
        name="agreement",
        svg=svg,
        caption="Agreement of the judges: 1 is perfect, 0 is what chance gives.",
    )


def _agreement_table(rows: Sequence[JudgeAgreement], order: Sequence[str]) -> TableBlock:
    arms = [arm for arm in order if arm in rows[0].by_arm]
    columns = TableColumn.texts("outcome", "metric")
    titles = (
        "alpha",
        *[f"alpha, {arm}" for arm in arms],
        "equal ratings",
        "rated",
        "one rating only",
    )
    columns += TableColumn.numbers(*titles)
    return TableBlock(columns=columns, rows=[_agreement_cells(row, arms) for row in rows])


def _agreement_cells(row: JudgeAgreement, arms: Sequence[str]) -> list[str]:
    found = row.agreement
    value = with_interval(found.alpha, found.low, found.high, sign=False, decimals=2)
    return [
        label(row.outcome),
        found.metric,
        value if found.alpha is not None else f"undefined: {found.why}",
        *[number(row.by_arm[arm], 2) for arm in arms],
        percent(found.raw),
        str(found.items),
        str(found.left_out),
    ]


def _severity_figure(rows: Sequence[JudgeAgreement]) -> FigureBlock:
    made = [
        DotRow(
            label=label(row.outcome),
            named=[(each.judge, each.severity) for each in row.judges if each.severity is not None],
        )
        for row in rows
    ]
    svg = dots(
        "severity",
        made,
        axis="mean distance from the mean of all judges of the same report: left is severe",
    )
    return FigureBlock(name="severity", svg=svg, caption="Severity of each judge, by outcome.")


def _judge_table(row: JudgeAgreement) -> TableBlock:
    columns = TableColumn.texts(f"{label(row.outcome)}: judge")
    titles = ("ratings", "missing", "mean", "severity", "alpha without")
    columns += TableColumn.numbers(*titles)
    cells = [
        [
            each.judge,
            str(each.ratings),
            str(each.missing),
            number(each.mean, 2),
            signed(each.severity, 2),
            number(each.alpha_without, 2),
        ]
        for each in row.judges
    ]
    return TableBlock(columns=columns, rows=cells)
