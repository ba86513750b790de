"""Checks that fire loops: evaluators looking at one output, their findings durable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from orglab.engine.run.calls.toolbox import Toolbox, rendered_settings
from orglab.engine.run.review import CheckCrashed, CheckFinding
from orglab.engine.run.state import RunState
from orglab.engine.spec.model import EvaluatorUse
from orglab.engine.spec.validate.path_confinement import FileRefused, read_limited
from orglab.engine.spec.yaml.reader import read_bytes
from orglab.engine.tools.factory import make, make_plugin
from orglab.evaluators.base import (
    AskFunction,
    EvaluationError,
    Evaluator,
    OutputEvaluator,
    ToolFunction,
)
from orglab.providers.base import JSON, ToolError
from orglab.results.records import DecisionEntry, Output
from orglab.results.store.journal.journal import Journal


class HasUnit(Protocol):
    """A unit of work."""

    @property
    def inputs(self) -> Mapping[str, JSON]:
        """Its inputs."""

    @property
    def extra(self) -> Mapping[str, JSON]:
        """Its other columns."""


async def _refuse_question(*_: JSON, **__: JSON) -> JSON:
    raise EvaluationError("a check cannot ask a model; let the superior judge")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationContext:
    """What evaluators may use beside the record: the unit, installed tools, models, documents.

    Attributes:
        inputs: The unit's inputs.
        extra: The unit's other columns.
        ask: Asks models; refuses for checks, which look at an output while its run goes on.
        read: Digest of each document that was read, by its path.
    """

    inputs: Mapping[str, JSON]
    extra: Mapping[str, JSON]
    ask: AskFunction = _refuse_question
    read: dict[Path, str] = field(default_factory=dict)

    def document(self, path: Path) -> JSON:
        """Parse a YAML document as strictly as a spec.

        Raises:
            EvaluationError: It cannot be read; all its errors.
        """
        if path.exists() and not path.is_file():
            raise EvaluationError(f"{path.name}: this is no regular file")
        try:
            content = read_limited(path)
        except FileRefused as refused:
            raise EvaluationError(f"{path.name}: {refused}") from refused
        self.read[path] = sha256(content).hexdigest()
        document = read_bytes(content, path.name)
        if document.issues:
            raise EvaluationError("; ".join(str(issue) for issue in document.issues))
        return document.data

    def tool(self, use: str, settings: Mapping[str, JSON]) -> ToolFunction:
        """Return an installed tool; paths in its settings are those that the engine gave.

        Raises:
            EvaluationError: No such tool, or its settings are wrong.
        """
        try:
            tool = make(use, settings, resolve=Path)
        except (KeyError, ValueError) as error:
            raise EvaluationError(f"tool {use}: {error}") from error

        async def call(**arguments: JSON) -> JSON:
            try:
                return await tool.call(arguments)
            except ToolError as refusal:
                raise EvaluationError(str(refusal)) from refusal

        return call


def make_evaluator(use: EvaluatorUse, toolbox: Toolbox) -> Evaluator:
    """Return an evaluator with its arguments rendered on the unit, its files resolved.

    Raises:
        ValueError: An argument is wrong, in words.
    """
    arguments = rendered_settings(use.arguments, toolbox.inputs)
    made = make_plugin("orglab.evaluators", use.use, arguments, resolve=toolbox.resolve)
    if not isinstance(made, Evaluator):
        raise ValueError(f"{use.use} is no evaluator")
    return made


@dataclass(kw_only=True, slots=True)
class CheckRunner:
    """Runs the checks of triggers, once for each output: on a replay the finding is recorded.

    Attributes:
        state: The run.
        journal: Where findings are durable.
        toolbox: Resolves files and renders arguments.
        unit: The unit.
    """

    state: RunState
    journal: Journal
    toolbox: Toolbox
    unit: HasUnit
    _number: int = 0

    async def check(self, checks: Sequence[EvaluatorUse], output: Output) -> list[CheckFinding]:
        """Return what each check that looks at this output's role found.

        Raises:
            CheckCrashed: A check crashed.
        """
        looked_at = (None, output.role, output.copy)
        looking = [use for use in checks if use.arguments.get("role") in looked_at]
        return [await self._finding(use, output) for use in looking]

    async def _finding(self, use: EvaluatorUse, output: Output) -> CheckFinding:
        position = f"{self.state.tick}.check.{self._number}"
        self._number += 1
        entry = self.journal.recorded(position)
        if not isinstance(entry, DecisionEntry):
            entry = await self._check(use, output, position)
            await self.journal.keep(entry)
        if entry.error or entry.finding is None:
            error = entry.error or {"kind": f"check {use.use}", "message": "nothing recorded"}
            raise CheckCrashed(error["kind"], error["message"])
        return CheckFinding(**entry.finding)

    async def _check(self, use: EvaluatorUse, output: Output, position: str) -> DecisionEntry:
        made = partial(
            DecisionEntry, position=position, output=output.id, what="check", copy=output.copy
        )
        context = EvaluationContext(inputs=self.unit.inputs, extra=self.unit.extra)
        try:
            evaluator = make_evaluator(use, self.toolbox)
            if not isinstance(evaluator, OutputEvaluator):
                raise EvaluationError(f"{use.use} does not look at single outputs")
            score = await evaluator.check(output, context)
        except Exception as crash:  # noqa: BLE001 - a plugin may raise anything; it fails the turn
            error = {"kind": f"check {use.use}", "message": f"{type(crash).__name__}: {crash}"}
            return made(error=error)
        finding = CheckFinding(
            evaluator=use.use,
            passed=bool(score.passed),
            value=score.value,
            reason=score.reason,
        )
        return made(finding=asdict(finding))
