"""Effects sections: table, forest plot, paired slopes."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.results.number_format import (
    MINUS,
    label,
    number,
    percent,
)
from orglab.results.report.experiment.answer import is_shown
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.experiment.sections.effect_table import (
    FAMILIES,
    effect_details,
    effect_table,
    effect_title,
)
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    FigureBlock,
    Fold,
    Paragraph,
    Section,
)
from orglab.results.report.render.forest import ForestGroup, ForestRow, forest
from orglab.results.report.render.prose import sentences
from orglab.results.report.render.slope_plot import MOST_LINES, SlopePanel, slopes
from orglab.results.statistics.data.pairing import pair
from orglab.results.statistics.effects import Effect

__all__ = ["effect_forest", "effects_section", "pairs_section"]


_MANY_ROWS = 24


def effects_section(findings: ExperimentFindings) -> Section | None:
    """Show the headline rows; None if nothing was computed."""
    analysis, plan = findings.analysis, findings.analysis_plan
    if analysis is None or plan is None:
        return None
    rows = [*analysis.primary, *analysis.followups]
    blocks: list[Block] = []
    if not findings.declared:
        words = "No analysis was declared: p-values are not corrected, and none is a confirmation."
        blocks.append(Paragraph.warning(words))
    blocks += _effect_blocks(findings, plan.alpha)
    families = {
        FAMILIES.get(row.family, row.family): row.family_size for row in rows if row.family_size
    }
    several = len(plan.contrasts) > 1
    notes = sentences("effects_notes.txt.j2", families=families, several=several, level=plan.level)
    blocks += [Paragraph.note(text) for text in notes]
    warned = [f"{effect_title(row)}: {words}" for row in rows for words in row.warnings]
    if warned:
        blocks.append(Paragraph.warning("To be read with care:"))
        blocks.append(Bullets(items=warned))
    blocks.append(
        Fold(title="Every figure of every effect", blocks=[effect_details(row) for row in rows])
    )
    return Section(id="effects", title="Effects", blocks=blocks)


def _effect_blocks(findings: ExperimentFindings, alpha: float) -> list[Block]:
    """Show figure and table; if they would be long, the follow-ups are folded."""
    analysis = findings.analysis
    primary, followups = (analysis.primary, analysis.followups) if analysis else ((), ())
    if len(primary) + len(followups) <= _MANY_ROWS or not primary or not followups:
        return _figure_and_table("effects", [*primary, *followups], findings, alpha)
    folded = _figure_and_table("followups", followups, findings, alpha)
    return [
        *_figure_and_table("effects", primary, findings, alpha),
        Fold(title=f"Follow-ups ({len(followups)})", blocks=folded),
    ]


def _figure_and_table(
    name: str, rows: Sequence[Effect], findings: ExperimentFindings, alpha: float
) -> list[Block]:
    if not rows:  # nothing was declared to be tested
        return []
    return [
        _forest_figure(name, rows, alpha, findings),
        effect_table(rows, alpha, unreal=findings.costs.unreal),
    ]


# --- figures -------------------------------------------------------------------------------------


def effect_forest(
    name: str, groups: Sequence[tuple[str, Sequence[tuple[str, Effect]]]], alpha: float,
    sides: tuple[str, str] | None = None, margin: float | None = None, level: float = 0.95,
) -> str:  # fmt: skip
    """Draw a forest of d_z: groups of named effects."""
    made = [
        ForestGroup(
            title=title, rows=[_forest_row(row_label, row, alpha) for row_label, row in rows]
        )
        for title, rows in groups
    ]
    return forest(
        name, made, axis=f"d_z, with {percent(level)} interval", sides=sides, margin=margin
    )


def _forest_row(row_label: str, row: Effect, alpha: float) -> ForestRow:
    found = row.effect
    return ForestRow(
        label=row_label,
        value=found.d_z,
        low=found.d_z_low,
        high=found.d_z_high,
        strong=is_shown(row, alpha),
        note=row.why,
    )


def _forest_figure(
    name: str, rows: Sequence[Effect], alpha: float, findings: ExperimentFindings
) -> FigureBlock:
    pairs = dict.fromkeys((row.arm, row.reference) for row in rows)
    groups = []
    for arm, other in pairs:
        own = [row for row in rows if (row.arm, row.reference) == (arm, other)]
        for family in dict.fromkeys(row.family for row in own):
            named = [f"{arm} {MINUS} {other}"] if len(pairs) > 1 else []
            named += [FAMILIES.get(family, family)] if findings.declared else []
            title = ": ".join(named)
            groups.append((title, [(label(r.outcome), r) for r in own if r.family == family]))
    arm, other = next(iter(pairs))
    sides = (f"lower under {arm}", f"higher under {arm}") if len(pairs) == 1 else None
    margins = findings.analysis_plan.equivalence if findings.analysis_plan else None
    margin = margins.margin_dz if margins else None
    caption = f"Effect of each outcome (d_z, {percent(findings.level)} interval). Diamonds: {_diamonds(rows, alpha)}."
    if margin is not None:
        caption += f" Shaded: the declared region of equivalence, ±{number(margin, 2)}."
    return FigureBlock(
        name=name,
        svg=effect_forest(name, groups, alpha, sides, margin, findings.level),
        caption=caption,
    )


def _diamonds(rows: Sequence[Effect], alpha: float) -> str:
    """Describe which rows stand out, and by which p."""
    corrected = [row.family_size > 0 for row in rows]
    level = f"p below {alpha:g}".replace(" 0.", " .")
    if all(corrected):
        return f"{level} after correction"
    return (
        f"{level}, corrected within declared families"
        if any(corrected)
        else f"{level}, not corrected"
    )


def pairs_section(findings: ExperimentFindings) -> Section | None:
    """Draw each unit as a line from the reference to the arm, for the primary outcomes."""
    analysis, dataset = findings.analysis, findings.dataset
    if analysis is None or dataset is None:
        return None
    panels = []
    rows = [row for row in analysis.primary or analysis.followups[:6] if row.rates is None]
    for row in rows:  # rates are in their table
        found = pair(dataset.cells(row.outcome), row.arm, row.reference)
        if len(found.units):
            panels.append(
                SlopePanel(
                    title=label(row.outcome),
                    sides=(row.reference, row.arm),
                    left=found.second,
                    right=found.first,
                )
            )
    if not panels:
        return None
    caption = "Each line is a unit: green where it is higher under the arm, red where it is lower. "
    caption += "Black: means."
    if max(len(panel.left) for panel in panels) > MOST_LINES:
        caption += (
            f" {MOST_LINES} of the units are drawn, evenly chosen by the size of the difference."
        )
    figure = FigureBlock(name="pairs", svg=slopes("pairs", panels), caption=caption)
    return Section(id="pairs", title="Pair by pair", blocks=[figure])
