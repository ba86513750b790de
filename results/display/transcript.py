"""A run as a person reads it: who said what to whom, and what came of it.

Events give the order; calls and tool calls are shown under their turn. Whatever a model
wrote goes through ``plain.visible`` and is never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results.display.event_renderer import EventRenderer
from orglab.results.display.layout import inline, printed, value_block
from orglab.results.number_format import amount, dollars, duration
from orglab.results.records import RunRecord
from orglab.results.store.reader import Reader, RunRow
from orglab.results.usage.served_models import drift_text, drifts
from orglab.results.usage.spending import cost_of, money_notes, simulated_note, unreal

_STATUS_STYLE = {"completed": "green", "stopped": "yellow", "failed": "red", "running": "cyan"}


def transcript(record: RunRecord, *, full: bool = False) -> RenderableType:
    """Render a run's transcript for a ``rich.console.Console`` of any width.

    Args:
        record: The run.
        full: Unfold tool results and reasoning, and show inputs whole.
    """
    return Group(_header(record, full), *EventRenderer(record, full=full).render(), _footer(record))


def transcript_text(
    record: RunRecord, *, width: int = 100, colour: bool = False, full: bool = False
) -> str:
    """Render a run's transcript as text.

    Args:
        record: The run.
        width: Columns.
        colour: With the escape codes of a terminal.
        full: Unfold tool results and reasoning, and show inputs whole.
    """
    return printed(transcript(record, full=full), width, colour=colour)


def _header(record: RunRecord, full: bool) -> RenderableType:
    title = Text(visible(record.arm), style="bold")
    title.append(f" · {visible(record.unit)} · replicate {record.replicate}", style="not bold")
    simulated = sum(call.simulated for call in record.calls)
    status = Text(_status_text(record), style=_STATUS_STYLE[record.status])
    if note := simulated_note(simulated, len(record.calls)):
        status.append(f" · {note}", style="bold magenta")
    parts: list[RenderableType] = [Rule(style="dim"), title, status]
    parts.append(Text(_facts_text(record), style="dim"))
    parts.append(Text(f"run {record.id}, seed {record.seed}", style="dim"))
    parts += [_input_block(name, value, full) for name, value in record.inputs.items()]
    return Group(*parts, Text(""))


def _status_text(record: RunRecord) -> str:
    if record.answer is not None:
        return f"completed: the answer is {record.answer.id}"
    if record.status == "running":
        return "not ended: no answer yet"
    reason = f" ({visible(record.reason)})" if record.reason else ""
    return f"{record.status}: no answer{reason}"


def _facts_text(record: RunRecord) -> str:
    turns = sum(event.kind in ("turn", "review") for event in record.events)
    loops = sum(verdict.obliged for verdict in record.verdicts)
    forced = sum(output.forced for output in record.outputs)
    read = sum(call.tokens["input"] for call in record.calls)
    written = sum(call.tokens["output"] for call in record.calls)
    service = sum(call.service_seconds for call in record.calls)
    waiting = sum(call.waiting_seconds for call in record.calls)
    facts = [amount(turns, "turn"), f"{loops} sent back"]
    facts += [amount(forced, "forced accept")] if forced else []
    facts += [amount(len(record.calls), "call"), amount(len(record.tool_calls), "tool call")]
    facts += [
        f"{read:,} tokens in, {written:,} out",
        _cost_text(record),
        f"{duration(service)} of service",
    ]
    facts += [f"{duration(waiting)} of waiting"] if waiting else []
    facts += [f"{record.asked_again} retried after a crash"] if record.asked_again else []
    return " · ".join(facts)


def _cost_text(record: RunRecord) -> str:
    """Format the cost; dollars of simulated models are marked."""
    words = unreal(sum(call.simulated for call in record.calls), len(record.calls))
    paid = any(call.cost_usd for call in record.calls)
    return cost_of(record.calls) + (f" ({words})" if words and paid else "")


def _input_block(name: str, value: JSON, full: bool) -> RenderableType:
    label = Text(visible(name) + ": ", style="dim")
    if not full:
        return label.append(Text(inline(value, 160), style="not dim"))
    return Group(label, Padding(value_block(value), (0, 0, 0, 2)))


def _footer(record: RunRecord) -> RenderableType:
    text = Text(_status_text(record), style=_STATUS_STYLE[record.status])
    if record.answer is None and record.last is not None:
        text.append(f"; the last output, {record.last.id}, stands above and is no answer")
    return Group(Rule(style="dim"), text)


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
