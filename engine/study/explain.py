"""Why a call was made: which part of it differs from the nearest stored call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from orglab.engine.run.identity import canonical
from orglab.engine.study.word_diff import changed_words
from orglab.results.reader import Reader
from orglab.results.records import CallRecord, RunRecord

__all__ = ["Explained", "Part", "explain_call"]

JSON: TypeAlias = Any
LONGEST_CHANGE = 400
"""Characters of a change in words that are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part of a call's identity.

    Attributes:
        name: ``model``, ``message 2 (user)``, ``tools``, ``unit``, …
        same: It is the same in the nearest call.
        change: How it differs, in words; "" where it is the same.
    """

    name: str
    same: bool
    change: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Explained:
    """A call beside the nearest stored one.

    Attributes:
        call: The call.
        run: Its run's id.
        other: The nearest call, or None where it is the only one of its role.
        other_run: That one's run.
        parts: Every part of the identity.
    """

    call: CallRecord
    run: str
    other: CallRecord | None
    other_run: str
    parts: Sequence[Part]


def explain_call(reader: Reader, run: str, position: str) -> Explained:
    """Compares a call with the stored calls of the same role, and tells the nearest.

    Args:
        reader: The study.
        run: The first characters of the run's id.
        position: The call's position, such as ``3.turn.0.0``.

    Raises:
        StoreError: There is no such run.
        ValueError: It has no such call; the text names some that it has.
    """
    record = reader.record(reader.find(run).id)
    call = _call(record, position)
    best: tuple[int, RunRecord, CallRecord, list[Part]] | None = None
    apart = not _shares(reader)
    for other, candidate in _candidates(reader, record, call):
        parts = list(_parts(record, call, other, candidate))
        if apart:
            parts.append(_part("arm", other.arm, record.arm))
        equal = sum(part.same for part in parts)
        if best is None or equal > best[0]:
            best = (equal, other, candidate, parts)
    if best is None:
        return Explained(call=call, run=record.id, other=None, other_run="", parts=())
    return Explained(call=call, run=record.id, other=best[2], other_run=best[1].id, parts=best[3])


def _shares(reader: Reader) -> bool:
    """Whether arms share calls, so that the arm is no part of an identity."""
    plans = [row["hash"] for row in reader.rows("SELECT hash FROM specs WHERE kind='experiment'")]
    return any((reader.spec(plan) or {}).get("share_prefix") for plan in plans)


def _call(record: RunRecord, position: str) -> CallRecord:
    for call in record.calls:
        if call.position == position:
            return call
    known = ", ".join(call.position for call in record.calls[:20])
    raise ValueError(f"run {record.id[:8]} has no call at {position}; it has: {known}")


def _candidates(
    reader: Reader, record: RunRecord, call: CallRecord
) -> Iterator[tuple[RunRecord, CallRecord]]:
    for row in list(reader.runs()):
        other = record if row.id == record.id else reader.record(row.id)
        for candidate in other.calls:
            if candidate.role == call.role and (row.id, candidate.position) != (
                record.id,
                call.position,
            ):
                yield other, candidate


def _parts(
    record: RunRecord, call: CallRecord, other: RunRecord, candidate: CallRecord
) -> Iterator[Part]:
    yield _part("provider", candidate.provider, call.provider)
    yield _part("model", candidate.model, call.model)
    for name in ("params", "tools", "schema"):
        yield _part(name, candidate.request.get(name), call.request.get(name))
    ours, theirs = call.request["messages"], candidate.request["messages"]
    for index in range(max(len(ours), len(theirs))):
        one = theirs[index] if index < len(theirs) else None
        two = ours[index] if index < len(ours) else None
        role = (two or one or {}).get("role", "")
        yield _part(f"message {index + 1} ({role})", _content(one), _content(two))
    yield _part("seed", other.seed, record.seed)
    yield _part("unit", other.unit, record.unit)
    yield _part("replicate", other.replicate, record.replicate)
    yield _part("earlier calls of the run", _earlier(other, candidate), _earlier(record, call))


def _content(message: Mapping[str, JSON] | None) -> JSON:
    if message is None:
        return None
    return message["content"] if set(message) <= {"role", "content"} else dict(message)


def _earlier(record: RunRecord, call: CallRecord) -> list[str]:
    """What the run had asked before the call's tick; judges are asked of what is written alone."""
    tick = _tick(call)
    return [each.identity for each in record.calls if 0 < _tick(each) < tick]


def _tick(call: CallRecord) -> int:
    """0 for calls of judges, which stand outside the run."""
    first = call.position.partition(".")[0]
    return int(first) if first.isdecimal() else 0


def _part(name: str, left: JSON, right: JSON) -> Part:
    if left == right:
        return Part(name=name, same=True)
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > 40:
        return Part(name=name, same=False, change=_cut(changed_words(left, right)))
    return Part(name=name, same=False, change=f"{_short(left)} there, {_short(right)} here")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CHANGE else f"{text[:LONGEST_CHANGE]} …"


def _short(value: JSON) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list) and all(isinstance(each, str) and len(each) == 32 for each in value):
        return f"{len(value)} calls"
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
