"""Every prompt of a team for a unit, before any call.

The team is played on replies that say what they stand for: first an objection wherever one may be
raised, so that directives are shown too, then approval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from orglab.engine.graph.team import Team
from orglab.engine.run.desk import Desk
from orglab.engine.run.run import RunPlan, Unit, run_team
from orglab.engine.spec.model import OBLIGING
from orglab.providers.base import Completion, Message, Request
from orglab.providers.scripted import ScriptedProvider
from orglab.providers.simulated import SimulatedProvider
from orglab.providers.tokens import prompt_tokens
from orglab.results.journal import MemoryJournal

__all__ = ["Prompt", "Rendered", "rendered_prompts"]

JSON: TypeAlias = Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """One prompt.

    Attributes:
        title: Whose it is, and in which turn.
        messages: The conversation as the model would read it.
        tokens: About how many tokens it has.
    """

    title: str
    messages: tuple[Message, ...]
    tokens: int


class Rendered(NamedTuple):
    """The prompts of one imagined run.

    Attributes:
        prompts: In order.
        fault: Why there are no more of them than these; "" where the run came to its end.
    """

    prompts: list[Prompt]
    fault: str


async def rendered_prompts(team: Team, unit: Unit, *, seed: int = 0) -> Rendered:
    """The prompts of one imagined run, in order; nothing is asked of any model.

    What a role would write stands as ``[output of writer]``, or as a simulated value where its
    output is structured. Tools that a prompt itself calls are really called: they read the unit's
    files.
    """
    imagined = _Imagined()
    desk = Desk(team.topology.models, {"*": ScriptedProvider(imagined.answer)})
    plan = RunPlan(team, desk)
    outcome = await run_team(plan, unit, seed=seed, journal=MemoryJournal())
    return Rendered(imagined.prompts, outcome.reason if outcome.status == "failed" else "")


class _Imagined:
    """Answers every call, and keeps its prompt."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self._objected: set[tuple[str, str | None]] = set()
        self._values = SimulatedProvider.from_spec("", {})

    async def answer(self, request: Request) -> Completion:
        self.prompts.append(_prompt(request))
        if request.schema is None:
            return Completion(text=f"[output of {request.labels.copy}]")
        if request.labels.purpose == "review":
            return Completion(text=json.dumps(self._verdict(request, request.schema)))
        name = f"{request.labels.copy}@{request.labels.visit}"  # the same in every arm
        return await self._values.complete(replace(request, tools=(), identity=name))

    def _verdict(self, request: Request, schema: Mapping[str, JSON]) -> dict[str, JSON]:
        """An objection to the first output of a copy, where one is offered; then approval."""
        actions = schema["properties"]["action"]["enum"]
        pair = (request.labels.copy, request.labels.reviewed)
        objections = [action for action in actions if action in OBLIGING]
        calm = [action for action in actions if action not in OBLIGING]
        first = pair not in self._objected
        self._objected.add(pair)
        chosen = (objections if first else calm) or actions
        return {"action": chosen[0], "reason": f"[words of {request.labels.copy}]"}


def _prompt(request: Request) -> Prompt:
    labels = request.labels
    title = f"{labels.copy}, turn {labels.visit}"
    if labels.purpose == "review":
        title += f", reviewing {labels.reviewed}"
    return Prompt(title=title, messages=request.messages, tokens=prompt_tokens(request))
