"""Effects sections: table, forest plot, paired slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import TypeAlias

from orglab.results.number_format import (
    MINUS,
    NOTHING,
    amount,
    interval,
    label,
    money,
    number,
    p_value,
    percent,
    places,
    with_interval,
)
from orglab.results.report.experiment.answer import is_shown, shown_interval
from orglab.results.report.experiment.findings import ExperimentFindings
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
from orglab.results.report.render.pages import sentences
from orglab.results.report.render.panel_plots import MOST_LINES, SlopePanel, slopes
from orglab.results.report.render.row_plots import ForestGroup, ForestRow, forest
from orglab.results.statistics.data.pairing import Missing, pair
from orglab.results.statistics.effects import ArmSummary, Effect

Cell: TypeAlias = Callable[[Effect], str]

_LINE = 24
"""Signs of a line in a cell of words."""
FAMILIES = {"primary": "primary", "followups": "follow-up"}
"""What families are called."""


def effect_table(
    rows: Sequence[Effect],
    alpha: float,
    *,
    names: Sequence[str] = (),
    first: str = "outcome",
    unreal: str = "",
) -> TableBlock:
    """Show the main figures of effects; rows that are shown to differ stand out.

    Args:
        rows: The effects.
        alpha: Level of tests.
        names: What the rows are called; default: by outcome.
        first: Title of the column with the names.
        unreal: Mark of simulated dollars: ``simulated``.
    """
    named = list(names) or [label(row.outcome) for row in rows]
    several = len({(row.arm, row.reference) for row in rows}) > 1
    made: list[tuple[str, list[str]]] = [(first, named)]
    if several:
        made.append(("contrast", [f"{row.arm} {MINUS} {row.reference}" for row in rows]))
    worded = len(made)
    made += [
        (title, [cell(row) for row in rows]) for title, cell in _columns(rows, several, unreal)
    ]
    return TableBlock(
        columns=[
            TableColumn(title=title, figures=at >= worded) for at, (title, _) in enumerate(made)
        ],
        rows=list(zip(*[cells for _, cells in made], strict=True)),
        strong=frozenset(at for at, row in enumerate(rows) if is_shown(row, alpha)),
    )


def _columns(rows: Sequence[Effect], several: bool, unreal: str) -> Iterator[tuple[str, Cell]]:
    """Yield title and cell of each column; the family's columns only if there is a family."""
    corrected = any(row.family_size for row in rows)
    one = rows[0] if rows and not several else None
    if corrected:
        yield "family", _family
    yield "n", lambda row: str(row.n)
    yield one.reference if one else "reference", lambda row: _mean(row, row.arms[row.reference])
    yield one.arm if one else "arm", lambda row: _mean(row, row.arms[row.arm])
    yield "difference", difference_text
    yield "d_z", lambda row: bracketed(row.effect.d_z, row.effect.d_z_low, row.effect.d_z_high)
    yield "test", _test_cell
    yield "p", lambda row: p_value(row.p) if row.p is not None else "none"
    if corrected:
        yield "p (Holm)", lambda row: p_value(row.p_adjusted) if row.family_size else NOTHING
    yield "Wilcoxon p", lambda row: p_value(row.robust.p) if row.robust else NOTHING
    yield "wins / ties / losses", _wins
    yield "units missing", lambda row: _both_arms(row, lambda side: str(len(side.missing.units)))
    yield "tokens a run", lambda row: _both_arms(row, _tokens)
    yield f"{unreal}\n$ a run".strip(), lambda row: _both_arms(row, _dollars)


def _wins(row: Effect) -> str:
    return f"{row.wins.wins} / {row.wins.ties} / {row.wins.losses}"


def _family(row: Effect) -> str:
    name = FAMILIES.get(row.family, row.family)
    return f"{name},\n{row.family_size}" if row.family_size else f"{name},\nuncorrected"


def _mean(row: Effect, side: ArmSummary) -> str:
    if row.rates is not None and side.rate_low is not None and side.rate_high is not None:
        low, high = 100 * side.rate_low, 100 * side.rate_high
        return f"{percent(side.paired_mean)}\n[{interval(low, high, 0)}]"
    return number(side.paired_mean, places(side.paired_mean))


def difference_text(row: Effect) -> str:
    """Format the difference with its interval; of rates in percentage points."""
    return bracketed(*shown_interval(row), " points" if row.rates is not None else "")


def bracketed(value: float | None, low: float | None, high: float | None, unit: str = "") -> str:
    """Format a value, with its unit, above its interval."""
    return with_interval(value, low, high, unit=unit, separator="\n")


def test_text(row: Effect) -> str:
    """Format the statistic, or why there is none."""
    if row.statistic is None:
        return row.why or NOTHING
    if row.rates is not None:
        return f"{row.test}:\n{number(row.statistic)}"
    return f"t({row.effect.df}) =\n{number(row.statistic, 2)}"


def _test_cell(row: Effect) -> str:
    """Format the test in short lines, or why there is none."""
    return test_text(row) if row.statistic is not None else fill(test_text(row), _LINE)


def _both_arms(row: Effect, cell: Callable[[ArmSummary], str]) -> str:
    """Format a value of reference and arm."""
    first, second = (cell(row.arms[arm]) for arm in (row.reference, row.arm))
    if first == second == NOTHING:
        return first
    return f"{first} / {second}" if len(first + second) < 8 else f"{first} /\n{second}"


def _tokens(side: ArmSummary) -> str:
    value = side.compute.get("tokens")
    return NOTHING if value is None else number(value, 0)


def _dollars(side: ArmSummary) -> str:
    return money(side.compute.get("cost_usd"))


def contrast_name(outcome: str, arm: str, reference: str, *, several: bool) -> str:
    """Name the outcome, and the contrast if there are several."""
    return f"{label(outcome)}, {arm} {MINUS} {reference}" if several else label(outcome)


def several_contrasts(findings: ExperimentFindings) -> bool:
    """Check whether the study has more than one contrast."""
    return len(findings.plan.contrasts) > 1


def effect_title(row: Effect) -> str:
    """Name the outcome and the contrast."""
    return f"{label(row.outcome)} ({row.arm} {MINUS} {row.reference})"


def effect_details(row: Effect) -> TableBlock:
    """Show test, sizes, robust test, equivalence, missing values and compute of one effect."""
    facts = sentences(
        "effect_details.txt.j2",
        row=row,
        difference=difference_text(row).replace("\n", " "),
        test=test_text(row).replace("\n", " "),
        why_missing=why_missing,
    )
    return TableBlock(
        columns=TableColumn.texts(effect_title(row), ""),
        rows=[tuple(fact.split("\t", 1)) for fact in facts],
    )


def why_missing(found: Missing) -> str:
    """Describe how many units have no value and why."""
    words = [f"{len(found.units)} of {amount(found.planned, 'unit')}"]
    words += [f"{reason}: {count}" for reason, count in found.why.items()]
    if found.cells:
        words.append(f"and {amount(found.cells, 'single value')} of units that have others")
    return "; ".join(words)


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
