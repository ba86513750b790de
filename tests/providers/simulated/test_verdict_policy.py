"""Verdicts of simulated superiors, by what they see."""

from __future__ import annotations

import json
from typing import Any

from orglab.providers.base import Labels, Message, Request
from orglab.providers.simulated.provider import SimulatedProvider

ACTIONS = ["approve", "comment", "revise"]
SCHEMA = {
    "type": "object",
    "properties": {"action": {"enum": ACTIONS}, "reason": {"type": "string", "minLength": 1, "maxLength": 500}},
    "required": ["action", "reason"],
    "additionalProperties": False,
}  # fmt: skip
BOARD = "## Blackboard\n### From writer\n\nReport {number} is so.\n"
LATEST = "## Output of writer under review\nReport {number} is so.\n"
OBLIGED = BOARD + "\nYour earlier verdicts:\n- writer: revise. It is too long."


async def revised(settings: dict[str, Any], said: str, reviewed: str = "writer", count: int = 200) -> float:  # fmt: skip
    """The share of outputs that are sent back."""
    half = {"approve": 0.5, "comment": 0, "revise": 0.5}
    provider = SimulatedProvider.from_spec("", {"profile": {"verdicts": half, **settings}})
    sent = 0
    for number in range(count):
        asked = Request(
            model="",
            identity=f"review {number}",
            messages=(Message(role="user", content="Task.\n\n" + said.format(number=number)),),
            schema=SCHEMA,
            labels=Labels(purpose="review", reviewed=reviewed),
        )
        sent += json.loads((await provider.complete(asked)).text)["action"] == "revise"
    return sent / count


async def test_a_role_can_have_rates_of_its_own() -> None:
    """Replicas of it too; the others keep the common ones."""
    settings = {"verdicts_on": {"writer": {"approve": 0, "revise": 1}}}
    assert await revised(settings, BOARD, "writer#2") == 1
    assert 0.4 < await revised(settings, BOARD, "critic") < 0.6


async def test_a_superior_that_has_obliged_holds_back() -> None:
    """By the knob ``again``, and only once it has obliged."""
    assert await revised({"again": 0}, OBLIGED) == 0
    assert await revised({"again": 0}, BOARD) > 0.4


async def test_a_superior_that_sees_the_output_alone_holds_back() -> None:
    """By the knob ``unseen``."""
    assert await revised({"unseen": 0}, LATEST) == 0
    assert await revised({"unseen": 0}, BOARD) > 0.4


async def test_a_discerning_superior_sends_the_same_outputs_back() -> None:
    """Those of low quality, however often it is asked; a blind one sends back any."""
    sharp = {"discerning": 50}
    shares = [await revised(sharp, BOARD.replace("{number}", str(n)), count=20) for n in range(20)]
    assert set(shares) == {0, 1}
    assert await revised(sharp, LATEST.replace("{number}", "3"), count=20) == shares[3]
