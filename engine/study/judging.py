"""Judges: models asked by evaluators, with repair, price and record like any other call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from orglab.engine.run.copies import Copy
from orglab.engine.run.desk import Desks, Seat
from orglab.engine.run.fault import TurnFailed
from orglab.engine.run.identity import CallCounter, canonical, digest
from orglab.engine.run.meter import Meter
from orglab.engine.run.prompts import Prompter
from orglab.engine.run.toolbox import Toolbox
from orglab.engine.run.turn import Turn, TurnRunner
from orglab.engine.spec.entry import model_of_entry
from orglab.engine.spec.model import Limits, Model, Role, Topology
from orglab.engine.study.gate import Gate
from orglab.evaluators.base import EvaluationError
from orglab.providers.base import Message
from orglab.results.journal import Journal
from orglab.results.store import Store

__all__ = ["Asker", "Judging"]

JSON: TypeAlias = Any


@dataclass(kw_only=True, slots=True)
class Judging:
    """Makes the askers of a study's runs.

    Attributes:
        topology: The team whose runs are judged.
        store: Keeps the calls.
        desks: Serves models; the same for all arms.
        seed: The root seed.
        arm: The arm, where arms share no calls; else "".
    """

    topology: Topology
    store: Store
    desks: Desks
    seed: int = 0
    arm: str = ""
    _models: dict[str, Model] = field(default_factory=dict)

    def asker(self, run_id: str, unit: str, replicate: int, stopping: Callable[[], bool]) -> Asker:
        """What an evaluator asks models with, for one run."""
        return Asker(
            judging=self,
            run_id=run_id,
            scope=digest(str(self.seed), unit, str(replicate), self.arm, "judge"),
            unit=unit,
            replicate=replicate,
            stopping=stopping,
        )

    def seat(self, entry: Mapping[str, JSON], folder: Path) -> Seat:
        """The seat of a judge's model.

        Raises:
            EvaluationError: The model's entry is wrong; all that is.
        """
        name = _alias(entry, folder)
        if name not in self._models:
            try:
                self._models[name] = model_of_entry(entry, folder, name)
            except ValueError as wrong:
                raise EvaluationError(f"the model of a judge is wrong: {wrong}") from wrong
        return self.desks.of({name: self._models[name]}).seat(name)


def _alias(entry: Mapping[str, JSON], folder: Path) -> str:
    return f"{canonical(dict(entry))} in {folder}"


@dataclass(kw_only=True, slots=True)
class Asker:
    """Asks models about one run; what it was told before is not asked again."""

    judging: Judging
    run_id: str
    scope: str
    unit: str
    replicate: int
    stopping: Callable[[], bool]
    _journal: Gate | None = None

    async def settle(self) -> None:
        """Waits for calls under way, so that their replies are kept."""
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
        repeat: int,
    ) -> JSON:
        """One call of a judge, repairs included.

        Args:
            model: The model's entry, as in a spec.
            folder: Where files that the entry names lie.
            system: The system text.
            prompt: What it is asked.
            schema: JSON Schema of the reply, or None for free text.
            name: Tells the judge from others of the run.
            repeat: Which repeat of the same question, from 0.

        Raises:
            EvaluationError: No readable reply, in words.
        """
        seat = self.judging.seat(model, folder)
        if self._journal is None:
            self._journal = Gate(self.judging.store.judging(self.run_id), self.stopping)
        role = Role(name=f"judge {name}", model=name)
        copy = Copy(name=role.name, role=role, index=1, rank=0)
        messages = [Message(role="system", content=system)] if system else []
        turn = Turn(
            copy=copy,
            visit=repeat + 1,
            purpose="judge",
            position=f"judge.{digest(name, system, prompt)[:8]}.{repeat}",
            seat=seat,
            messages=[*messages, Message(role="user", content=prompt)],
            schema=schema,
        )
        try:
            reading = await self._runner(self._journal, repeat).take(turn)
        except TurnFailed as fault:
            raise EvaluationError(f"{fault.kind}: {fault}") from fault
        return reading.value

    def _runner(self, journal: Journal, repeat: int) -> TurnRunner:
        meter = Meter(Limits())
        return TurnRunner(
            journal=journal,
            counter=CallCounter(scope=digest(self.scope, str(repeat))),
            meter=meter,
            toolbox=Toolbox(uses={}, inputs={}, resolve=Path),
            prompter=Prompter(self.judging.topology),
            unit=self.unit,
            replicate=self.replicate,
        )
