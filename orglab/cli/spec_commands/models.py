"""``orglab models``: what is installed, configured and reachable, and at what price."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orglab.cli.options import Trust
from orglab.engine.study.plan.models_overview import (
    ModelOverview,
    is_catalogue,
    models_of_file,
    overviews_of,
    with_reachability,
)
from orglab.providers.registry import load_plugin, plugin_names, plugin_version
from orglab.providers.structured_output.strict_json import dumps
from orglab.providers.terminal_safety import visible
from orglab.results.usage.usage_history import studies_under

_LIMITS = {
    "requests_per_minute": "{:g} requests a minute",
    "tokens_per_minute": "{:,.0f} tokens a minute",
    "max_concurrency": "{:g} calls at once",
    "timeout_seconds": "given up after {:g} seconds",
}


def models(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A catalogue, team, experiment or sweep: its models are shown as well."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Ask each server once, at no cost, whether it answers.")
    ] = False,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show installed providers, and of a file's models: where, key, limits, price.

    A key is never shown, only whether the variable that holds it is set.
    """
    found = (
        overviews_of(models_of_file(file, trust=trust), studies_under(Path("runs"))) if file else []
    )
    if check:
        trusted = trust or file is None or is_catalogue(file)
        found = asyncio.run(with_reachability(found, trust=trusted))
    if as_json:
        body = {"providers": _providers(), "models": [each.as_json() for each in found]}
        typer.echo(dumps(body))
        return
    console = Console()
    _print_providers(console)
    for each in found:
        _print_model(console, each)


def _providers() -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "brought_by": plugin_version("orglab.providers", name),
            "fault": _issue(name),
        }
        for name in plugin_names("orglab.providers")
    ]


def _issue(name: str) -> str:
    """Return why a provider cannot be used, "" where it can."""
    try:
        load_plugin("orglab.providers", name)
    except (ImportError, AttributeError) as error:
        return f"cannot be loaded: {error}"
    return ""


def _print_providers(console: Console) -> None:
    table = Table("provider", "brought by", "", title="Providers", title_justify="left", box=None)
    for each in _providers():
        table.add_row(*[Text(visible(cell)) for cell in each.values()])
    console.print(table)


def _print_model(console: Console, each: ModelOverview) -> None:
    model = each.model
    head = Text("\n" + visible(model.alias), style="bold")
    head.append(visible(f"  {model.provider} {model.model}".rstrip()), style="not bold")
    console.print(head, highlight=False)
    for line in _lines(each):
        console.print(f"  {visible(line)}", markup=False, highlight=False, soft_wrap=True)


def _lines(each: ModelOverview) -> Iterator[str]:
    if each.address:
        yield f"at {each.address}"
    if each.key is not None:
        yield f"key in {each.key.variable}: {'set' if each.key.is_set else 'NOT SET'}"
    elif each.address:
        yield "key: none is sent"
    if each.model.params:
        yield f"parameters: {dumps(dict(each.model.params))}"
    if limits := _limits(each):
        yield f"limits: {', '.join(limits)}"
    yield f"price: {each.price.summary()}"
    if each.issue:
        yield f"cannot be asked: {each.issue}"
    if each.reachable is not None:
        yield f"reachable: {each.reachable}"


def _limits(each: ModelOverview) -> Sequence[str]:
    found = [_LIMITS[name].format(value) for name, value in each.limits().items()]
    if each.learnt is not None:
        day = each.learnt.at[:10]
        found.append(f"last known limit of the account {each.learnt.limit} calls at once ({day})")
    return found
