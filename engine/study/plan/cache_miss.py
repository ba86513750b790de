"""Why a call was made: which part of it differs from the nearest stored call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.records import CallEntry, RunRecord
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader, study_file
from orglab.results.store.response_cache import CachedCall, read_cached_calls
from orglab.results.word_diff import changed_words

LONGEST_CHANGE = 400
"""Characters of a change as text that are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityPart:
    """One part of a call's identity.

    Attributes:
        name: ``model``, ``message 2 (user)``, ``tools``, ``unit``, …
        same: It is the same in the nearest call.
        change: How it differs, as text; "" where it is the same.
    """

    name: str
    same: bool
    change: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallExplanation:
    """A call beside the nearest stored one.

    Attributes:
        call: The call.
        run: Its run's id.
        other: The nearest call, or None where it is the only one of its role.
        other_run: That one's run.
        parts: Every part of the identity.
    """

    call: CallEntry
    run: str
    other: CallEntry | None
    other_run: str
    parts: Sequence[IdentityPart]


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheComparison:
    """A call beside the nearest one that another study kept.

    Attributes:
        other: That call.
        parts: What was asked; and the unit, the seed and all that came before, where the other
            study is still there.
    """

    other: CachedCall
    parts: Sequence[IdentityPart]


def explain_call(reader: Reader, run: str, position: str) -> CallExplanation:
    """Compare a call with the stored calls of the same role, and tell the nearest.

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
    best: tuple[int, RunRecord, CallEntry, list[IdentityPart]] | None = None
    apart = not _shares(reader)
    for other, candidate in _candidates(reader, record, call):
        parts = list(_parts(record, call, other, candidate))
        if apart:
            parts.append(_part("arm", other.arm, record.arm))
        equal = sum(part.same for part in parts)
        if best is None or equal > best[0]:
            best = (equal, other, candidate, parts)
    if best is None:
        return CallExplanation(call=call, run=record.id, other=None, other_run="", parts=())
    return CallExplanation(
        call=call, run=record.id, other=best[2], other_run=best[1].id, parts=best[3]
    )


def explain_cached(reader: Reader, run: str, position: str, file: Path) -> CacheComparison | None:
    """Compare a call with those that other studies kept; None where they kept none of its role.

    Args:
        reader: The study.
        run: The first characters of the run's id.
        position: The call's position.
        file: The response cache.

    Raises:
        StoreError: There is no such run.
        ValueError: It has no such call, or the file cannot be read.
    """
    record = reader.record(reader.find(run).id)
    call = _call(record, position)
    study = reader.path.resolve().parent.name
    others = [kept for kept in read_cached_calls(file, call.role) if kept.study != study]
    if not others:
        return None
    best = max(others, key=lambda kept: _similarity(call, kept))
    there = _where_kept(file, best)
    if there is None:
        parts = list(_asked(call, best.request))
    else:
        parts = list(_parts(record, call, *there))
        parts.append(_part("arm (where arms share no calls)", there[0].arm, record.arm))
    return CacheComparison(other=best, parts=parts)


def _similarity(call: CallEntry, kept: CachedCall) -> tuple[bool, int]:
    return kept.identity == call.identity, sum(part.same for part in _asked(call, kept.request))


def _where_kept(file: Path, kept: CachedCall) -> tuple[RunRecord, CallEntry] | None:
    """Return the call in the study that paid for it, or None where the study is gone."""
    if kept.study != Path(kept.study).name:
        return None  # an untrusted author's file must not lead elsewhere
    try:
        with Reader(study_file(file.parent / kept.study)) as other:
            sql = """SELECT r.id, c.position FROM calls c JOIN runs r USING (run)
                     WHERE c.identity=? AND c.superseded=0 AND c.attempts>0"""
            for row in list(other.rows(sql, (kept.identity,))):
                record = other.record(row["id"])
                return record, _call(record, row["position"])
    except StoreError:
        return None
    return None


def _shares(reader: Reader) -> bool:
    """Return whether arms share calls, so that the arm is no part of an identity."""
    plans = [row["hash"] for row in reader.rows("SELECT hash FROM specs WHERE kind='experiment'")]
    return any((reader.spec(plan) or {}).get("share_prefix") for plan in plans)


def _call(record: RunRecord, position: str) -> CallEntry:
    for call in record.calls:
        if call.position == position:
            return call
    known = ", ".join(call.position for call in record.calls[:20])
    raise ValueError(f"run {record.id[:8]} has no call at {position}; it has: {known}")


def _candidates(
    reader: Reader, record: RunRecord, call: CallEntry
) -> Iterator[tuple[RunRecord, CallEntry]]:
    for row in list(reader.runs()):
        other = record if row.id == record.id else reader.record(row.id)
        for candidate in other.calls:
            if candidate.role == call.role and (row.id, candidate.position) != (
                record.id,
                call.position,
            ):
                yield other, candidate


def _parts(
    record: RunRecord, call: CallEntry, other: RunRecord, candidate: CallEntry
) -> Iterator[IdentityPart]:
    there = {"provider": candidate.provider, "model": candidate.model, **candidate.request}
    yield from _asked(call, there)
    yield _part("seed", other.seed, record.seed)
    yield _part("unit", other.unit, record.unit)
    yield _part("replicate", other.replicate, record.replicate)
    yield _part("earlier calls of the run", _earlier(other, candidate), _earlier(record, call))


def _asked(call: CallEntry, there: Mapping[str, JSON]) -> Iterator[IdentityPart]:
    """Yield what was asked, part by part."""
    yield _part("provider", there.get("provider"), call.provider)
    yield _part("model", there.get("model"), call.model)
    for name in ("params", "tools", "schema"):
        yield _part(name, there.get(name), call.request.get(name))
    ours, theirs = call.request["messages"], there["messages"]
    for index in range(max(len(ours), len(theirs))):
        one = theirs[index] if index < len(theirs) else None
        two = ours[index] if index < len(ours) else None
        role = (two or one or {}).get("role", "")
        yield _part(f"message {index + 1} ({role})", _content(one), _content(two))


def _content(message: Mapping[str, JSON] | None) -> JSON:
    if message is None:
        return None
    return message["content"] if set(message) <= {"role", "content"} else dict(message)


def _earlier(record: RunRecord, call: CallEntry) -> list[str]:
    """Return what the run had asked before the call's tick; judges are asked of what is written alone."""
    tick = _tick(call)
    return [each.identity for each in record.calls if 0 < _tick(each) < tick]


def _tick(call: CallEntry) -> int:
    """0 for calls of judges, which stand outside the run."""
    first = call.position.partition(".")[0]
    return int(first) if first.isdecimal() else 0


def _part(name: str, left: JSON, right: JSON) -> IdentityPart:
    if left == right:
        return IdentityPart(name=name, same=True)
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > 40:
        return IdentityPart(name=name, same=False, change=_cut(changed_words(left, right)))
    return IdentityPart(name=name, same=False, change=f"{_short(left)} there, {_short(right)} here")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CHANGE else f"{text[:LONGEST_CHANGE]} …"


def _short(value: JSON) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list) and all(isinstance(each, str) and len(each) == 32 for each in value):
        return f"{len(value)} calls"
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
