"""The port: what passes, what is missing, which output is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.evaluators.base import (
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
    standing_output,
)


@dataclass(frozen=True, kw_only=True)
class ShownValue(OutputEvaluator):
    scale: ClassVar[Scale] = "ratio"

    passes: bool | None = None

    async def look(self, output: Output, context: Context) -> Score:
        return self.score(output.value, "as found" if output.value == 7 else "", passed=self.passes)


@pytest.mark.parametrize(
    ("value", "bounds", "passed"),
    [
        (5, {"min": 5}, True),
        (5, {"max": 5}, True),
        (5, {"min": 5.1}, False),
        (5, {"min": 1, "max": 4}, False),
        (True, {}, True),
        (False, {}, False),
        (False, {"max": 0}, True),
        (True, {"max": 0}, False),
        (None, {}, False),
        (None, {"min": 0}, False),
        (float("nan"), {"min": 0}, False),
        (float("inf"), {"min": 0}, False),
        (3, {"passes": True}, True),
        (3, {"passes": True, "max": 2}, False),
        (3, {"passes": False, "max": 3}, True),
        (None, {"passes": True}, False),
    ],
)
async def test_bounds_decide_then_look_then_truth(
    value: Any, bounds: dict[str, Any], passed: bool, output: Any, context: Any
) -> None:
    """Missing never passes; min and max come before what look said, and that before true/false."""
    score = await ShownValue(**bounds).check(output(value), context())
    assert score.passed is passed


async def test_a_value_without_bounds_neither_passes_nor_fails(output: Any, context: Any) -> None:
    """A number as a check needs min or max."""
    with pytest.raises(EvaluationError, match="shown_value neither passes nor fails: give min or"):
        await ShownValue().check(output(3), context())


async def test_a_text_cannot_be_bounded(output: Any, context: Any) -> None:
    """Min and max of a text are a fault of the spec."""
    with pytest.raises(EvaluationError, match="min and max cannot measure"):
        await ShownValue(min=1).check(output("high"), context())


async def test_the_reason_names_value_and_bound(output: Any, context: Any) -> None:
    """A failed bound is told beside what the measure found."""
    score = await ShownValue(max=6).check(output(7), context())
    assert score.reason == "shown_value is 7, at most 6 is asked for; as found"


async def test_a_missing_value_of_a_check_is_none_and_has_a_reason(
    output: Any, context: Any
) -> None:
    """NaN does not reach a record."""
    score = await ShownValue().check(output(float("nan")), context())
    assert (score.value, score.reason) == (None, "no value")


async def test_a_measure_of_a_number_is_neither_passed_nor_failed(
    run: Any, output: Any, context: Any
) -> None:
    """Without bounds a measure of a run leaves passed open; with bounds it says."""
    done = run(output(3))
    assert [score.passed for score in await ShownValue().evaluate(done, context())] == [None]
    assert [score.passed for score in await ShownValue(min=4).evaluate(done, context())] == [False]


async def test_the_answer_is_measured_by_default(run: Any, output: Any, context: Any) -> None:
    """The run's answer, not the last output of the run."""
    answer = output(1)
    scores = await ShownValue().evaluate(
        run(answer, output(2, role="critic"), answer=answer), context()
    )
    assert [score.value for score in scores] == [1]


@pytest.mark.parametrize("status", ["stopped", "failed", "running"])
async def test_no_answer_is_missing_with_the_status(
    status: str, run: Any, output: Any, context: Any
) -> None:
    """A stopped run has no answer, whatever was written last."""
    stopped = run(output(1), status=status, answer=None)
    (score,) = await ShownValue().evaluate(stopped, context())
    assert score == Score(
        name="shown_value", value=None, scale="ratio", reason=f"{status}: no answer"
    )


def test_a_role_gives_its_last_delivered_output(run: Any, output: Any) -> None:
    """Drafts sent back, rejected and lapsed outputs do not stand."""
    first, second = output("one"), output("two", visit=2)
    drafts = [
        output("three", visit=3, fate="sent back"),
        output("four", visit=4, fate="rejected"),
        output("five", visit=5, fate="lapsed"),
        output("six", visit=6, fate="posted"),
    ]
    record = run(first, second, *drafts, status="stopped", answer=None)
    assert standing_output(record, "writer") == second


def test_a_copy_can_be_named(run: Any, output: Any) -> None:
    """With replicas ``writer`` is any copy, ``writer#1`` that one."""
    one, two = output("a", copy="writer#1"), output("b", copy="writer#2")
    record = run(one, two)
    assert standing_output(record, "writer#1") == one
    assert standing_output(record, "writer") == two


def test_a_role_without_output_is_reported(run: Any) -> None:
    """Nothing delivered is missing, in words."""
    words = standing_output(run(status="failed"), "writer")
    assert words == "failed: no output of 'writer' was delivered"


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    low=st.none() | st.floats(allow_nan=False),
    high=st.none() | st.floats(allow_nan=False),
)
async def test_bounds_are_inclusive(value: float, low: float | None, high: float | None) -> None:
    """What passes lies within both bounds; what fails, outside one of them."""
    if low is None and high is None:
        return
    shown = Output(id="w@1", role="w", copy="w", visit=1, tick=1, value=value, text=str(value))
    score = await ShownValue(min=low, max=high).check(shown, None)  # type: ignore[arg-type]
    inside = (low is None or low <= value) and (high is None or value <= high)
    assert score.passed is inside
