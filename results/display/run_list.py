"""The runs of a study in a list, for ``orglab show DIR``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from orglab.providers.terminal_safety import visible
from orglab.results.number_format import amount, dollars, duration
from orglab.results.store.reader import Reader, RunRow
from orglab.results.usage.cost_text import money_notes, unreal
from orglab.results.usage.served_models import drift_text, drifts

__all__ = ["runs_table"]

_STYLE = {"completed": "green", "stopped": "yellow", "failed": "red", "running": "cyan"}
_SHORTEST = 6
_ANY = 10_000
_COLUMNS = (
    "run",
    "arm",
    "unit",
    "rep",
    "status",
    "turns",
    "loops",
    "tools",
    "tokens",
    "cost",
    "time",
)


def runs_table(reader: Reader, *, limit: int | None = 1_000) -> RenderableType:
    """Render one line a run; a run can be shown by the id as printed.

    Args:
        reader: The study.
        limit: Show at most so many, and say how many more there are; None: all.
    """
    rows = list(_first_runs(reader.runs(), limit))
    total = sum(1 for _ in reader.statuses()) if limit is not None else len(rows)
    shown = _prefix_length(reader)
    table = _Runs(rows, shown)
    notes = [*_notes(rows, total), *money_notes(reader)]
    warnings = [Text(f"DRIFT: {drift_text(each)}", style="yellow") for each in drifts(reader)]
    return Group(table, *[Text(note, style="dim") for note in notes], *warnings)


_FOLDED = (
    ("run",),
    ("arm", "unit"),
    ("status", "rep"),
    ("turns", "tools"),
    ("loops",),
    ("tokens", "cost"),
    ("time",),
)
"""Columns that share one where the terminal is narrow."""
_FIGURES = ("turns", "loops", "tools", "tokens", "cost", "time")


class _Runs:
    """The table of runs: one line a run, or two where the names would not fit beside the figures."""

    def __init__(self, rows: list[RunRow], shown: int) -> None:
        self._rows, self._shown = rows, shown
        self._unreal = unreal(sum(row.simulated for row in rows), len(rows))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = self._runs_table([(name,) for name in _COLUMNS])
        fits = Measurement.get(console, options.update(width=_ANY), wide).maximum
        yield wide if fits <= options.max_width else self._runs_table(_FOLDED)

    def _runs_table(self, columns: Sequence[Sequence[str]]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for names in columns:
            title = "\n".join(self._title(name) for name in names)
            if names[0] in ("arm", "unit"):
                table.add_column(title, overflow="fold")
            else:
                right = "right" if names[0] in _FIGURES else "left"
                table.add_column(title, justify=right, no_wrap=True)  # type: ignore[arg-type]
        for row in self._rows:
            cells = dict(zip(_COLUMNS, _run_cells(row, self._shown, self._unreal), strict=True))
            table.add_row(*[Text("\n").join(cells[name] for name in names) for names in columns])
        return table

    def _title(self, name: str) -> str:
        return f"{self._unreal} cost" if name == "cost" and self._unreal == "simulated" else name


def _first_runs(rows: Iterable[RunRow], limit: int | None) -> Iterable[RunRow]:
    for number, row in enumerate(rows):
        if number == limit:
            return
        yield row


def _prefix_length(reader: Reader) -> int:
    """Return the shortest length at which the first characters distinguish all ids."""
    ids = sorted(reader.statuses())
    longest = max((_common_prefix(a, b) for a, b in pairwise(ids)), default=0)
    return max(_SHORTEST, longest + 1)


def _common_prefix(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _run_cells(row: RunRow, shown: int, unreal: str) -> list[Text]:
    ended = row.status != "running"
    spent = row.seconds if row.seconds is not None else row.service_seconds + row.waiting_seconds
    figures = (
        str(row.turns),
        str(row.loops) + ("!" if row.forced else ""),
        str(row.tool_calls),
        f"{row.tokens_input + row.tokens_output:,}",
        dollars(row.cost_usd, row.priced_usd).removeprefix("cost ")
        + ("*" if row.simulated and unreal != "simulated" else ""),
        duration(spent),
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
        yield f"… and {amount(total - len(rows), 'more run')}"
    if any(row.forced for row in rows):
        yield "! something was delivered against an objection, the cap being used up"
    if simulated := sum(row.simulated for row in rows):
        who = "all of these runs" if simulated == len(rows) else f"{simulated} of these runs"
        if any(row.priced_usd for row in rows):
            which = (
                "* dollars of a simulated model"
                if simulated < len(rows)
                else "dollars are simulated"
            )
            yield f"{which}: nobody was paid"
        yield f"SIMULATED: {who} had replies that no language model wrote"
