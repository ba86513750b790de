"""What the events of a run say of its outputs and verdicts, and the run's record whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from orglab.providers.base import JSON
from orglab.results.records import (
    CallEntry,
    Event,
    JournalEntry,
    Output,
    RunRecord,
    ToolEntry,
    Verdict,
)
from orglab.results.store.journal.journal import position_key

_VERDICT_FIELDS = frozenset(field.name for field in fields(Verdict))


def closing_uses(events: Iterable[Event]) -> list[str]:
    """Return the link of each use of a closing link, in order."""
    uses = dict.fromkeys(use for event in events if (use := use_of(event)) is not None)
    return [link for _, link, _ in uses]


def use_of(event: Event) -> tuple[str, str, int] | None:
    """Return an event's use of a closing link: outer copy, link, number; else None.

    Copies that deliver together share a use; each copy of a role that is a team has uses of its own.
    """
    if event.kind != "delivered" or "use" not in event.body:
        return None
    around = event.body["output"].rpartition("@")[0].rpartition("/")[0]
    return around, event.body["link"], event.body["use"]


_OUTPUT_FIELDS = ("id", "copy", "role", "visit", "value", "text")
_CHANGES: Mapping[str, Mapping[str, JSON]] = {
    "delivered": {"fate": "delivered"},
    "withdrawn": {"fate": "rejected"},
    "unreviewed": {"unreviewed": True},
    "sent_back": {"fate": "sent back"},
    "verdict": {"forced": True},
    "lapsed": {"fate": "lapsed"},
}
"""What an event changes in its output, by the event's kind; of verdicts, the forced ones."""


def outputs_of(events: Iterable[Event]) -> tuple[Output, ...]:
    """Return every output of a run in order, with what became of it."""
    outputs: dict[str, Output] = {}
    for event in events:
        body, change = event.body, _CHANGES.get(event.kind)
        if event.kind == "output":
            fields_of_output = {name: body[name] for name in _OUTPUT_FIELDS}
            outputs[body["id"]] = Output(tick=event.tick, **fields_of_output)
        elif change is None or (event.kind == "verdict" and not body.get("forced")):
            continue
        elif body["output"] in outputs:
            outputs[body["output"]] = replace(outputs[body["output"]], **change)
    return tuple(outputs.values())


def verdicts_of(events: Iterable[Event]) -> tuple[Verdict, ...]:
    """Return every verdict of a run, in order."""
    return tuple(
        Verdict(**{key: value for key, value in event.body.items() if key in _VERDICT_FIELDS})
        for event in events
        if event.kind == "verdict"
    )


def together(outputs: Sequence[Output]) -> Output:
    """Return the outputs of all copies of a role as one, in order; its id is the role's name."""
    last = max(outputs, key=lambda output: (output.tick, output.visit))
    return Output(
        id=last.role,
        role=last.role,
        copy=last.role,
        visit=last.visit,
        tick=last.tick,
        value=[output.value for output in outputs],
        text="\n\n".join(output.text for output in outputs),
        fate="delivered",
    )


def answering(name: str | None, outputs: Iterable[Output]) -> tuple[Output, ...]:
    """Return the outputs named ``name``; a role means the last delivered one of each copy."""
    known = list(outputs)
    exact = tuple(output for output in known if output.id == name)
    if exact or name is None:
        return exact
    newest = {
        output.copy: output
        for output in known
        if output.role == name and output.fate == "delivered"
    }
    copies = sorted(newest, key=lambda copy: int(copy.rpartition("#")[2] or 0))
    return tuple(newest[copy] for copy in copies)


def _named(name: str | None, outputs: Sequence[Output]) -> Output | None:
    found = answering(name, outputs)
    if found and found[0].id == name:
        return found[0]
    return together(found) if found else None


def run_record(
    about: Mapping[str, JSON], events: Sequence[Event], entries: Iterable[JournalEntry]
) -> RunRecord:
    """Return a run's complete record.

    Args:
        about: Fields of ``RunRecord`` that events and entries do not tell: ``id``, ``arm``,
            ``unit``, ``inputs``, … Status, reason, answer and last come from the ``ended`` event
            where ``about`` has none of them.
        events: Every event, in order.
        entries: Every entry, in any order.
    """
    outputs = outputs_of(events)
    ordered = sorted(entries, key=lambda entry: position_key(entry.position))
    ended = next((event.body for event in reversed(events) if event.kind == "ended"), {})
    found = {key: ended[key] for key in ("status", "reason", "answer", "last") if key in ended}
    found |= about
    for name in ("answer", "last"):
        found[name] = _named(found.get(name), outputs)
    return RunRecord(
        **found,
        outputs=outputs,
        verdicts=verdicts_of(events),
        events=tuple(events),
        calls=tuple(entry for entry in ordered if isinstance(entry, CallEntry)),
        tool_calls=tuple(entry for entry in ordered if isinstance(entry, ToolEntry)),
    )
