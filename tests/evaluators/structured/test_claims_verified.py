"""claims_verified: the verdicts that an output lists."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.structured.claims_verified import ClaimsVerified

GOOD = {"claim": "The GPU is an RTX 4060", "verdict": "Supported"}
BAD = {"claim": "It weighs 1 kg", "verdict": "contradicted", "reason": "2.3 kg"}


async def test_all_supported(output: Any, context: Any) -> None:
    """It passes with all supported; true counts as supported, capitals do not matter."""
    found = await ClaimsVerified().check(
        output({"claims": [GOOD, {"claim": "x", "verdict": True}]}), context()
    )
    assert (found.value, found.passed, found.reason) == (1.0, True, "")


async def test_one_is_not(run: Any, output: Any, context: Any) -> None:
    """It does not pass; the reason lists what is to be mended, and a second score counts it."""
    record = run(output({"claims": [GOOD, BAD, {"claim": "y", "verdict": False}]}))
    share, count = await ClaimsVerified().evaluate(record, context())
    assert share.value == pytest.approx(1 / 3)
    assert share.passed is False
    assert share.reason == "contradicted: 'It weighs 1 kg' (2.3 kg); not supported: 'y'"
    assert (count.name, count.value, count.scale) == ("claims_verified.unsupported", 2, "count")


async def test_a_share_may_be_asked_for(output: Any, context: Any) -> None:
    """`min` lets some claims be unsupported."""
    found = await ClaimsVerified(min=0.5).check(output({"claims": [GOOD, BAD]}), context())
    assert (found.value, found.passed) == (0.5, True)


@pytest.mark.parametrize(("at_least", "passed"), [(0, True), (1, False)])
async def test_no_claims(at_least: int, passed: bool, output: Any, context: Any) -> None:
    """An empty list is missing, and passes only where none are asked for."""
    found = await ClaimsVerified(at_least=at_least).check(output({"claims": []}), context())
    assert (found.value, found.passed) == (None, passed)


async def test_too_few_claims(output: Any, context: Any) -> None:
    """Fewer than asked for do not pass, whatever `min` says."""
    check = ClaimsVerified(at_least=3, min=0)
    found = await check.check(output({"claims": [GOOD]}), context())
    assert (found.passed, found.reason) == (False, "1 claims, at least 3 asked for")


async def test_other_names(output: Any, context: Any) -> None:
    """Fields and words may be called otherwise."""
    value = {
        "checks": [{"text": "a", "result": {"is": "yes"}}, {"text": "b", "result": {"is": "no"}}]
    }
    check = ClaimsVerified(field="checks", claim="text", verdict="result.is", supported=["yes"])
    found = await check.look(output(value), context())
    assert (found.value, found.reason) == (0.5, "no: 'b'")


async def test_without_an_output(run: Any, context: Any) -> None:
    """Both scores are missing, with the reason."""
    scores = await ClaimsVerified(role="critic").evaluate(run(), context())
    assert [score.value for score in scores] == [None, None]
    assert scores[1].reason == "completed: no output of 'critic' was delivered"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("text", "is not structured"),
        ({"other": []}, "has no field 'claims'"),
        ({"claims": ["a"]}, r"claims\[0\] is no item"),
        ({"claims": [{"claim": "a"}]}, r"claims\[0\] has no 'verdict'"),
    ],
)
async def test_what_cannot_be_measured(value: Any, fault: str, output: Any, context: Any) -> None:
    """An output of another form is a fault, not a verdict."""
    with pytest.raises(EvaluationError, match=fault):
        await ClaimsVerified().look(output(value), context())
