"""``orglab plan``: what a run may use and cost, before anything is asked of any model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orglab.cli.options import (
    Files,
    Inputs,
    Models,
    Out,
    Replicates,
    RetryFailed,
    Seed,
    Sets,
    Trust,
    Units,
)
from orglab.cli.run_options import RunOptions, request_of
from orglab.engine.study.batch.study_folder import in_here
from orglab.engine.study.plan.plan import ArmPlan, ModelPlan, Plan, PlannedStudy, StudyPlan, plan_of
from orglab.engine.study.plan.prices import priced
from orglab.providers.structured_output.strict_json import dumps
from orglab.providers.terminal_safety import visible
from orglab.results.number_format import amount, dollars, duration
from orglab.results.usage.usage_history import UsageSpread

UNKNOWN = "unknown"
MOST_ARMS = 40
"""Arms or variants that are reported one by one."""
MADE_UP = "No unit is named (--input, --units): this is one run of a unit that was made up."


def plan(
    files: Files,
    inputs: Inputs = None,
    units: Units = None,
    replicates: Replicates = None,
    seed: Seed = None,
    models: Models = None,
    sets: Sets = None,
    out: Out = None,
    retry_failed: RetryFailed = False,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Tell what a run may use and cost before it is begun: runs, turns, calls, tokens, dollars.

    It takes what `orglab run` takes. No model is called and nothing is written.
    """
    options = RunOptions(
        files=files,
        inputs=inputs or [],
        units=units,
        replicates=replicates,
        seed=seed,
        models=models,
        sets=sets or [],
        trust=trust,
    )
    request = request_of(options, make_up_unit=True)
    folder = out or in_here(request.folder)
    batch = replace(request.batch, retry_failed=retry_failed)
    parts = [PlannedStudy(name=request.name, batch=batch, folder=folder)]
    found = asyncio.run(plan_of(parts))
    if as_json:
        typer.echo(dumps({"made_up_unit": request.made_up_unit, **found.as_json()}))
        return
    console = Console()
    if request.made_up_unit:
        console.print(MADE_UP, markup=False, highlight=False)
    _print(console, found)


# --- printing ------------------------------------------------------------------------------------


def _print(console: Console, found: Plan) -> None:
    for study in found.studies:
        console.print(_study_summary(study), markup=False, highlight=False, soft_wrap=True)
    console.print()
    console.print(_arms_table(found))
    console.print(_models_table(found))
    for message in dict.fromkeys(_prices(found)):
        console.print(message, markup=False, highlight=False, soft_wrap=True)
    for line in _notes(found):
        console.print(line, markup=False, highlight=False, style="dim")


def _study_summary(study: StudyPlan) -> str:
    runs = sum(arm.runs for arm in study.arms)
    parts = {
        "done": sum(arm.done for arm in study.arms),
        "failed": sum(arm.failed for arm in study.arms),
        "begun": sum(arm.begun for arm in study.arms),
    }
    counts = [f"{number:,} {name}" for name, number in parts.items() if number]
    to_do = sum(arm.to_do for arm in study.arms)
    message = f"{study.name}: {amount(runs, 'run')}, {', '.join([*counts, f'{to_do:,} to do'])}"
    return visible(f"{message}, in {study.folder}")


def _arms_table(found: Plan) -> Table:
    table = _table("One run")
    for title in (
        "",
        "runs to do",
        "turns",
        "calls",
        "of judges",
        "tokens in",
        "out",
        _dollars_title(found),
    ):
        _column(table, title)
    several = len(found.studies) > 1
    every = [(study, arm) for study in found.studies for arm in study.arms]
    for study, arm in every[:MOST_ARMS]:
        name = f"{study.name}: {arm.name}" if several else arm.name
        _arm_rows(table, name, arm)
    if len(every) > MOST_ARMS:
        table.add_row(Text(f"and {len(every) - MOST_ARMS:,} more (--json)", style="dim"))
    return table


def _column(table: Table, title: str) -> None:
    """Add a column: names, which differ in their last letters, are wrapped and never cut."""
    table.add_column(
        title, justify="right" if title else "left", overflow="ellipsis" if title else "fold"
    )


def _dollars_title(found: Plan) -> str:
    """Dollars that nobody will pay are called so."""
    return f"{found.unreal} dollars".strip()


def _arm_rows(table: Table, name: str, arm: ArmPlan) -> None:
    bounds = arm.upper_bounds
    writing, judging = bounds.writing, bounds.judging
    both = _added(writing.usd, judging.usd)
    table.add_row(
        Text(visible(name)),
        f"{arm.to_do:,}",
        f"≤ {bounds.turns:,}",
        _bound(writing.calls),
        _bound(judging.calls),
        _rough(_added(writing.input, judging.input)),
        _bound(_added(writing.output, judging.output)),
        _most_usd(both),
    )
    past = arm.estimate
    if past is None:
        return
    table.add_row(
        Text(f"  mean of {amount(past.runs, 'earlier run')}", style="dim"),
        "",
        _mean(past.turns),
        _mean(past.calls),
        _mean(past.judging_calls),
        _mean(past.input),
        _mean(past.output),
        _mean(past.usd, money=True),
    )


def _models_table(found: Plan) -> Table:
    table = _table("All runs to do, by model")
    for title in ("", "calls", "tokens in", "tokens out", _dollars_title(found), "time"):
        _column(table, title)
    for model in found.models:
        _model_rows(table, model)
    bound, estimate = found.bound, found.estimated_usd
    upper_bounds = ""
    if estimate is not None and (estimate[0] or bound.usd):
        error = f" ± {dollars(estimate[1])}" if estimate[1] else ""
        upper_bounds = f"{_about_usd(estimate[0])}{error}\n"
    table.add_row(
        Text("together", style="bold"),
        _bound(bound.calls),
        _rough(bound.input),
        _bound(bound.output),
        upper_bounds + _most_usd(bound.usd),
        "",
    )
    return table


def _model_rows(table: Table, model: ModelPlan) -> None:
    line, bound, estimate = model.line, model.bound, model.estimate
    who = "" if line.judging else f" ({', '.join(line.roles)})"
    name = Text(visible(line.name + who))
    cells = [_bound(bound.calls), _rough(bound.input), _bound(bound.output), _most_usd(bound.usd)]
    if estimate is not None:
        about = [_about(value) for value in (estimate.calls, estimate.input, estimate.output)]
        about.append(_about_usd(estimate.usd))
        cells = [f"{one}\n{other}" for one, other in zip(about, cells, strict=True)]
    time = "" if model.seconds is None else f"≥ {duration(model.seconds[0])}\n{model.seconds[1]}"
    table.add_row(name, *cells, time)


def _prices(found: Plan) -> Iterator[str]:
    """Each model's price a million tokens, once."""
    for model in found.models:
        for each in model.line.models:
            yield visible(f"{each.provider} {each.model}".rstrip() + f": {priced(each).summary()}")


def _notes(found: Plan) -> Iterator[str]:
    yield (
        "≤ at most, by the bounds of loops, tool calls, repairs and replies. ≲ about at most: as many "
        "prompts as long as the longest one rendered, whatever tools would add to them."
    )
    if unseen := [arm.name for arm in found.arms if arm.estimate is None]:
        who = "" if len(unseen) == len(found.arms) else f" of {', '.join(unseen)}"
        yield visible(f"No earlier run{who} is known: there are bounds, and no estimates.")
    if any(arm.estimate for arm in found.arms):
        yield "Means of earlier runs of the same team, at today's prices; ±: standard error."
    if any(arm.begun for arm in found.arms):
        yield "Runs that were begun count in full, although their durable replies are not requested again."
    for study in found.studies:
        yield from _study_notes(study)
    reasons = {arm.upper_bounds.issue: arm.name for arm in found.arms if arm.upper_bounds.issue}
    for reason, name in reasons.items():
        yield visible(f"Some bounds are unknown ({name}): {reason}")


def _study_notes(study: StudyPlan) -> Iterator[str]:
    spent = study.spent
    if spent is not None:
        known = None if spent.unpriced else spent.paid_usd
        message = f"Spent so far in {study.folder}: {dollars(known, spent.paid_usd)}"
        cut = sum(call.requests for call in spent.cut)
        if cut:
            message += f"; {amount(cut, 'request')} cut, at most {dollars(spent.reserved_usd)} more"
        if spent.uncounted_usd:
            message += (
                f"; of replies without a count of tokens at most {dollars(spent.uncounted_usd)}"
            )
        yield visible(message + ".")
    if study.shares is not None:
        full, made = study.shares
        yield (
            f"Arms share calls: of {amount(full, 'call')} of one dry run of each arm, {made:,} "
            "are made. Bounds are in full, as if nothing were shared; means of dollars as paid."
        )


# --- cells ---------------------------------------------------------------------------------------


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.title, table.title_justify, table.title_style = title, "left", "bold"
    return table


def _cell(sign: str, value: float | None, show: Callable[[float], str] = "{:,.0f}".format) -> str:
    """Return a figure with its sign (≤ at most, ≲ about at most, about), as it stands in a cell."""
    zero = "$0" if show is dollars else "0"
    return UNKNOWN if value is None else f"{sign} {show(value)}" if value else zero


_bound = partial(_cell, "≤")
_rough = partial(_cell, "≲")
_about = partial(_cell, "about")
_most_usd = partial(_cell, "≲", show=dollars)
_about_usd = partial(_cell, "about", show=dollars)


def _mean(spread: UsageSpread | None, *, money: bool = False) -> str:
    if spread is None:
        return UNKNOWN
    show = dollars if money else _short
    spreads = f" (sd {show(spread.sd)})" if spread.sd else ""
    return f"{show(spread.mean)}{spreads}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
