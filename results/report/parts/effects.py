"""The effects: a table with everything beside them, a forest plot, the pairs as lines."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.results.report.answer import is_shown
from orglab.results.report.blocks import (
    Block,
    Bullets,
    Column,
    Figure,
    Fold,
    Paragraph,
    Section,
    Table,
)
from orglab.results.report.figures.forest import ForestGroup, ForestRow, forest
from orglab.results.report.figures.slopes import MOST_LINES, SlopePanel, slopes
from orglab.results.report.findings import Findings
from orglab.results.report.wording import (
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
    signed,
    time,
)
from orglab.results.statistics.effects import ArmSummary, Effect
from orglab.results.statistics.pairs import Missing, pair

__all__ = ["effect_forest", "effect_table", "effects_part", "pairs_part", "why_missing"]

_FAMILIES = {"primary": "primary", "followups": "follow-up"}


def effects_part(findings: Findings) -> Section | None:
    """Headline rows; None where nothing was computed."""
    analysis, plan = findings.analysis, findings.analysis_plan
    if analysis is None or plan is None:
        return None
    rows = [*analysis.primary, *analysis.followups]
    blocks: list[Block] = []
    if not findings.declared:
        words = "No analysis was declared: p-values are not corrected, and none is a confirmation."
        blocks.append(Paragraph(text=words, kind="warning"))
    blocks.append(_forest_figure("effects", rows, plan.alpha, findings))
    blocks.append(effect_table(rows, plan.alpha))
    blocks += [
        Paragraph(text=text, kind="note") for text in _reading(rows, several=len(plan.contrasts) > 1)
    ]
    warned = [f"{_name(row)}: {words}" for row in rows for words in row.warnings]
    if warned:
        blocks.append(Paragraph(text="To be read with care:", kind="warning"))
        blocks.append(Bullets(items=warned))
    blocks.append(Fold(title="Every figure of every effect", blocks=[_details(row) for row in rows]))
    return Section(id="effects", title="Effects", blocks=blocks)


def _reading(rows: Sequence[Effect], *, several: bool) -> list[str]:
    sizes = {row.family: row.family_size for row in rows if row.family_size}
    families = "; ".join(
        f"{_FAMILIES.get(name, name)}: {amount(size, 'declared test')}" for name, size in sizes.items()
    )
    words = [
        "Differences are arm minus reference, over units: replicates, judges and criteria are averaged "
        "within a unit first. d_z is the mean difference divided by the standard deviation of the "
        "differences. Brackets hold 95 % intervals."
    ]
    if families:
        words.append(f"p (Holm) is corrected within its family ({families}).")
    if several:
        words.append("Every contrast counts in its family.")
    return words


# --- table ---------------------------------------------------------------------------------------


def effect_table(
    rows: Sequence[Effect], alpha: float, *, names: Sequence[str] = (), first: str = "outcome"
) -> Table:
    """The main figures of effects; rows that are shown to differ stand out.

    Args:
        rows: The effects.
        alpha: Level of tests.
        names: What the rows are called; default: by outcome.
        first: Title of the column with the names.
    """
    named = names or [label(row.outcome) for row in rows]
    pairs = dict.fromkeys((row.arm, row.reference) for row in rows)
    several = len(pairs) > 1
    titles = [first, *(["contrast"] if several else [])]
    columns = [Column(title=title, figures=False) for title in titles]
    sides = ["arm", "reference"] if several else list(next(iter(pairs), ("arm", "reference")))
    columns += [
        Column(title=title)
        for title in (
            "family", "n", *sides, "difference", "d_z", "test", "p", "p (Holm)", "Wilcoxon p",
            "wins / ties / losses", "missing", "tokens a run", "$ a run",
        )
    ]  # fmt: skip
    return Table(
        columns=columns,
        rows=[_cells(row, name, several) for name, row in zip(named, rows, strict=True)],
        strong=frozenset(at for at, row in enumerate(rows) if is_shown(row, alpha)),
    )


def _cells(row: Effect, name: str, several: bool) -> list[str]:
    own, other = row.arms[row.arm], row.arms[row.reference]
    contrast = [f"{row.arm} {MINUS} {row.reference}"] if several else []
    corrected = p_value(row.p_adjusted) if row.family_size else NOTHING
    return [
        name,
        *contrast,
        _family(row),
        str(row.n),
        _mean(row, own),
        _mean(row, other),
        _difference(row),
        _bracketed(row.effect.d_z, row.effect.d_z_low, row.effect.d_z_high),
        _test(row),
        p_value(row.p) if row.p is not None else "none",
        corrected,
        p_value(row.robust.p) if row.robust else NOTHING,
        f"{row.wins.wins} / {row.wins.ties} / {row.wins.losses}",
        _both(str(len(own.missing.units)), str(len(other.missing.units))),
        _both(_compute(own, "tokens"), _compute(other, "tokens")),
        _both(_dollars(own), _dollars(other)),
    ]


def _family(row: Effect) -> str:
    name = _FAMILIES.get(row.family, row.family)
    return f"{name}, {row.family_size}" if row.family_size else f"{name}, uncorrected"


def _mean(row: Effect, side: ArmSummary) -> str:
    if row.rates is not None:
        return f"{percent(side.paired_mean)} [{interval(_times(side.rate_low), _times(side.rate_high), 0)}]"
    return number(side.paired_mean)


def _times(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _difference(row: Effect) -> str:
    if row.rates is not None:
        found = row.rates
        size, low, high = _times(found.difference), _times(found.low), _times(found.high)
        return f"{_bracketed(size, low, high)} points"
    return _bracketed(row.effect.difference, row.effect.low, row.effect.high)


def _bracketed(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return NOTHING
    digits = places(value, low, high)
    return f"{signed(value, digits)} [{interval(low, high, digits)}]" if low is not None else signed(value, digits)


def _test(row: Effect) -> str:
    if row.statistic is None:
        return row.why or NOTHING
    if row.rates is not None:
        return f"{row.test}: {number(row.statistic)}"
    return f"t({row.effect.df}) = {number(row.statistic, 2)}"


def _both(own: str, other: str) -> str:
    return own if own == other == NOTHING else f"{own} / {other}"


def _compute(side: ArmSummary, name: str) -> str:
    value = side.compute.get(name)
    return NOTHING if value is None else number(value, 0)


def _dollars(side: ArmSummary) -> str:
    return money(side.compute.get("cost_usd"))


def _name(row: Effect) -> str:
    return f"{label(row.outcome)} ({row.arm} {MINUS} {row.reference})"


# --- all that is known of one effect ----------------------------------------------------------------


def _details(row: Effect) -> Table:
    found = row.effect
    facts = [
        ("pairs", f"{row.n}; at most {amount(row.replicates, 'replicate')} a unit and arm; "
                  f"{amount(row.judges, 'judge') if row.judges else 'no judges'}"),
        *[(f"mean, {arm}", _arm_words(side)) for arm, side in row.arms.items()],
        ("difference", _difference(row)),
        ("standard deviation of the differences", number(found.sd)),
        ("d_z (noncentral t)", _bracketed(found.d_z, found.d_z_low, found.d_z_high)),
        ("d_av; g_z (bias removed)", f"{number(found.d_av, 2)}; {number(found.g_z, 2)}"),
        ("test", f"{row.test}: {_test(row)}; p {p_value(row.p)}" if row.p is not None else f"no test: {row.why}"),
        *([("McNemar's table", _discordant(row))] if row.rates else []),
        *([("Wilcoxon signed-rank", _wilcoxon(row))] if row.robust else []),
        *([("equivalence (TOST)", _equivalence(row))] if row.equivalence else []),
        *([("worst case of what is missing", f"{signed(row.worst_case.low)} to {signed(row.worst_case.high)}")]
          if row.worst_case else []),
        *[(f"missing, {arm}", why_missing(side.missing)) for arm, side in row.arms.items()],
        *[(f"compute a run, {arm}", _compute_words(side)) for arm, side in row.arms.items()],
    ]  # fmt: skip
    if row.unmatched:
        facts.append(("left out, missing under the other arm", amount(row.unmatched, "value")))
    columns = [Column(title=_name(row), figures=False), Column(title="", figures=False)]
    return Table(columns=columns, rows=facts)


def _arm_words(side: ArmSummary) -> str:
    words = f"{number(side.paired_mean)} over the pairs; {number(side.mean)} over {amount(side.n, 'unit')}"
    return f"{words}, SD {number(side.sd)}"


def _discordant(row: Effect) -> str:
    found = row.rates
    if found is None:
        return NOTHING
    return (
        f"both {found.both}, {row.arm} alone {found.only_first}, {row.reference} alone "
        f"{found.only_second}, neither {found.neither}"
    )


def _wilcoxon(row: Effect) -> str:
    found = row.robust
    if found is None or found.statistic is None:
        return "; ".join(found.notes) if found else NOTHING
    words = [f"T = {number(found.statistic, 1)}, p {p_value(found.p)} ({found.method})"]
    words.append(f"rank-biserial {number(found.rank_biserial, 2)}")
    words += ["ties share mid-ranks"] if found.ties else []
    return "; ".join([*words, *found.notes])


def _equivalence(row: Effect) -> str:
    found = row.equivalence
    if found is None or found.p is None:
        return f"not tested: {found.why}" if found else NOTHING
    outcome = "equivalent within" if found.equivalent else "equivalence not shown within"
    words = f"{outcome} ±{number(found.margin)} (d_z ±{number(found.margin_d_z, 2)}), p {p_value(found.p)}"
    return (
        f"{words}; the smallest margin that these data establish is ±{number(found.smallest)}; with "
        f"{row.n} pairs none below d_z ±{number(found.possible_d_z, 2)} could be"
    )


def why_missing(found: Missing) -> str:
    """How many units have no value and why; verdicts and replicates missing in the others."""
    words = [f"{len(found.units)} of {amount(found.planned, 'unit')}"]
    words += [f"{reason}: {count}" for reason, count in found.why.items()]
    if found.cells:
        words.append(f"and {amount(found.cells, 'single value')} of units that have others")
    return "; ".join(words)


def _compute_words(side: ArmSummary) -> str:
    shows = {"cost_usd": money, "seconds": time}
    told = [
        f"{label(name)} {shows[name](value) if name in shows else number(value)}"
        for name, value in side.compute.items()
    ]
    return ", ".join(told) or "not known"


# --- figures ----------------------------------------------------------------------------------------


def effect_forest(
    name: str, groups: Sequence[tuple[str, Sequence[tuple[str, Effect]]]], alpha: float,
    sides: tuple[str, str] | None = None, margin: float | None = None,
) -> str:  # fmt: skip
    """A forest of d_z: groups of named effects."""
    made = [
        ForestGroup(title=title, rows=[_forest_row(row_label, row, alpha) for row_label, row in rows])
        for title, rows in groups
    ]
    return forest(name, made, axis="d_z, with 95 % interval", sides=sides, margin=margin)


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


def _forest_figure(name: str, rows: Sequence[Effect], alpha: float, findings: Findings) -> Figure:
    pairs = dict.fromkeys((row.arm, row.reference) for row in rows)
    groups = []
    for arm, other in pairs:
        own = [row for row in rows if (row.arm, row.reference) == (arm, other)]
        for family in dict.fromkeys(row.family for row in own):
            title = _FAMILIES.get(family, family)
            title = f"{arm} {MINUS} {other}: {title}" if len(pairs) > 1 else title
            groups.append((title, [(label(r.outcome), r) for r in own if r.family == family]))
    arm, other = next(iter(pairs))
    sides = (f"lower under {arm}", f"higher under {arm}") if len(pairs) == 1 else None
    margins = findings.analysis_plan.equivalence if findings.analysis_plan else None
    margin = margins.margin_dz if margins else None
    caption = "Effect of each outcome (d_z, 95 % interval). Diamonds: significant after correction."
    if margin is not None:
        caption += f" Shaded: the declared region of equivalence, ±{number(margin, 2)}."
    return Figure(name=name, svg=effect_forest(name, groups, alpha, sides, margin), caption=caption)


def pairs_part(findings: Findings) -> Section | None:
    """Each unit as a line from the reference to the arm, for the primary outcomes."""
    analysis, study = findings.analysis, findings.study
    if analysis is None or study is None:
        return None
    panels = []
    for row in analysis.primary or analysis.followups[:3]:
        found = pair(study.cells(row.outcome), row.arm, row.reference)
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
        caption += f" {MOST_LINES} of the units are drawn, evenly chosen by the size of the difference."
    figure = Figure(name="pairs", svg=slopes("pairs", panels), caption=caption)
    return Section(id="pairs", title="Pair by pair", blocks=[figure])
