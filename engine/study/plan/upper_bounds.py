"""What one run of a team may use at most, reported before any call: by role and model, and judging."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from orglab.engine.graph.bounds import calls_by_role, calls_of_turn
from orglab.engine.graph.team import Team
from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.outcome import Unit
from orglab.engine.run.run_plan import resolver
from orglab.engine.spec.compose.model_entry import model_of_entry
from orglab.engine.spec.model import Model, Role, RoleLimits, ToolUse, Topology
from orglab.engine.study.batch.preflight import asks_models, judge_models
from orglab.engine.study.plan.dry_run import DryRun, dry_run
from orglab.engine.study.plan.prices import known, known_sum, most_expensive
from orglab.engine.tools.bounded_json import CHARACTERS
from orglab.evaluators.base import EvaluationError
from orglab.evaluators.evaluate import evaluate_run
from orglab.providers.base import JSON, TokenUsage
from orglab.providers.pricing.token_estimate import text_tokens
from orglab.results.store.journal.history import run_record


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question to a judge.

    Attributes:
        model: The judge's model; its alias is the judge's name.
        tokens: About how many tokens the question has.
    """

    model: Model
    tokens: int


async def dry_run_questions(team: Team, unit: Unit, run: DryRun) -> list[Question] | None:
    """Return what judges would be asked; None where the dry run came to no answer to judge."""
    uses = [use for use in team.topology.evaluators if asks_models(use)]
    if not uses:
        return []
    if run.outcome.status != "completed":
        return None
    folder = team.topology.folder
    toolbox = Toolbox(uses={}, inputs=unit.inputs, resolve=resolver(folder, unit))
    asked = _Asked()
    context = EvaluationContext(inputs=unit.inputs, extra=unit.extra, ask=asked)
    made = [(str(number), make_evaluator(use, toolbox)) for number, use in enumerate(uses)]
    about = {"id": "dry run", "arm": "", "unit": unit.id, "inputs": unit.inputs}
    record = run_record(about, list(run.journal.events.values()), run.journal.entries.values())
    await evaluate_run(record, made, context)
    return asked.questions


@dataclass
class _Asked:
    """Notes every question, and answer none."""

    questions: list[Question] = field(default_factory=list)

    async def __call__(
        self,
        model: Mapping[str, JSON],
        *,
        folder: Path,
        system: str,
        prompt: str,
        schema: Mapping[str, JSON] | None,  # noqa: ARG002 - the port's
        name: str,
        repeat: int = 0,  # noqa: ARG002 - the port's
    ) -> JSON:
        asked = model_of_entry(model, folder, name, trust=True)  # nothing is sent
        self.questions.append(Question(model=asked, tokens=text_tokens(system + prompt)))
        raise EvaluationError("dry run")


UNITS = 3
"""Units on whose prompts a plan looks, spread over the study."""


_REPAIR = 300
"""Tokens of a request to repair, its quoted problem included."""


class UsageBound(NamedTuple):
    """What may be used at most; None = unknown.

    ``calls`` and ``output`` are bounds. ``input`` and ``usd`` rest on the longest prompts of a dry
    run that uses every loop up, and on what a turn may add to them: replies, results of tools,
    requests to repair.
    """

    calls: int | None
    input: int | None
    output: int | None
    usd: float | None

    def times(self, runs: int) -> UsageBound:
        """Of so many runs."""
        if not runs:
            return UsageBound(0, 0, 0, 0.0)
        return UsageBound(*(None if part is None else part * runs for part in self))  # type: ignore[arg-type]

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        return self._asdict()


def sum_of(parts: Iterable[UsageBound]) -> UsageBound:
    """Return the bounds added up; a part is unknown where it is in any of them."""
    columns = zip(UsageBound(0, 0, 0, 0.0), *parts, strict=True)
    return UsageBound(*map(known_sum, columns))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelBound:
    """What one run uses of one model, or of a pool's models, at most.

    Attributes:
        name: The alias, ``pool NAME``, or the judge's name.
        models: The model, or the pool's members.
        roles: The roles that ask it; () for a judge.
        bound: What one run uses at most.
    """

    name: str
    models: tuple[Model, ...]
    roles: tuple[str, ...]
    bound: UsageBound

    @property
    def judging(self) -> bool:
        """It is a judge's."""
        return not self.roles


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageBounds:
    """What one run of a team may use.

    Attributes:
        turns: Turns at most.
        writing: Calls of roles at most: calls by the compiler's bound, dollars within the run's own
            limit.
        lines: By model; together they may come to more than ``writing``.
        prompts: Longest prompt of each role, in tokens, as rendered.
        identities: Calls of the dry run on the first unit, which arms may share.
        error: Why prompts could not be rendered, or judges not simulated in the dry run; "".
    """

    turns: int
    writing: UsageBound
    lines: tuple[ModelBound, ...]
    prompts: Mapping[str, int]
    identities: tuple[str, ...]
    issue: str

    @property
    def judging(self) -> UsageBound:
        """Calls of judges at most."""
        return sum_of(line.bound for line in self.lines if line.judging)


async def upper_bounds(team: Team, units: Sequence[Unit], seed: int) -> UsageBounds:
    """Look at a team on a few units; nothing is asked of any model.

    Tools that a prompt itself calls are really called, as by ``orglab render``.
    """
    step = max(1, len(units) // UNITS)
    chosen = list(units[::step])[:UNITS]
    runs = [await dry_run(team, unit, seed=seed, longest=True) for unit in chosen]
    prompts = _prompts(runs)
    asked = [
        await dry_run_questions(team, unit, run) for unit, run in zip(chosen, runs, strict=True)
    ]
    failed = next((run.outcome.reason for run in runs if run.outcome.status == "failed"), "")
    judging = _judging(team, asked)
    if not failed and judging and None in asked:
        failed = "the dry run has no answer that judges could be asked about"
    return UsageBounds(
        turns=team.bounds.turns,
        writing=_writing(team, lines := _lines(team.topology, prompts)),
        lines=(*lines, *judging),
        prompts=prompts,
        identities=tuple(prompt.identity for run in runs[:1] for prompt in run.prompts),
        issue=failed,
    )


def _writing(team: Team, lines: Iterable[ModelBound]) -> UsageBound:
    bound = sum_of(line.bound for line in lines)
    limits = team.topology.limits
    usd = [each for each in (bound.usd, limits.cost_usd) if each is not None]
    return bound._replace(calls=team.bounds.calls, usd=min(usd, default=None))


def _prompts(runs: Sequence[DryRun]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for run in runs:
        for prompt in run.prompts:
            longest[prompt.role] = max(prompt.tokens, longest.get(prompt.role, 0))
    return longest


class _Asker(NamedTuple):
    """A role that asks a model, with its path, its models and its tools."""

    path: str
    role: Role
    models: tuple[Model, ...]
    tools: tuple[ToolUse, ...]


def _askers(topology: Topology, above: str = "") -> Iterator[_Asker]:
    """Yield the roles that ask models, those of teams within too."""
    for name, role in topology.roles.items():
        if role.team is not None:
            yield from _askers(role.team, f"{above}{name}/")
        elif role.asks:
            tools = tuple(topology.tools[tool] for tool in role.tools)
            yield _Asker(f"{above}{name}", role, _models(topology, role), tools)


def _lines(topology: Topology, prompts: Mapping[str, int]) -> list[ModelBound]:
    bounds = calls_by_role(topology)
    asking: dict[tuple[str, tuple[str, ...]], list[_Asker]] = {}
    for asker in _askers(topology):
        if bounds[asker.path]:
            name = f"pool {asker.role.pool}" if asker.role.pool else asker.models[0].alias
            members = tuple(model.alias for model in asker.models)
            asking.setdefault((name, members), []).append(asker)
    return [
        ModelBound(
            name=name,
            models=askers[0].models,
            roles=tuple(asker.path for asker in askers),
            bound=sum_of(_bound_of_role(asker, bounds[asker.path], prompts) for asker in askers),
        )
        for (name, _), askers in asking.items()
    ]


def _models(topology: Topology, role: Role) -> tuple[Model, ...]:
    pool = topology.pools.get(role.pool or "")
    names = pool.members if pool else (str(role.model),)
    return tuple(topology.models[name] for name in names)


def _bound_of_role(asker: _Asker, calls: int, prompts: Mapping[str, int]) -> UsageBound:
    return _bound(
        asker.models,
        calls,
        prompts.get(asker.path),
        asker.role.limits.output_tokens or _longest_reply(asker.models),
        rounds=calls_of_turn(asker.role),
        added=max([_REPAIR, *map(_result_tokens, asker.tools)]),
    )


def _result_tokens(tool: ToolUse) -> int:
    characters = tool.settings.get("characters", CHARACTERS)
    return -(-int(characters) // 4) if isinstance(characters, int | float) else CHARACTERS


def _bound(
    models: tuple[Model, ...],
    calls: int,
    prompt: int | None,
    reply: int | None,
    *,
    rounds: int,
    added: int = _REPAIR,
) -> UsageBound:
    """Return the bound of so many calls.

    Call ``i`` of a turn reads the prompt and, from each of the ``i`` before it, a reply and what
    was ``added``: a tool's result or a request to repair.
    """
    free = most_expensive(models, TokenUsage(input=1, output=1)) == 0
    written = None if reply is None else calls * reply
    read = None
    if prompt is not None and (rounds == 1 or reply is not None):
        grown = (rounds - 1) * ((reply or 0) + added)
        read = calls * prompt + -(-calls * grown // 2)
        if written is not None:
            usage = TokenUsage(input=read, output=written)
            return UsageBound(calls, read, written, most_expensive(models, usage, prompt + grown))
    return UsageBound(calls, read, written, 0.0 if free else None)


def _longest_reply(models: Iterable[Model]) -> int | None:
    written = [model.params.get("max_output_tokens") for model in models]
    lengths = known(bound if isinstance(bound, int) else None for bound in written)
    return int(max(lengths)) if lengths else None


def _judging(team: Team, asked: Sequence[Sequence[Question] | None]) -> list[ModelBound]:
    """By judge; calls and tokens unknown where the dry runs came to no answer."""
    each = 1 + RoleLimits().repair_attempts
    found: dict[str, list[Question]] = {}
    for questions in asked:
        of_unit: dict[str, list[Question]] = {}
        for question in questions or ():
            of_unit.setdefault(question.model.alias, []).append(question)
        for name, own in of_unit.items():
            found[name] = max(found.get(name, []), own, key=lambda some: (len(some), _tokens(some)))
    if not found:
        return [_unknown(model) for model in _distinct(judge_models(team))]
    return [
        ModelBound(
            name=f"judge {name}",
            models=(own[0].model,),
            roles=(),
            bound=_bound(
                (own[0].model,),
                each * len(own),
                max(question.tokens for question in own),
                _longest_reply([own[0].model]),
                rounds=each,
            ),
        )
        for name, own in found.items()
    ]


def _unknown(model: Model) -> ModelBound:
    free = most_expensive((model,), TokenUsage(input=1, output=1)) == 0
    bound = UsageBound(None, None, None, 0.0 if free else None)
    return ModelBound(name=model.alias, models=(model,), roles=(), bound=bound)


def _tokens(questions: Sequence[Question]) -> int:
    return sum(question.tokens for question in questions)


def _distinct(models: Iterable[Model]) -> list[Model]:
    return list({model.alias: model for model in models}.values())
