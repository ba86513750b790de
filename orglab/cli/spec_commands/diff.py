"""``orglab diff``: two specs as a controlled experiment."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orglab.cli.options import Inputs, Models, Sets, Trust, overrides_of
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.study_folder import load_team, units_of
from orglab.engine.study.experiment.comparison import Comparison, compare_teams
from orglab.engine.study.experiment.diff import ABSENT, Difference
from orglab.providers.base import JSON
from orglab.providers.terminal_safety import one_line, visible
from orglab.results.word_diff import changed_words, hunks, word_diff

_SIGNS = "\\|`*_[]!~$@"
"""What could mean something to Markdown within a line, beside HTML; ``&#;`` are our own."""


def markdown_of(found: Comparison) -> str:
    """Return the comparison: a table, the prompts that differ, both graphs."""
    return "\n".join(_markdown_lines(found)) + "\n"


def _markdown_lines(found: Comparison) -> Iterator[str]:
    yield f"# {_escaped(found.left)} and {_escaped(found.right)}"
    yield ""
    for each in found.measured:
        sides = f"{_cell(each.left)} → {_cell(each.right)}"
        yield f"Also measured differently: {_escaped(each.where)}: {sides}\n"
    if not found.differences:
        yield "No differences."
        return
    strange = {each.where for each in found.undeclared}
    yield f"| path | class | {_escaped(found.left)} | {_escaped(found.right)} |"
    yield "|---|---|---|---|"
    for each in found.differences:
        mark = " **undeclared**" if each.where in strange else ""
        cells = [f"{_escaped(each.where)}{mark}", each.kind, _cell(each.left), _cell(each.right)]
        yield f"| {' | '.join(cells)} |"
    for pair in found.prompts:
        yield f"\n## Prompt of {_escaped(pair.title)}\n\n<pre>{_marked_changes(pair.left, pair.right)}</pre>"
    for issue in found.errors:
        yield f"\nNot all prompts could be rendered: {_escaped(issue)}"
    for name, graph in zip((found.left, found.right), found.graphs, strict=True):
        yield f"\n## Graph of {_escaped(name)}\n\n```mermaid\n{graph.strip()}\n```"


def _cell(value: JSON) -> str:
    if value is ABSENT:
        return "—"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _escaped(text)


def _escaped(text: str) -> str:
    """Text on one line that means nothing to Markdown, HTML or a terminal."""
    plain = html.escape(visible(text))
    for sign in _SIGNS:
        plain = plain.replace(sign, f"&#{ord(sign)};")
    return plain.replace("\n", "<br>")


def _marked_changes(left: str, right: str) -> str:
    """Both texts word by word, for a ``<pre>``, in which Markdown means nothing."""
    tags = {"left": "del", "right": "ins"}
    parts = []
    for piece in word_diff(left, right):
        text = html.escape(visible(piece.text))
        tag = tags.get(piece.kind)
        parts.append(f"<{tag}>{text}</{tag}>" if tag else text)
    return "".join(parts)


_SHORT = 120
"""Longer texts are reported by the words that changed."""
_LONG = 300
GATE = 3
"""Exit code: a gate said no."""


def diff(
    left: Annotated[Path, typer.Argument(help="The one spec.")],
    right: Annotated[Path, typer.Argument(help="The other.")],
    treatment: Annotated[
        list[str] | None,
        typer.Option(help="A path in which they may differ, such as links.oversight.cap."),
    ] = None,
    units: Annotated[
        Path | None, typer.Option(help="A file of units; prompts of its first are compared.")
    ] = None,
    inputs: Inputs = None,
    sets: Sets = None,
    models: Models = None,
    trust: Trust = False,
    format_: Annotated[
        Literal["terminal", "markdown", "json"], typer.Option("--format", help="How to print it.")
    ] = "terminal",
    full: Annotated[
        bool, typer.Option("--full", help="At the terminal: prompts whole, long values too.")
    ] = False,
) -> None:
    """Show every difference of two teams; with --treatment it refuses any other."""
    overrides = overrides_of(sets or [])
    teams = [
        load_team(path, overrides=overrides, models=models, trust=trust) for path in (left, right)
    ]
    unit = _unit(teams, inputs or [], units) if units or inputs else None
    found = asyncio.run(
        compare_teams(
            teams[0], teams[1], names=(str(left), str(right)), unit=unit, treatment=treatment
        )
    )
    if format_ == "json":
        typer.echo(json.dumps(found.as_json(), indent=2))  # ASCII: it may go to a terminal
    elif format_ == "markdown":
        typer.echo(visible(markdown_of(found)))
    else:
        _print(Console(), found, full=full)
    if found.undeclared:
        raise typer.Exit(GATE)


def _unit(teams: Sequence[Team], inputs: Sequence[str], units: Path | None) -> Unit:
    """Return a unit with the inputs of both teams."""
    declared = {name: each for team in teams for name, each in team.topology.inputs.items()}
    both = replace(teams[0], topology=replace(teams[0].topology, inputs=declared))
    return units_of(both, inputs=inputs, units=units)[0]


def _print(console: Console, found: Comparison, *, full: bool) -> None:
    if not found.differences:
        console.print("No differences.", highlight=False)
        _also_measured(console, found)
        return
    if full:
        _whole(console, found)
    else:
        _list(console, found)
    _also_measured(console, found)
    _verdict(console, found)
    if not full:
        _changed_prompts(console, found)


def _also_measured(console: Console, found: Comparison) -> None:
    """Leave evaluators out: they are the experiment's, no difference of the teams."""
    for each in found.measured:
        console.print(Text("also measured differently: ").append(_line(each)))


def _list(console: Console, found: Comparison) -> None:
    """Every path on a line or two: what it was, what it is."""
    console.print(Text(visible(f"{found.left} → {found.right}"), style="bold"))
    strange = {each.where for each in found.undeclared}
    for each in found.differences:
        console.print(
            Text("  ").append(_line(each, "bold red" if each.where in strange else "bold"))
        )


def _line(each: Difference, style: str = "") -> Text:
    text = Text(visible(each.where), style=style)
    text.append(f" ({each.kind}): ", style="not bold dim")
    texts = isinstance(each.left, str) and isinstance(each.right, str)
    if texts and len(each.left) + len(each.right) > _SHORT:
        return text.append(
            one_line(changed_words(each.left, each.right), _LONG), "not bold default"
        )
    left, right = (one_line(_shown(side), _LONG // 2) for side in (each.left, each.right))
    return text.append(f"{left} → {right}", style="not bold default")


def _changed_prompts(console: Console, found: Comparison) -> None:
    """Yield the changed lines of prompts side by side; those that change alike, once."""
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for pair in found.prompts:
        if pair.left and pair.right:
            alike.setdefault(tuple(hunks(pair.left, pair.right)), []).append(pair.title)
    for changes, titles in alike.items():
        table = Table(
            title=Text(visible(f"prompt of {'; '.join(titles)}")),
            title_justify="left",
            show_lines=True,
        )
        for name in (found.left, found.right):
            table.add_column(Text(visible(name)), overflow="fold", ratio=1)
        for left, right in changes:
            table.add_row(_marked(left, right, "right"), _marked(left, right, "left"))
        console.print(table)
    for side in ("left", "right"):
        alone = [
            pair.title
            for pair in found.prompts
            if getattr(pair, side) and not (pair.left and pair.right)
        ]
        if alone:
            message = (
                f"prompts of {getattr(found, side)} alone: {'; '.join(alone)} (--full shows them)"
            )
            console.print(Text(visible(message)))


def _whole(console: Console, found: Comparison) -> None:
    title = Text(visible(f"{found.left} | {found.right}"))
    table = Table(title=title, title_justify="left", show_lines=True)
    for name in ("path", "class", found.left, found.right):
        table.add_column(Text(visible(name)), overflow="fold")
    strange = {each.where for each in found.undeclared}
    for each in found.differences:
        style = "bold red" if each.where in strange else ""
        table.add_row(Text(visible(each.where), style), each.kind, *_sides(each))
    console.print(table)
    for pair in found.prompts:
        console.rule(Text(visible(f"prompt of {pair.title}")), align="left")
        console.print(_marked(pair.left, pair.right))


def _sides(found: Difference) -> tuple[Text, Text]:
    if isinstance(found.left, str) and isinstance(found.right, str):
        return _marked(found.left, found.right, "right"), _marked(found.left, found.right, "left")
    return Text(_shown(found.left)), Text(_shown(found.right))


def _shown(value: JSON) -> str:
    if value is ABSENT:
        return "—"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return visible(text)


def _marked(left: str, right: str, without: str = "") -> Text:
    """Both texts word by word: what is gone in red, what is new in green."""
    styles = {"left": "red", "right": "green", "gap": "dim"}
    text = Text()
    for piece in word_diff(left, right):
        if piece.kind != without:
            text.append(_signed(piece.kind, visible(piece.text)), styles.get(piece.kind, ""))
    return text


def _signed(kind: str, text: str) -> str:
    """Yield changes in a form that is readable without colours."""
    if kind == "left":
        return f"[-{text}-]"
    return f"{{+{text}+}}" if kind == "right" else text


def _verdict(console: Console, found: Comparison) -> None:
    for line in _lines(found):
        console.print(visible(line), markup=False, highlight=False)


def _lines(found: Comparison) -> Iterator[str]:
    for issue in found.errors:
        yield f"Not all prompts could be rendered: {issue}"
    number = len(found.differences)
    yield "1 difference." if number == 1 else f"{number} differences."
    if found.treatment is None:
        return
    if not found.undeclared:
        yield f"Nothing differs beyond the treatment ({', '.join(found.treatment)})."
        return
    yield f"{len(found.undeclared)} beyond the treatment ({', '.join(found.treatment)}):"
    for each in found.undeclared:
        yield f"  {each.where}"
