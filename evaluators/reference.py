"""The reference answer of a unit, to which generic measures compare an output."""

from __future__ import annotations

from orglab.evaluators.base import JSON, Context
from orglab.evaluators.structured.field_path import ABSENT

__all__ = ["no_reference", "reference_answer"]


def reference_answer(context: Context, column: str) -> JSON:
    """The unit's reference answer from ``column``, or ``ABSENT`` (null is no answer)."""
    for source in (context.extra, context.inputs):
        if source.get(column) is not None:
            return source[column]
    return ABSENT


def no_reference(column: str, argument: str) -> str:
    """Why a comparison is missing, in words."""
    return f"the unit has no {column!r} to compare with, and no `{argument}` is given"
