"""The runs of a study in a list, for ``orglab show DIR``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orglab.results.figures_text import count, dollars, seconds
from orglab.results.paid import money_words
from orglab.results.plain import visible
from orglab.results.reader import Reader, RunRow
from orglab.results.served import drift_words, drifts

__all__ = ["runs_table"]

_STYLE = {"completed": "green", "stopped": "yellow", "failed": "red", "running": "cyan"}
_SHORTEST = 6


def runs_table(reader: Reader, *, limit: int | None = 1_000) -> RenderableType:
    """One line a run; a run can be shown by the id as printed.

    Args:
        reader: The study.
        limit: Show at most so many, and say how many more there are; None: all.
    """
    rows = list(_first(reader.runs(), limit))
    total = sum(1 for _ in reader.statuses()) if limit is not None else len(rows)
    shown = _prefix_length(reader)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("run", no_wrap=True, min_width=shown)
    for name in ("arm", "unit"):
        table.add_column(name, overflow="fold")
    for name in ("rep", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("turns", "loops", "tools", "tokens", "cost", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row, shown))
    notes = [*_notes(rows, total), *money_words(reader)]
    warnings = [Text(f"DRIFT: {drift_words(each)}", style="yellow") for each in drifts(reader)]
    return Group(table, *[Text(note, style="dim") for note in notes], *warnings)


def _first(rows: Iterable[RunRow], limit: int | None) -> Iterable[RunRow]:
    for number, row in enumerate(rows):
        if number == limit:
            return
        yield row


def _prefix_length(reader: Reader) -> int:
    """The shortest length at which the first characters tell all ids apart."""
    ids = sorted(reader.statuses())
    longest = max((_common(a, b) for a, b in pairwise(ids)), default=0)
    return max(_SHORTEST, longest + 1)


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cells(row: RunRow, shown: int) -> list[Text]:
    ended = row.status != "running"
    spent = row.seconds if row.seconds is not None else row.service_seconds + row.waiting_seconds
    figures = (
        str(row.turns),
        str(row.loops) + ("!" if row.forced else ""),
        str(row.tool_calls),
        f"{row.tokens_input + row.tokens_output:,}",
        dollars(row.cost_usd, row.priced_usd).removeprefix("cost "),
        seconds(spent),
    )
    return [
        Text(row.id[:shown]),
        Text(visible(row.arm)),
        Text(visible(row.unit)),
        Text(str(row.replicate)),
        Text(row.status, style=_STYLE[row.status]),
        *[Text(figure if ended else "") for figure in figures],
    ]


def _notes(rows: list[RunRow], total: int) -> Iterable[str]:
    if len(rows) < total:
        yield f"… and {count(total - len(rows), 'more run')}"
    if any(row.forced for row in rows):
        yield "! something was delivered against an objection, the cap being used up"
    if simulated := sum(row.simulated for row in rows):
        who = "all of these runs" if simulated == len(rows) else f"{simulated} of these runs"
        yield f"SIMULATED: {who} had replies that no language model wrote"
