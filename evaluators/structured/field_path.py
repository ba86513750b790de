"""Places in a structured output: ``verdict``, ``evidence.0.value``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from orglab.evaluators.base import JSON, Context, EvaluationError, Output


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""Nothing stands at the place; null is a value, this is none."""


def look_up(value: JSON, path: str) -> JSON:
    """Return what stands at a dotted path of names and list positions (from 0; -1 is the last).

    Returns:
        The value, or ``ABSENT``.
    """
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and _fits(part, value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def _fits(part: str, items: Sequence[JSON]) -> bool:
    number = part.removeprefix("-")
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return False
    return -len(items) <= int(part) < len(items)


def value_at(output: Output, path: str | None) -> JSON:
    """Return the output's value, or what stands at ``path`` in it, or ``ABSENT``.

    Raises:
        EvaluationError: A path is given and the output is free text.
    """
    if path is None:
        return output.value
    if not isinstance(output.value, Mapping | list | tuple):
        raise EvaluationError(
            f"the output of {output.role!r} is free text and has no field {path!r}: "
            f"give the role an `output` schema, or leave the field out"
        )
    return look_up(output.value, path)


def text_at(output: Output, path: str | None) -> str | None:
    """Return the text to measure: the output's, or that of one field; None where the field is absent.

    Raises:
        EvaluationError: The output has no fields, or the field holds no text.
    """
    if path is None:
        return output.text
    value = value_at(output, path)
    if value is ABSENT or value is None:
        return None
    if not isinstance(value, str):
        raise EvaluationError(
            f"the field {path!r} holds {type(value).__name__}, not text: "
            "name a field that holds text"
        )
    return value


def no_field(field: str | None) -> str:
    """Return why a text is missing, in words."""
    return f"the output has no field {field!r}"


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that looks most like ``name``, whatever the case; None: none does."""
    lower: dict[str, str] = {}
    for each in known:
        lower.setdefault(each.casefold(), each)
    close = get_close_matches(name.casefold(), list(lower), n=1, cutoff=0.6)
    return lower[close[0]] if close else None


def reference_answer(context: Context, column: str) -> JSON:
    """Return the unit's reference answer from ``column``, or ``ABSENT`` (null is no answer)."""
    for source in (context.extra, context.inputs):
        if source.get(column) is not None:
            return source[column]
    return ABSENT


def no_reference(column: str, argument: str) -> str:
    """Return why a comparison is missing, in words."""
    return f"the unit has no {column!r} to compare with, and no `{argument}` is given"
