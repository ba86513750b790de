"""Every prompt of a team for a unit, before any call.

The team is resumed replies that say what they stand for: first an objection wherever one may be
raised, so that directives are shown too, then approval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.model_registry import ModelRegistry
from orglab.engine.run.engine import run_team
from orglab.engine.run.outcome import Outcome, Unit
from orglab.engine.run.run_plan import RunPlan
from orglab.engine.spec.model import OBLIGING
from orglab.providers.base import JSON, Completion, Message, Request
from orglab.providers.pricing.token_estimate import prompt_tokens, text_of_tokens
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.results.store.journal.journal import MemoryJournal

LONGEST = 20_000
"""Tokens of a dry-run reply at most."""
LONGEST_WORDS = 450
"""Tokens of a dry-run reason at most: a verdict's may have 2,000 characters."""


_CLOSED = {"enum", "const", "pattern", "format"}
"""Keywords of a text field that cannot take any text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """One prompt.

    Attributes:
        title: Whose it is, and in which turn.
        messages: The conversation as the model would read it.
        tokens: About how many tokens it has.
        role: Whose it is.
        identity: The call's identity in the dry run.
    """

    title: str
    messages: tuple[Message, ...]
    tokens: int
    role: str = ""
    identity: str = ""


class Rendered(NamedTuple):
    """The prompts of one dry run.

    Attributes:
        prompts: In order.
        error: Why there are no more of them than these; "" where the run came to its end.
    """

    prompts: list[Prompt]
    issue: str


class DryRun(NamedTuple):
    """One dry run.

    Attributes:
        prompts: Its prompts, in order.
        outcome: How it ended.
        journal: What a real run would have kept.
    """

    prompts: list[Prompt]
    outcome: Outcome
    journal: MemoryJournal


async def rendered_prompts(team: Team, unit: Unit, *, seed: int = 0) -> Rendered:
    """Return the prompts of one dry run, in order; nothing is asked of any model.

    What a role would write stands as ``[output of writer]``, or as a simulated value where its
    output is structured. Tools that a prompt itself calls are really called: they read the unit's
    files.
    """
    run = await dry_run(team, unit, seed=seed)
    failed = run.outcome.status == "failed"
    return Rendered(run.prompts, run.outcome.reason if failed else "")


async def dry_run(team: Team, unit: Unit, *, seed: int = 0, longest: bool = False) -> DryRun:
    """Play a team on dry-run replies, as ``rendered_prompts`` does.

    Args:
        team: The team.
        unit: The unit.
        seed: The root seed.
        longest: Texts are as long as ``max_output_tokens`` allows, where it is written, and
            superiors object as long as they may, so that prompts are as long as they can be.
    """
    model = _DryRunModel(longest)
    registry = ModelRegistry(team.topology.models, {"*": ScriptedProvider(model.answer)})
    journal = MemoryJournal()
    plan = RunPlan(team, registry)
    try:
        outcome = await run_team(plan, unit, seed=seed, journal=journal)
    finally:
        await plan.sources.aclose()
    return DryRun(model.prompts, outcome, journal)


class _DryRunModel:
    """Answers every call, and keep its prompt."""

    def __init__(self, longest: bool = False) -> None:
        self.prompts: list[Prompt] = []
        self._longest = longest
        self._objected: set[tuple[str, str | None]] = set()
        self._values = SimulatedProvider.from_spec("", {})

    async def answer(self, request: Request) -> Completion:
        self.prompts.append(_prompt(request))
        if request.schema is None:
            return Completion(text=self._long(f"[output of {_who(request)}]", request))
        if request.labels.purpose == "review":
            return Completion(text=json.dumps(self._verdict(request, request.schema)))
        name = f"{_who(request)}@{request.labels.visit}"  # the same in every arm
        made = await self._values.complete(replace(request, tools=(), identity=name))
        return replace(made, text=self._filled(made.text, request)) if self._longest else made

    def _filled(self, text: str, request: Request) -> str:
        """Return a structured value whose first open text field takes the tokens that are left."""
        value = json.loads(text)
        properties = (request.schema or {}).get("properties", {})
        for name in value if isinstance(value, dict) else ():
            schema = properties.get(name, {})
            if isinstance(value[name], str) and not _CLOSED & schema.keys():
                whole = self._long(value[name], request)
                room = max(len(whole) - len(text), 0) + len(value[name])
                value[name] = whole[: min(room, schema.get("maxLength", room))]
                break
        return json.dumps(value, ensure_ascii=False)

    def _verdict(self, request: Request, schema: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return an objection to the first output of a copy, where one is offered; then approval."""
        actions = schema["properties"]["action"]["enum"]
        pair = (_who(request), request.labels.reviewed)
        objections = [action for action in actions if action in OBLIGING]
        calm = [action for action in actions if action not in OBLIGING]
        first = self._longest or pair not in self._objected
        self._objected.add(pair)
        chosen = (objections if first else calm) or actions
        reason = self._long(f"[words of {_who(request)}]", request, LONGEST_WORDS)
        return {"action": chosen[0], "reason": reason}

    def _long(self, text: str, request: Request, longest: int = LONGEST) -> str:
        bound = request.params.get("max_output_tokens")
        if not self._longest or not isinstance(bound, int):
            return text
        return text_of_tokens(text, min(bound, longest))


def _who(request: Request) -> str:
    """Return the copy that speaks; of a team within, the output it is to give stands before."""
    labels = request.labels
    return f"{labels.within}/{labels.copy}" if labels.within else labels.copy


def _role(request: Request) -> str:
    """Return the role that speaks; of a team within, ``ROLE/NAME``."""
    around = [part.partition("@")[0].partition("#")[0] for part in request.labels.within.split("/")]
    return "/".join([*(part for part in around if part), request.labels.role])


def _prompt(request: Request) -> Prompt:
    labels = request.labels
    title = f"{_who(request)}, turn {labels.visit}"
    if labels.purpose == "review":
        title += f", reviewing {labels.reviewed}"
    return Prompt(
        title=title,
        messages=request.messages,
        tokens=prompt_tokens(request),
        role=_role(request),
        identity=request.identity,
    )
