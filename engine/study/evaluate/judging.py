"""Judges: models asked by evaluators, with repair, price and record like any other call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from orglab.engine.run.calls.call_key import CallCounter, digest
from orglab.engine.run.calls.model_call import ModelCalls, SharedResponses
from orglab.engine.run.calls.model_registry import BoundModel, ModelRegistries
from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import RunLimits
from orglab.engine.run.outcome import Unit
from orglab.engine.run.prompts.rendering import Prompter
from orglab.engine.run.replicas import Replica
from orglab.engine.run.run_plan import resolver
from orglab.engine.run.turn import Turn
from orglab.engine.run.turn_runner import TurnRunner
from orglab.engine.spec.compose.model_entry import model_of_entry
from orglab.engine.spec.model import EvaluatorUse, Limits, Model, Role, Topology
from orglab.engine.study.batch.budget import Budget
from orglab.engine.study.batch.preflight import asks_models
from orglab.engine.study.batch.run_gate import RunGate
from orglab.evaluators.base import EvaluationError, Evaluator
from orglab.evaluators.evaluate import evaluate_run
from orglab.providers.base import JSON, Interrupted, Message
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.store.store import Store


class RunEvaluator:
    """Measures runs, each evaluator once a run.

    Attributes:
        judging: Lets evaluators ask models.
        store: Holds the runs and takes the scores.
        uses: What is measured.
        anew: What was measured before is measured again.
        retry: Where a judge could not be asked, who asks judges measures again.
    """

    def __init__(
        self,
        judging: Judging,
        uses: Sequence[EvaluatorUse],
        *,
        anew: bool = False,
        retry: bool = False,
    ) -> None:
        self.judging = judging
        self.anew = anew
        self.retry = retry
        self.store: Store = judging.store
        self.uses = uses
        self._keys = [_key(use) for use in uses]

    async def evaluate(
        self, run_id: str, unit: Unit, replicate: int, stopping: Callable[[], bool]
    ) -> None:
        """Measure an ended run with what has not measured it yet.

        A failing evaluator leaves its error in the store; nothing crashes. Where the user says
        stop, what is not measured yet is left for the next time.
        """
        uses = self._missing(run_id)
        if not uses:
            return
        folder = self.judging.topology.folder
        toolbox = Toolbox(uses={}, inputs=unit.inputs, resolve=resolver(folder, unit))
        made: list[tuple[str, Evaluator]] = []
        for number, use in enumerate(uses):
            try:
                made.append((str(number), make_evaluator(use, toolbox)))
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                reason = f"{type(error).__name__}: {error}"
                await self.store.add_scores(run_id, *_key(use), [], reason)
        asker = self.judging.asker(run_id, unit.id, replicate, stopping)
        context = EvaluationContext(inputs=unit.inputs, extra=unit.extra, ask=asker.ask)
        try:
            results = await evaluate_run(self.store.record(run_id), made, context)
        except Interrupted:
            await asker.settle()
            return
        for result in results:
            use = uses[int(result.key)]
            await self.store.add_scores(run_id, *_key(use), result.scores, result.error)

    def _missing(self, run_id: str) -> list[EvaluatorUse]:
        if not self.uses or self.anew:
            return list(self.uses)
        known = self.store.measured(run_id)
        if self.retry and self.store.judges_failed(run_id):
            known -= {_key(use) for use in self.uses if asks_models(use)}
        return [use for use, key in zip(self.uses, self._keys, strict=True) if key not in known]


def _key(use: EvaluatorUse) -> tuple[str, str]:
    return use.use, canonical(dict(use.arguments))


@dataclass(kw_only=True, slots=True)
class Judging:
    """Makes the askers of a study's runs.

    Attributes:
        topology: The team whose runs are judged.
        store: Keeps the calls.
        registries: Serves models; the same for all arms.
        seed: The root seed.
        arm: The arm, where arms share no calls; else "".
        sharing: Replies that arms share, or None.
        budget: The study's money, or None.
        closed: Called with a message that an account is empty, or takes no key.
    """

    topology: Topology
    store: Store
    registries: ModelRegistries
    seed: int = 0
    arm: str = ""
    sharing: SharedResponses | None = None
    budget: Budget | None = None
    closed: Callable[[str], None] | None = None
    _models: dict[str, Model] = field(default_factory=dict)

    def asker(self, run_id: str, unit: str, replicate: int, stopping: Callable[[], bool]) -> Asker:
        """Return what an evaluator asks models with, for one run."""
        return Asker(
            judging=self,
            run_id=run_id,
            scope=digest(str(self.seed), unit, str(replicate), self.arm, "judge"),
            unit=unit,
            replicate=replicate,
            stopping=stopping,
        )

    def bound_model(self, entry: Mapping[str, JSON], folder: Path) -> BoundModel:
        """Return the bound model of a judge's model.

        Raises:
            EvaluationError: The model's entry is wrong; all that is.
        """
        name = _alias(entry, folder)
        if name not in self._models:
            try:
                self._models[name] = model_of_entry(
                    entry, folder, name, trust=self.topology.trusted
                )
            except ValueError as wrong:
                raise EvaluationError(f"the model of a judge is wrong: {wrong}") from wrong
        return self.registries.of({name: self._models[name]}).bound_model(name)


def _alias(entry: Mapping[str, JSON], folder: Path) -> str:
    return f"{canonical(dict(entry))} in {folder}"


class _Said(NamedTuple):
    """What came of a question: a reply, or what was raised."""

    reply: JSON
    issue: BaseException | None


@dataclass(kw_only=True, slots=True)
class Asker:
    """Asks models about one run; stored replies are not requested again."""

    judging: Judging
    run_id: str
    scope: str
    unit: str
    replicate: int
    stopping: Callable[[], bool]
    _journal: RunGate | None = None
    _asked: dict[str, asyncio.Future[_Said]] = field(default_factory=dict)

    async def settle(self) -> None:
        """Wait for calls under way, so that their replies are kept."""
        if self._journal is not None:
            await self._journal.settle()

    async def ask(
        self,
        model: Mapping[str, JSON],
        *,
        folder: Path,
        system: str,
        prompt: str,
        schema: Mapping[str, JSON] | None,
        name: str,
        repeat: int = 0,
    ) -> JSON:
        """One call of a judge, repairs included; the same question is asked once a run.

        Args:
            model: The model's entry, as in a spec.
            folder: Where files that the entry names lie.
            system: The system text.
            prompt: What it is asked.
            schema: JSON Schema of the reply, or None for free text.
            name: Tells the judge from others of the run.
            repeat: Which repeat of the same question, from 0.

        Raises:
            EvaluationError: No readable reply, as text.
        """
        bound_model = self.judging.bound_model(model, folder)
        written_schema = canonical(dict(schema)) if schema is not None else ""
        question = digest(bound_model.digest, name, system, prompt, written_schema)
        position = f"judge.{question[:12]}.{repeat}"
        if position not in self._asked:
            messages = [Message(role="system", content=system)] if system else []
            messages.append(Message(role="user", content=prompt))
            turn = _turn(name, repeat, position, bound_model, messages, schema)
            await self._take(turn)
        said = await asyncio.shield(self._asked[position])
        if said.issue is not None:
            raise said.issue
        return said.reply

    async def _take(self, turn: Turn) -> None:
        """Asks, and lets whoever waits for the same question know."""
        waiting = self._asked[turn.position] = asyncio.get_running_loop().create_future()
        try:
            reading = await self._runner(turn).take(turn)
        except TurnFailed as error:
            waiting.set_result(_Said(None, EvaluationError(f"{error.kind}: {error}")))
        except BaseException as error:  # what a bug or the user's stop raises is theirs too
            waiting.set_result(_Said(None, error))
            raise
        else:
            waiting.set_result(_Said(reading.value, None))

    def _runner(self, turn: Turn) -> TurnRunner:
        scope = digest(self.scope, turn.copy.name, str(turn.visit))  # equal judges are two judges
        if self._journal is None:
            journal = self.judging.store.judging(self.run_id)
            judging = self.judging
            self._journal = RunGate(journal, self.stopping, judging.budget, judging.closed)
        return TurnRunner(
            calls=ModelCalls(
                journal=self._journal,
                counter=CallCounter(scope=scope),
                toolbox=Toolbox(uses={}, inputs={}, resolve=Path),
                unit=self.unit,
                replicate=self.replicate,
                sharing=self.judging.sharing,
            ),
            limits=RunLimits(Limits()),
            prompter=Prompter(self.judging.topology),
        )


def _turn(
    name: str,
    repeat: int,
    position: str,
    bound_model: BoundModel,
    messages: list[Message],
    schema: Mapping[str, JSON] | None,
) -> Turn:
    role = Role(name=f"judge {name}", model=name)
    return Turn(
        copy=Replica(name=role.name, role=role, index=1, rank=0),
        visit=repeat + 1,
        purpose="judge",
        position=position,
        bound_model=bound_model,
        messages=messages,
        schema=schema,
    )
