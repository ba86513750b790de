"""Sections of a sweep's report: variants, main effects, the front, execution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from orglab.results.number_format import (
    NOTHING,
    amount,
    label,
    money,
    number,
    p_value,
    percent,
    with_interval,
)
from orglab.results.report.experiment.data import NOT_RUN, Tables
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    FigureBlock,
    Fold,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.pages import paragraphs
from orglab.results.report.render.panel_plots import ParetoMark, pareto_figure
from orglab.results.report.render.row_plots import ForestGroup, ForestRow, forest
from orglab.results.report.sweep.analysis import FrontRow, MainEffect, VariantRow
from orglab.results.report.sweep.findings import OutcomeFindings, SweepFindings
from orglab.results.statistics.models.main_effects import Estimate, mean_estimate

ALPHA = 0.05
"""Level of tests."""


def mean_text(found: Estimate) -> str:
    """Format a mean: ``3.85 [3.70 to 4.02]``."""
    return with_interval(found.value, found.low, found.high, sign=False)


def difference_text(found: Estimate) -> str:
    """Format a difference: ``+0.31 [0.12 to 0.50]``; why there is none, if there is none."""
    if found.value is None and found.why:
        return found.why
    return with_interval(found.value, found.low, found.high)


def cost_text(findings: SweepFindings, found: Estimate) -> str:
    """Format the cost of a run."""
    if findings.cost != "dollars" or found.value is None:
        return mean_text(found)
    ends = f" [{money(found.low)} to {money(found.high)}]" if found.low is not None else ""
    return f"{money(found.value)}{ends}"


def per_run(findings: SweepFindings) -> str:
    """Name the axis of cost."""
    unreal = findings.costs.unreal if findings.cost == "dollars" else ""
    return f"{unreal} {findings.cost} a run, judges aside".strip()


def level_name(findings: SweepFindings, factor: int, level: int) -> str:
    """Name a level: ``cap 4``."""
    axis = findings.axes[factor]
    return f"{label(axis.name)} {axis.labels[level]}"


_SHOWN, _MOST = 40, 500
"""Variants that are shown at once, and in all; every one is in ``report.json``."""


def variants_section(findings: SweepFindings) -> Section | None:
    """Show every variant with its outcomes and its cost, the best first."""
    main = findings.main
    if main is None:
        return None
    ranked = main.ranked
    table = _variants_table(findings, ranked[:_SHOWN], 0)
    blocks: list[Block] = [table]
    if len(ranked) > _SHOWN:
        rest = _variants_table(findings, ranked[_SHOWN:_MOST], _SHOWN)
        more = f"The next {min(len(ranked), _MOST) - _SHOWN} of {len(ranked):,}"
        blocks.append(Fold(title=more, blocks=[rest]))
    reference = findings.names[findings.reference]
    side = "Less" if main.lower else "More"
    words = (
        f"Sorted by {label(main.name)} ({findings.chosen}). {side} of it is better. Intervals are of 95 %, over "
        f"units. The difference is to {reference}, paired by unit; p is corrected over all variants "
        "(Holm). The best of many is picked by its figure, which flatters it."
    )
    blocks.append(Paragraph.note(words))
    blocks += _same_teams(findings)
    return Section(id="variants", title="Variants", blocks=blocks)


def _variants_table(findings: SweepFindings, rows: Sequence[VariantRow], before: int) -> TableBlock:
    outcomes = findings.outcomes
    columns = TableColumn.numbers("#") + TableColumn.texts("variant") + TableColumn.numbers("units")
    columns += TableColumn.numbers(label(outcomes[0].name))
    columns += TableColumn.numbers("difference", "p")
    columns += TableColumn.numbers(*[label(outcome.name) for outcome in outcomes[1:]])
    columns += TableColumn.numbers(f"{findings.cost} a run", "loops")
    on_front = {row.point for row in findings.front if row.front}
    loops = _loops_by_point(findings)
    cells = []
    for at, row in enumerate(rows):
        cells.append(
            [
                str(before + at + 1),
                findings.names[row.point],
                str(row.mean.n),
                mean_text(row.mean),
                "reference" if row.point == findings.reference else difference_text(row.against),
                p_value(row.p_adjusted),
                *[mean_text(outcome.variants[row.point].mean) for outcome in outcomes[1:]],
                cost_text(findings, _mean_cost(findings, row.point)),
                loops.get(row.point, NOTHING),
            ]
        )
    strong = frozenset(at for at, row in enumerate(rows) if row.point in on_front)
    caption = "Set off: on the Pareto front of quality and cost" if strong else ""
    return TableBlock(columns=columns, rows=cells, strong=strong, caption=caption)


def _mean_cost(findings: SweepFindings, point: int) -> Estimate:
    if findings.spent is None:
        return Estimate(n=0, value=None)
    return mean_estimate(findings.spent[point])


def _loops_by_point(findings: SweepFindings) -> dict[int, str]:
    """Count the loops of a completed run, by point."""
    runs = findings.tables.runs
    done = runs[runs["status"] == "completed"].astype({"loops": "float64"})
    means = done.groupby("arm")["loops"].mean()
    return {
        point: number(float(means[team]), 2)
        for point, team in enumerate(findings.teams)
        if team in means.index
    }


def _same_teams(findings: SweepFindings) -> list[Block]:
    """List the variants that are the same team."""
    found: dict[str, list[str]] = {}
    for name, team in zip(findings.names, findings.teams, strict=True):
        found.setdefault(team, []).append(name)
    alike = [names for names in found.values() if len(names) > 1]
    if not alike:
        return []
    lines = [f"{names[0]}: also {'; '.join(names[1:])}" for names in alike[:_SHOWN]]
    title = f"Variants that are the same team as another ({len(alike)}): each was run once"
    return [Fold(title=title, blocks=[Bullets(items=lines)])]


# --- main effects --------------------------------------------------------------------------------


def effects_section(findings: SweepFindings) -> Section | None:
    """Show main effects: each level against its reference, other factors held equal."""
    texts = [outcome for outcome in findings.outcomes if outcome.effects]
    if not texts:
        return None
    blocks: list[Block] = []
    for at, outcome in enumerate(texts):
        groups = _forest_groups(findings, outcome)
        if any(row.value is not None for group in groups for row in group.rows):
            name = f"effects-{at + 1}"
            picture = forest(name, groups, axis=f"difference in {label(outcome.name)}")
            caption = (
                f"Main effects on {label(outcome.name)}: each level minus the reference level, other "
                "factors held equal, with intervals of 95 %. Blue: shown after Holm's correction."
            )
            blocks.append(FigureBlock(name=name, svg=picture, caption=caption))
        blocks.append(_effects_table(findings, outcome))
    blocks.append(Paragraph.note(_effects_note(findings, texts[0])))
    return Section(id="effects", title="Main effects", blocks=blocks)


def _forest_groups(findings: SweepFindings, outcome: OutcomeFindings) -> list[ForestGroup]:
    groups = []
    for at, axis in enumerate(findings.axes):
        rows = [row for row in outcome.effects if row.factor == at and row.how]
        if rows:
            title = f"{label(axis.name)}, against {axis.labels[axis.reference]}"
            groups.append(
                ForestGroup(title=title, rows=[_forest_row(axis.labels, row) for row in rows])
            )
    return groups


def _forest_row(labels: Sequence[str], row: MainEffect) -> ForestRow:
    return ForestRow(
        label=labels[row.level],
        value=row.effect.value,
        low=row.effect.low,
        high=row.effect.high,
        strong=row.p_adjusted is not None and row.p_adjusted < ALPHA,
        note=row.effect.why,
    )


def _effects_table(findings: SweepFindings, outcome: OutcomeFindings) -> TableBlock:
    columns = TableColumn.texts("factor", "level")
    columns += TableColumn.numbers("units", f"mean {label(outcome.name)}")
    columns += TableColumn.numbers("difference to the reference", "p", "p corrected")
    rows = [
        [
            label(findings.axes[row.factor].name),
            findings.axes[row.factor].labels[row.level],
            str(row.mean.n),
            mean_text(row.mean),
            difference_text(row.effect) if row.how else "reference",
            p_value(row.effect.p),
            p_value(row.p_adjusted),
        ]
        for row in outcome.effects
    ]
    return TableBlock(columns=columns, rows=rows)


def _effects_note(findings: SweepFindings, outcome: OutcomeFindings) -> str:
    words = (
        "Means of a level are over its variants within each unit, then over units; their intervals "
        "hold how units differ, those of differences do not. Corrected: Holm over all rows of an "
        "outcome."
    )
    if any(row.how == "fitted" for row in outcome.effects):
        words += (
            " The design has not every combination: differences come from a linear model without "
            "interactions, fitted within each unit and averaged over units."
        )
    if len(set(findings.teams)) < len(findings.names):
        words += " Pairs of variants that are the same team are left out: the factor is idle there."
    return words


# --- the front -----------------------------------------------------------------------------------


def front_section(findings: SweepFindings) -> Section | None:
    """Show quality against cost."""
    main = findings.main
    known = [row for row in findings.front if row.quality.value is not None]
    known = [row for row in known if row.cost.value is not None]
    if main is None or len(known) < 2:
        return None
    ranks = {row.point: at + 1 for at, row in enumerate(main.ranked)}
    marks = [_pareto_mark(row, str(ranks[row.point])) for row in known]
    axes = (per_run(findings), label(main.name))
    side = "Less" if main.lower else "More"
    caption = (
        f"Every variant by the cost of a run and by {label(main.name)}, with intervals of 95 %. {side} is "
        "better. On the front no other variant is as good for less, or better for as much. Numbers "
        "are those of the table of variants."
    )
    blocks: list[Block] = [
        FigureBlock(name="front", svg=pareto_figure("front", marks, axes=axes), caption=caption),
        _front_table(findings, known, ranks),
    ]
    if any(row.share is not None for row in known):
        words = (
            "Held: in which share of 1,000 resamples of the units the variant is on the front. Where "
            "it is low, the place may be owed to chance."
        )
        blocks.append(Paragraph.note(words))
    return Section(id="front", title="Quality against cost", blocks=blocks)


def _pareto_mark(row: FrontRow, name: str) -> ParetoMark:
    return ParetoMark(
        label=name,
        cost=row.cost.value or 0.0,
        quality=row.quality.value or 0.0,
        costs=_interval_ends(row.cost),
        qualities=_interval_ends(row.quality),
        front=row.front,
    )


def _interval_ends(found: Estimate) -> tuple[float, float] | None:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _front_table(
    findings: SweepFindings, rows: Sequence[FrontRow], ranks: dict[int, int]
) -> TableBlock:
    main = findings.main
    columns = TableColumn.numbers("#") + TableColumn.texts("on the front")
    columns += TableColumn.numbers(label(main.name) if main else "", per_run(findings))
    columns += TableColumn.numbers("held")
    best = sorted((row for row in rows if row.front), key=lambda row: row.cost.value or 0.0)
    cells = [
        [
            str(ranks[row.point]),
            findings.names[row.point],
            mean_text(row.quality),
            cost_text(findings, row.cost),
            percent(row.share),
        ]
        for row in best
    ]
    return TableBlock(columns=columns, rows=cells)


# --- how it went ---------------------------------------------------------------------------------


def _outside_text(tables: Tables) -> Iterator[str]:
    """Describe the runs of the study that are not counted."""
    if others := tables.outside - tables.earlier:
        yield (
            f"{amount(others, 'run')} of the study, of values, units or replicates "
            "that the last plan does not have, count nowhere."
        )
    if tables.earlier:
        yield (
            f"{amount(tables.earlier, 'run')} of the study, of an earlier content of their unit, "
            "which was edited under the same id, count nowhere."
        )


def execution_section(findings: SweepFindings) -> Section:
    """Show runs by status, missing figures, changes of plan."""
    blocks: list[Block] = [Bullets(items=_status_text(findings))]
    unfinished = _unfinished_table(findings)
    if unfinished is not None:
        blocks.append(unfinished)
    blocks += [Paragraph(text=words) for words in _outside_text(findings.tables)]
    changes = [
        f"{change.added}, after {amount(change.ended, 'run')} had ended: {change.words or 'nothing of note'}"
        for change in findings.changes
    ]
    if changes:
        blocks.append(Paragraph(text="The plan was changed:"))
        blocks.append(Bullets(items=changes))
    if findings.errors:
        blocks.append(Paragraph.warning(f"Not computed: {'; '.join(findings.errors)}."))
    return Section(id="conduct", title="How it went", blocks=blocks)


def _status_text(findings: SweepFindings) -> list[str]:
    progress = findings.progress
    texts = [
        f"{count:,} {'not ended' if status == 'running' else status}"
        for status, count in progress.statuses.items()
    ]
    return [f"{amount(progress.planned, 'planned run')}: {', '.join(texts)}"]


def _unfinished_table(findings: SweepFindings) -> TableBlock | None:
    """Show variants with runs that did not complete."""
    kinds = ("completed", "stopped", "failed", "not ended", NOT_RUN)
    rows = []
    for name, own in findings.tables.runs.groupby("arm", sort=False):
        counts = own["status"].value_counts()
        if counts.get("completed", 0) < len(own):
            reasons = own.loc[own["reason"] != "", "reason"].value_counts(sort=False)
            often = Counter(reasons.to_dict()).most_common(2)
            texts = [f"{words} ({count})" for words, count in often]
            rows.append(
                [str(name), *[str(counts.get(kind, 0)) for kind in kinds], "; ".join(texts)]
            )
    if not rows:
        return None
    columns = TableColumn.texts("variant") + TableColumn.numbers(*kinds)
    columns += TableColumn.texts("reasons")
    more = f"; {len(rows) - _SHOWN} more have such" if len(rows) > _SHOWN else ""
    return TableBlock(
        columns=columns,
        rows=rows[:_SHOWN],
        caption=f"Variants with runs that did not complete{more}",
    )


def methods_section(findings: SweepFindings) -> Section:
    """Describe the methods for a paper."""
    plan = findings.plan.normal
    design = plan["design"] if isinstance(plan["design"], str) else next(iter(plan["design"]))
    bootstrap = any(row.share is not None for row in findings.front)
    texts = paragraphs("sweep_methods.txt.j2", plan=plan, design=design, bootstrap=bootstrap)
    factors = [
        f"{factor.name} ({factor.path}): {', '.join(factor.labels[:_SHOWN])}"
        + (f", … ({len(factor.labels)} in all)" if len(factor.labels) > _SHOWN else "")
        for factor in findings.plan.factors
    ]
    frozen = (
        f"Plan {findings.plan.hash[:12]}, frozen {findings.plan.added}; study {plan['hash'][:12]}."
    )
    return Section(
        id="methods",
        title="Methods",
        blocks=[Paragraph(text=texts[0]), Bullets(items=factors), Paragraph.note(frozen)],
    )
