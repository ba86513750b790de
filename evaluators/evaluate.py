"""Measuring one run with many evaluators: a failure is a record, never a crash."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orglab.evaluators.base import Context, EvaluationError, Evaluator, RunRecord, Score


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluatorResult:
    """What one evaluator gave for a run.

    Attributes:
        key: Which of the spec's evaluators, as the caller named it.
        scores: Its scores; () where it failed.
        error: Why it failed, in words, or None.
    """

    key: str
    scores: tuple[Score, ...] = ()
    error: str | None = None


async def evaluate_run(
    run: RunRecord, uses: Sequence[tuple[str, Evaluator]], context: Context
) -> list[EvaluatorResult]:
    """Measure ``run`` with each evaluator, side by side; results in the order of ``uses``.

    Args:
        run: The record.
        uses: Each evaluator with a key that identifies it.
        context: What they may use beside the record.
    """
    return list(
        await asyncio.gather(*(_evaluate_one(run, key, each, context) for key, each in uses))
    )


async def _evaluate_one(
    run: RunRecord, key: str, evaluator: Evaluator, context: Context
) -> EvaluatorResult:
    try:
        scores = [_checked(score) for score in await evaluator.evaluate(run, context)]
    except Exception as fault:  # noqa: BLE001 - whatever a plugin raises, the other measures count
        return EvaluatorResult(key=key, error=error_message(fault))
    names = [score.name for score in scores]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return EvaluatorResult(key=key, error=f"two scores have one name: {', '.join(twice)}")
    return EvaluatorResult(key=key, scores=tuple(scores))


def error_message(fault: Exception) -> str:
    """Return an error message; only an ``EvaluationError`` is not a bug of the evaluator."""
    if isinstance(fault, EvaluationError):
        return str(fault)
    return f"a fault of the evaluator: {type(fault).__name__}: {fault}"


def _checked(score: object) -> Score:
    """Return the score, fit for strict JSON; a value that is no number becomes missing."""
    if not isinstance(score, Score):
        raise EvaluationError(f"an evaluator must give scores, not {type(score).__name__}")
    if isinstance(score.value, float) and not math.isfinite(score.value):
        reason = score.reason or f"the value was {score.value}"
        score = replace(score, value=None, reason=reason)
    try:
        json.dumps([score.value, dict(score.detail)], allow_nan=False)
    except (TypeError, ValueError) as fault:
        raise EvaluationError(f"the score {score.name!r} is no strict JSON: {fault}") from fault
    return score
