"""A run as a person reads it: who said what to whom, and what came of it.

Events give the order; calls and tool calls are shown under their turn. Whatever a model
wrote goes through ``plain.visible`` and is never read as markup.
"""

from __future__ import annotations

from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results.display.event_renderer import EventRenderer
from orglab.results.display.layout import inline, value_block
from orglab.results.display.run_list import runs_table
from orglab.results.number_format import amount, duration
from orglab.results.records import RunRecord
from orglab.results.usage.cost_text import cost_of, simulated_note, unreal

__all__ = ["runs_table", "transcript", "transcript_text"]


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
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(transcript(record, full=full))
    return "".join(line.rstrip() + "\n" for line in capture.get().splitlines())


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
