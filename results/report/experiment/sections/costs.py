"""Cost section: by arm and role, writing and judging, in full and as paid."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.results.number_format import (
    MINUS,
    NOTHING,
    amount,
    duration,
    money,
    name_list,
    number,
    percent,
)
from orglab.results.report.experiment.costs import ArmCosts, Costs, UsageTotals
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import (
    Block,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.pages import sentences
from orglab.results.report.render.row_plots import stacked_bars


def costs_section(findings: ExperimentFindings) -> Section:
    """Show tables and a figure of costs."""
    costs = findings.costs
    blocks: list[Block] = [_costs_figure(costs), _by_role(costs), _contrasts(findings)]
    notes = sentences(
        "cost_notes.txt.j2", costs=costs, total=costs.total, spending=findings.spending
    )
    blocks += [Paragraph.note(words) for words in notes]
    return Section(id="costs", title="Cost", blocks=blocks)


def _costs_figure(costs: Costs) -> FigureBlock:
    priced = not costs.total.unpriced and costs.total.usd > 0
    bars: dict[str, dict[str, float]] = {}
    for name, arm in costs.arms.items():
        parts = {role: arm.roles.get(role, UsageTotals()) for role in costs.roles} | {
            "judging": arm.judging
        }
        bars[name] = {
            part: (use.usd if priced else use.tokens) / max(arm.runs, 1)
            for part, use in parts.items()
        }
    dollars = ", ".join(filter(None, ["US dollars a run", costs.unreal]))
    what = dollars if priced else "tokens a run, read and written"
    svg = stacked_bars("costs", bars, axis=what, hatched="judging")
    return FigureBlock(
        name="costs",
        svg=svg,
        caption=f"What a run of each arm used, by role ({what}). Grey: judging.",
    )


def _by_role(costs: Costs) -> TableBlock:
    columns = TableColumn.texts("")
    for arm in costs.arms:
        columns += TableColumn.numbers(
            *[f"{arm}: {what}" for what in ("calls", "tokens", "$", "seconds")]
        )
    rows: list[Sequence[str]] = []
    strong = set()
    for title, uses in _usage_lines(costs):
        if title.startswith(("all", "writing and judging")):
            strong.add(len(rows))
        rows.append([title, *[cell for use in uses for cell in _usage_cells(use)]])
    return TableBlock(
        columns=columns, rows=rows, strong=frozenset(strong),
        caption=f"Totals of {name_list(_runs(costs))}{_dollars_are(costs)}",
    )  # fmt: skip


def _dollars_are(costs: Costs) -> str:
    return f"; dollars are {costs.unreal}" if costs.unreal and costs.total.usd else ""


def _runs(costs: Costs) -> list[str]:
    return [f"{amount(arm.runs, 'run')} of {name}" for name, arm in costs.arms.items()]


def _usage_lines(costs: Costs) -> list[tuple[str, list[UsageTotals]]]:
    arms = list(costs.arms.values())
    lines = [(role, [arm.roles.get(role, UsageTotals()) for arm in arms]) for role in costs.roles]
    lines.append(("all roles", [arm.generation for arm in arms]))
    if any(arm.judging.calls for arm in arms):
        lines.append(("judging", [arm.judging for arm in arms]))
        lines.append(("writing and judging", [arm.both for arm in arms]))
    if costs.shares:
        lines.append(("all roles, net", [_net(arm.generation) for arm in arms]))
        lines.append(("writing and judging, net", [_net(arm.both) for arm in arms]))
    if any(arm.put_aside.calls for arm in arms):
        lines.append(("put aside by retries", [arm.put_aside for arm in arms]))
    return lines


def _net(use: UsageTotals) -> UsageTotals:
    return UsageTotals(
        calls=use.calls - use.shared_calls,
        tokens=use.net_tokens,
        usd=use.usd - use.shared_usd,
        unpriced=use.unpriced,
    )


def _usage_cells(use: UsageTotals) -> list[str]:
    return [
        f"{use.calls:,}",
        f"{use.tokens:,}",
        money(use.cost),
        duration(use.seconds) if use.seconds else NOTHING,
    ]


# --- contrasts ------------------------------------------------------------------------------------


def _contrasts(findings: ExperimentFindings) -> TableBlock:
    """Compare each arm with its reference: writing, judging and both; in full and net."""
    arms = findings.costs.arms
    columns = TableColumn.texts("a run", "")
    columns += TableColumn.numbers("reference", "arm", "difference", "relative")
    rows = [
        [f"{arm} {MINUS} {other}", *cells]
        for arm, other in findings.plan.contrasts
        for cells in (
            *_comparison_rows(arms[arm], arms[other], shares=findings.costs.shares),
            *_critical_path(findings, arm, other),
        )
    ]
    return TableBlock(
        columns=columns,
        rows=rows,
        caption=f"Compute of each contrast, mean of a run{_dollars_are(findings.costs)}",
    )


def _comparison_rows(one: ArmCosts, other: ArmCosts, *, shares: bool) -> list[list[str]]:
    rows = []
    sums = {"writing": (one.generation, other.generation), "judging": (one.judging, other.judging),
            "both": (one.both, other.both)}  # fmt: skip
    if not (one.judging.calls or other.judging.calls):
        sums = {"writing": sums["writing"]}
    for name, pair in sums.items():
        uses = {name: pair}
        if shares and name != "judging":
            uses[f"{name}, net"] = (_net(pair[0]), _net(pair[1]))
        for title, (mine, theirs) in uses.items():
            tokens = _per_run(mine.tokens, one), _per_run(theirs.tokens, other)
            dollars = _per_run(mine.cost, one), _per_run(theirs.cost, other)
            rows.append([f"tokens, {title}", *_comparison_cells(*tokens, "tokens")])
            rows.append([f"$, {title}", *_comparison_cells(*dollars, "usd")])
    return rows


def _per_run(total: float | None, arm: ArmCosts) -> float | None:
    return None if total is None or not arm.runs else total / arm.runs


def _critical_path(findings: ExperimentFindings, arm: str, other: str) -> list[list[str]]:
    rows = {
        row.arm: row.mean
        for row in (findings.analysis.compute if findings.analysis else ())
        if row.column == "seconds"
    }
    if rows.get(arm) is None or rows.get(other) is None:
        return []
    cells = _comparison_cells(rows[arm], rows[other], "seconds")
    return [["seconds, critical path, completed runs", *cells]]


def _comparison_cells(mine: float | None, theirs: float | None, kind: str) -> list[str]:
    show = {"tokens": lambda value: number(value, 0), "usd": money, "seconds": duration}[kind]
    if mine is None or theirs is None:
        return [show(theirs), show(mine), "unknown", "unknown"]
    more = mine - theirs
    relative = f"{'+' if more > 0 else ''}{percent(more / theirs, 1)}" if theirs else NOTHING
    return [show(theirs), show(mine), f"{'+' if more > 0 else ''}{show(more)}", relative]
