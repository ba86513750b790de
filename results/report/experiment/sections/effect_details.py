"""Every figure of one effect, as a table of its own."""

from __future__ import annotations

from orglab.results.number_format import (
    NOTHING,
    amount,
    duration,
    label,
    money,
    number,
    p_value,
    signed,
)
from orglab.results.report.experiment.sections.effect_table import (
    bracketed,
    difference_text,
    effect_title,
    test_text,
)
from orglab.results.report.render.blocks import (
    Column,
    Table,
)
from orglab.results.statistics.data.pairing import Missing
from orglab.results.statistics.effects import ArmSummary, Effect

__all__ = ["effect_details"]


def effect_details(row: Effect) -> Table:
    """Test, sizes, robust test, equivalence, what is missing and why, compute."""
    facts = [("pairs", _pairs(row))]
    facts += [(f"mean, {arm}", _arm_words(side)) for arm, side in row.arms.items()]
    facts += _sizes(row)
    facts.append(("test", _test(row)))
    optional = {
        "McNemar's table": _discordant(row) if row.rates else "",
        "Wilcoxon signed-rank": _wilcoxon(row) if row.robust else "",
        "equivalence (TOST)": _equivalence(row) if row.equivalence else "",
        "worst case of what is missing": _worst(row),
    }
    facts += [(name, words) for name, words in optional.items() if words]
    facts += [(f"missing, {arm}", why_missing(side.missing)) for arm, side in row.arms.items()]
    if row.unmatched:
        facts.append(("left out, missing under the other arm", amount(row.unmatched, "value")))
    facts += [(f"compute a run, {arm}", _compute_words(side)) for arm, side in row.arms.items()]
    columns = [Column(title=effect_title(row), figures=False), Column(title="", figures=False)]
    return Table(columns=columns, rows=[(name, words.replace("\n", " ")) for name, words in facts])


def _pairs(row: Effect) -> str:
    judges = amount(row.judges, "judge") if row.judges else "no judges"
    return f"{row.n}; at most {amount(row.replicates, 'replicate')} a unit and arm; {judges}"


def _sizes(row: Effect) -> list[tuple[str, str]]:
    found = row.effect
    return [
        ("difference", difference_text(row)),
        ("standard deviation of the differences", number(found.sd)),
        ("d_z (noncentral t)", bracketed(found.d_z, found.d_z_low, found.d_z_high)),
        ("d_av; g_z (bias removed)", f"{number(found.d_av, 2)}; {number(found.g_z, 2)}"),
    ]


def _test(row: Effect) -> str:
    if row.p is None:
        return f"no test: {row.why}"
    corrected = f", {p_value(row.p_adjusted)} after Holm" if row.family_size else ""
    test = test_text(row) if row.rates else f"{row.test}, {test_text(row)}"
    return f"{test}, p {p_value(row.p)}{corrected}"


def _worst(row: Effect) -> str:
    found = row.worst_case
    return f"{signed(found.low)} to {signed(found.high)}" if found else ""


def _arm_words(side: ArmSummary) -> str:
    words = (
        f"{number(side.paired_mean)} over the pairs; {number(side.mean)} over "
        f"{amount(side.n, 'unit')}"
    )
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
    words = (
        f"{outcome} ±{number(found.margin)} (d_z ±{number(found.margin_d_z, 2)}), p "
        f"{p_value(found.p)}"
    )
    return (
        f"{words}; the smallest margin that these data establish is ±{number(found.smallest)}; "
        f"with {row.n} pairs none below d_z ±{number(found.possible_d_z, 2)} could be"
    )


def why_missing(found: Missing) -> str:
    """How many units have no value and why; verdicts and replicates missing in the others."""
    words = [f"{len(found.units)} of {amount(found.planned, 'unit')}"]
    words += [f"{reason}: {count}" for reason, count in found.why.items()]
    if found.cells:
        words.append(f"and {amount(found.cells, 'single value')} of units that have others")
    return "; ".join(words)


def _compute_words(side: ArmSummary) -> str:
    shows = {"cost_usd": money, "seconds": duration}
    told = [
        f"{label(name)} {shows[name](value) if name in shows else number(value)}"
        for name, value in side.compute.items()
    ]
    return ", ".join(told) or "not known"
