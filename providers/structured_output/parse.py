"""Reading a reply: from a model's text to the one value that it means, or to why there is none.

The rules stand in ``docs/reference/replies.md``. Nothing is invented, completed or clipped: where the text
allows two readings there is none, and the model can be asked to repair it with ``Reading.message``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from orglab.providers.base import JSON, StopReason, TokenUsage
from orglab.providers.structured_output.extract import FoundValue, find_values, value_spans
from orglab.providers.structured_output.reasoning import SplitReply, split_reasoning
from orglab.providers.structured_output.strict_json import (
    BLANK,
    DuplicateKeyError,
    JSONError,
    clip,
    loads,
    same,
)
from orglab.providers.structured_output.validation import SchemaChecker, checker_for

How: TypeAlias = Literal["native", "strict", "fenced", "embedded", "repaired", "free"]
"""How the value was found: held to the schema by the provider; the whole text; in a code fence;
among other text; by a relaxed grammar; as free text."""

ReplyProblem: TypeAlias = Literal[
    "no json",
    "malformed",
    "invalid",
    "conflict",
    "truncated",
    "empty",
    "refusal",
    "reasoning not closed",
]
"""Why there is no value; ``docs/reference/replies.md`` says what each means."""

_FENCE = re.compile(
    r"(`{3,}|~{3,})[ \t]*(?:json)?[ \t]*\r?\n(.*?)\r?\n?[ \t]*\1[ \t]*", re.DOTALL | re.IGNORECASE
)


class Objects(NamedTuple):
    """How many values a reply held.

    Attributes:
        found: Those met.
        usable: Those that can be read, fit the schema and are the model's own; equal ones once.
    """

    found: int = 0
    usable: int = 0


_NONE = Objects(0, 0)
_ONE = Objects(1, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a reply says.

    Attributes:
        value: The value that fits the schema, or the text; None where there is a problem.
        how: How it was found; None where there is a problem.
        problem: Why there is no value; None where there is one.
        message: What was wrong, in words for the model; "" where nothing was.
        objects: How many values the reply held, and how many could be used.
        reasoning: Reasoning that stood in the text, set aside.
        repaired: The text was not strict JSON.
        notes: What else is worth knowing, in words.
    """

    value: JSON = None
    how: How | None = None
    problem: ReplyProblem | None = None
    message: str = ""
    objects: Objects = _NONE
    reasoning: str = ""
    repaired: bool = False
    notes: tuple[str, ...] = ()

    def record(self) -> dict[str, JSON]:
        """Return how it was read, as plain data for the record: the value and the reasoning left out."""
        kept: dict[str, JSON] = {"how": self.how}
        if self.problem:
            kept |= {"problem": self.problem, "message": self.message}
        if self.objects != (1, 1) and self.how != "free":
            kept["objects"] = {"found": self.objects.found, "usable": self.objects.usable}
        if self.repaired:
            kept["repaired"] = True
        if self.notes:
            kept["notes"] = list(self.notes)
        return kept


def read_reply(
    text: str,
    schema: Mapping[str, JSON] | None,
    *,
    stop: StopReason = "stop",
    native: bool = False,
    usage: TokenUsage | None = None,
) -> Reading:
    """Read a reply against ``schema``; None: free text.

    Args:
        text: The reply as the provider gave it.
        schema: JSON Schema 2020-12, not to be changed afterwards.
        stop: Why the model stopped.
        native: The provider held the text to the schema; it is checked all the same.
        usage: Its tokens, where known: they tell why a limit was reached before any answer.

    Raises:
        ValueError: ``schema`` is no JSON Schema; never because of the text.
    """
    reading = _dispatch(text, schema, stop, native)
    if reading.message == _CUT_BEFORE and usage is not None and usage.reasoning:
        spent = f"{usage.reasoning} of {usage.output} tokens went to reasoning"
        return replace(reading, message=f"{_CUT_BEFORE} ({spent})")
    return reading


def _dispatch(
    text: str, schema: Mapping[str, JSON] | None, stop: StopReason, native: bool
) -> Reading:
    if stop == "refusal":
        return _refused(text)
    if schema is None:
        return _free(text, stop)
    checker = checker_for(schema)
    whole = _whole_value(text, checker, "native" if native else "strict", stop)
    if whole is not None:
        return whole
    return _read_on(text, checker, stop)


def _whole_value(text: str, checker: SchemaChecker, how: How, stop: StopReason) -> Reading | None:
    """Return the reading of a text that is, whole, a strict value that fits; else None."""
    try:
        value = loads(text)
    except JSONError:
        return None
    if not checker.fits(value) or (stop == "length" and _may_be_cut(value)):
        return None
    return Reading(value=value, how=how, objects=_ONE)


def _may_be_cut(value: JSON) -> bool:
    """Return whether a cut reply may end in an unfinished number: 15 may be the beginning of 1500."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refused(text: str) -> Reading:
    said = f": {clip(text.strip(), 200)}" if text.strip() else ""
    return Reading(problem="refusal", message=f"the model refused{said}")


def _free(text: str, stop: StopReason) -> Reading:
    aside = split_reasoning(text)
    value = aside.rest.strip(BLANK)
    if stop == "length":
        return _without_value(aside, "truncated", _CUT if value else _CUT_BEFORE)
    if not value:
        return _blank(aside)
    if (half := _half_character(value)) is not None:
        return _without_value(aside, "malformed", half)
    return Reading(
        value=value, how="free", objects=_ONE, reasoning=aside.reasoning, notes=_open_note(aside)
    )


_CUT = "the reply was cut by the token limit before its end"
_CUT_BEFORE = "the token limit was reached before any answer: raise it, or answer more briefly"


def _half_character(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "the text holds half a character (a lone surrogate)"
    return None


def _open_note(aside: SplitReply) -> tuple[str, ...]:
    return ("reasoning not closed",) if aside.open else ()


def _without_value(
    aside: SplitReply, problem: ReplyProblem, message: str, objects: Objects = _NONE
) -> Reading:
    return Reading(
        problem=problem,
        message=message,
        objects=objects,
        reasoning=aside.reasoning,
        notes=_open_note(aside),
    )


def _blank(aside: SplitReply) -> Reading:
    """Return nothing was written outside the reasoning, and the model stopped by itself."""
    if aside.open:
        message = "no answer was found: the reasoning was begun and never closed"
        return _without_value(aside, "reasoning not closed", message)
    message = "the reply holds reasoning and no answer" if aside.reasoning else "the reply is empty"
    return _without_value(aside, "empty", message)


def _read_on(text: str, checker: SchemaChecker, stop: StopReason) -> Reading:
    """Read a text that is not itself a strict value that fits."""
    aside = split_reasoning(text, value_spans)
    rest = aside.rest.strip(BLANK)
    if not rest:
        return _without_answer(aside, stop)
    plain = _whole_value(rest, checker, "strict", stop) or _fenced_whole(rest, checker, stop)
    if plain is not None:
        return _with_reasoning(plain, aside, stop)
    if (unfit := _unfit_whole(rest, checker, aside, stop)) is not None:
        return unfit
    found = find_values(
        rest,
        checker.fits,
        objects="object" in checker.types,
        arrays="array" in checker.types,
        close=stop != "length",
    )
    return _decide(found, checker, aside, stop)


def _without_answer(aside: SplitReply, stop: StopReason) -> Reading:
    if stop == "length":
        return _without_value(aside, "truncated", _CUT_BEFORE)
    if aside.reasoning and not aside.open:
        return _without_value(
            aside, "no json", "no JSON was found: the reply holds reasoning and no answer"
        )
    return _blank(aside)


def _fenced_whole(text: str, checker: SchemaChecker, stop: StopReason) -> Reading | None:
    """Return the reading of one fence that is the whole reply, whatever kind of value it holds."""
    block = _FENCE.fullmatch(text)
    return _whole_value(block[2], checker, "fenced", stop) if block else None


def _with_reasoning(reading: Reading, aside: SplitReply, stop: StopReason) -> Reading:
    cut = ("the reply was cut by the token limit after the value",) if stop == "length" else ()
    notes = (*_open_note(aside), *cut)
    return replace(reading, reasoning=aside.reasoning, notes=notes)


def _unfit_whole(
    text: str, checker: SchemaChecker, aside: SplitReply, stop: StopReason
) -> Reading | None:
    """Return the reading of a text that is, whole, one value that does not fit; else None."""
    try:
        value = loads(text)
    except DuplicateKeyError as error:
        return _without_value(aside, "conflict", str(error), Objects(1, 0))
    except JSONError:
        return None
    if isinstance(value, list) and "object" in checker.types:
        return None  # one of its objects may be the reply
    if stop == "length" and _may_be_cut(value):
        return _without_value(aside, "truncated", _CUT, Objects(1, 0))
    return _without_value(aside, "invalid", checker.message(value), Objects(1, 0))


def _decide(
    found: list[FoundValue], checker: SchemaChecker, aside: SplitReply, stop: StopReason
) -> Reading:
    """Exactly one value that fits counts, and none that could not be read may stand beside it."""
    own = [each for each in found if not each.invented]
    broken = [each for each in own if each.error is not None]
    fitting = _distinct([each for each in own if each.error is None and checker.fits(each.value)])
    objects = Objects(len(found), len(fitting))
    if stop == "length" and (any(not each.closed for each in broken) or not fitting):
        return _truncated(own, checker, aside, objects)
    if len(fitting) > 1:
        message = f"the reply holds {len(fitting)} different values that fit; give exactly one"
        return _without_value(aside, "conflict", message, objects)
    if fitting and broken:
        message = f"beside a value that fits stands one that cannot be read: {broken[0].error}"
        return _without_value(aside, "conflict", message, objects)
    if fitting:
        return _chosen(fitting[0], len(found) - len(own), aside, objects, stop)
    return _none_fits(own, broken, checker, aside, objects, len(found) - len(own))


def _distinct(found: list[FoundValue]) -> list[FoundValue]:
    kept: list[FoundValue] = []
    for each in found:
        if not any(same(each.value, other.value) for other in kept):
            kept.append(each)
    return kept


def _truncated(
    own: list[FoundValue], checker: SchemaChecker, aside: SplitReply, objects: Objects
) -> Reading:
    """Return the reading of a truncated reply without a value that fits."""
    whole = [each for each in own if each.error is None]
    if whole and all(each.closed for each in own):
        return _without_value(aside, "invalid", checker.message(whole[-1].value), objects)
    return _without_value(aside, "truncated", _CUT, objects)


def _chosen(
    found: FoundValue, invented: int, aside: SplitReply, objects: Objects, stop: StopReason
) -> Reading:
    how: How = "repaired" if found.repaired else "fenced" if found.fenced else "embedded"
    notes = [*_open_note(aside), *found.notes]
    if invented:
        notes.append(f"{invented} after a turn that the model wrote for someone else: not read")
    if stop == "length":
        notes.append("the reply was cut by the token limit after the value")
    return Reading(
        value=found.value,
        how=how,
        objects=objects,
        reasoning=aside.reasoning,
        repaired=found.repaired,
        notes=tuple(notes),
    )


def _none_fits(
    own: list[FoundValue],
    broken: list[FoundValue],
    checker: SchemaChecker,
    aside: SplitReply,
    objects: Objects,
    invented: int,
) -> Reading:
    for each in broken:
        if isinstance(each.error, DuplicateKeyError):
            return _without_value(aside, "conflict", str(each.error), objects)
    read = [each for each in own if each.error is None]
    if read:
        return _without_value(aside, "invalid", checker.message(read[-1].value), objects)
    if broken:
        return _without_value(
            aside, "malformed", f"the JSON cannot be read: {broken[0].error}", objects
        )
    after = " (what follows a turn of someone else, written by the model, is not read)"
    return _without_value(
        aside, "no json", f"no JSON was found{after if invented else ''}", objects
    )
