"""One evaluator's failure is a record, not a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from orglab.evaluators.base import Context, EvaluationError, Evaluator, RunRecord, Score
from orglab.evaluators.evaluate import EvaluatorResult, evaluate_run
from orglab.evaluators.text.length import Length


@dataclass(frozen=True, kw_only=True)
class Fake(Evaluator):
    gives: Any = ()

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        if isinstance(self.gives, BaseException):
            raise self.gives
        return self.gives  # type: ignore[no-any-return]


def _score(value: Any, name: str = "n", **detail: Any) -> Score:
    return Score(name=name, value=value, scale="ratio", detail=detail)


@pytest.mark.parametrize(
    ("gives", "error"),
    [
        (EvaluationError("no table"), "no table"),
        (KeyError("x"), "a fault of the evaluator: KeyError: 'x'"),
        (RecursionError("deep"), "a fault of the evaluator: RecursionError: deep"),
        ([1], "an evaluator must give scores, not int"),
        ([_score(1), _score(2)], "two scores have one name: n"),
        ([_score(1, bad=float("nan"))], "the score 'n' is no strict JSON: Out of range"),
        ([_score(1, bad={1, 2})], "the score 'n' is no strict JSON: Object of type set"),
        (3, "a fault of the evaluator: TypeError: 'int' object is not iterable"),
    ],
)
async def test_a_failure_leaves_the_others_alone(
    gives: Any, error: str, run: Any, output: Any, context: Any
) -> None:
    """The failed one tells why; the next is measured all the same, in order."""
    failed, fine = await evaluate_run(
        run(output("two words")), [("a", Fake(gives=gives)), ("b", Length())], context()
    )
    assert (failed.key, failed.scores) == ("a", ())
    assert failed.error is not None
    assert failed.error.startswith(error)
    assert fine == EvaluatorResult(key="b", scores=(Score(name="words", value=2, scale="count"),))


async def test_a_value_that_is_no_number_becomes_missing(run: Any, context: Any) -> None:
    """NaN does not reach the store, and says that it was there."""
    (one,) = await evaluate_run(run(), [("a", Fake(gives=[_score(float("nan"))]))], context())
    assert [(score.value, score.reason) for score in one.scores] == [(None, "the value was nan")]


async def test_being_cancelled_is_no_failure_of_an_evaluator(run: Any, context: Any) -> None:
    """Ctrl-C goes through."""
    with pytest.raises(asyncio.CancelledError):
        await evaluate_run(run(), [("a", Fake(gives=asyncio.CancelledError()))], context())


async def test_no_evaluators_give_nothing(run: Any, context: Any) -> None:
    """An empty list is fine."""
    assert await evaluate_run(run(), [], context()) == []
