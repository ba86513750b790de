"""The evaluator port: a measure of a finished run, or of one output.

An evaluator is a small dataclass with one method; its fields are its arguments in YAML::

    evaluators: [usage, {length: {max: 500}}, {contains: {text: "{{ product }}", role: writer}}]

A plugin registers the class under the entry point group ``orglab.evaluators``.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

from orglab.providers.base import JSON
from orglab.results.records import Output, RunRecord, Scale, Score

__all__ = [
    "JSON",
    "AskFunction",
    "Context",
    "EvaluationError",
    "Evaluator",
    "Output",
    "OutputEvaluator",
    "RunRecord",
    "Scale",
    "Score",
    "ToolFunction",
    "standing_output",
]


class EvaluationError(Exception):
    """Raised when an evaluator cannot do its work, in words for the author of the spec."""


class Context(Protocol):
    """What an evaluator may use beside the record."""

    @property
    def inputs(self) -> Mapping[str, JSON]:
        """The unit's inputs by name."""

    @property
    def extra(self) -> Mapping[str, JSON]:
        """The unit's other columns; ``reference`` is its reference answer, if it has one."""

    def tool(self, use: str, settings: Mapping[str, JSON]) -> ToolFunction:
        """Return an installed tool, made with ``settings``: a function of its arguments.

        Raises:
            EvaluationError: No such tool, or its settings are wrong.
        """

    def document(self, path: Path) -> JSON:
        """Return a YAML document, read as strictly as a spec.

        Raises:
            EvaluationError: It cannot be read.
        """

    @property
    def ask(self) -> AskFunction:
        """Asks a model."""


class AskFunction(Protocol):
    """Asks a model."""

    async def __call__(
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
        """Ask a model: a call like any other, with repair, price and record.

        Args:
            model: The model's entry, as in a spec's ``models``.
            folder: Where files that the entry names lie.
            system: The system text, or "".
            prompt: What it is asked.
            schema: JSON Schema of the reply, or None for free text.
            name: Tells this judge from others of the run.
            repeat: Which repeat of the same question, from 0.

        Raises:
            EvaluationError: The entry is wrong, no reply could be read, or this is a check.
        """


class ToolFunction(Protocol):
    """Calls a tool."""

    async def __call__(self, **arguments: JSON) -> JSON:
        """Return the tool's result.

        Raises:
            EvaluationError: The tool refused; its words.
        """


@dataclass(frozen=True, kw_only=True)
class Evaluator(ABC):
    """A measure of a run. A field annotated ``Path`` is a file, resolved by the engine.

    Of a run without outputs it gives its scores too, missing, so that their names are known before
    anything is run.
    """

    #: Names of scores that only a run with an output has.
    beside: ClassVar[tuple[str, ...]] = ()

    def prepare(self, context: Context) -> None:  # noqa: B027 - most evaluators need nothing
        """Check what it needs before anything runs or costs money.

        Raises:
            EvaluationError: It could not do its work, in words for the author.
        """

    def asks(self, context: Context) -> Sequence[Mapping[str, JSON]]:
        """Return the entries of the models that it will ask, for who counts the cost beforehand.

        Raises:
            EvaluationError: As in ``prepare``.
        """
        return ()

    @abstractmethod
    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Measure ``run``.

        Raises:
            EvaluationError: It cannot be measured; a failure record is kept, nothing crashes.
        """


@dataclass(frozen=True, kw_only=True)
class OutputEvaluator(Evaluator):
    """A measure of one output; it also serves as a ``trigger`` check.

    A subclass names its score and scale by the two class variables and writes ``look``; its own
    first field is the one that the short form ``{name: argument}`` sets. ``__post_init__`` may
    raise ``ValueError`` for arguments that do not go together; its text is for the author.

    Attributes:
        role: The role (or the copy, ``writer#2``) whose last delivered output is measured;
            default: the run's answer. As a check: only outputs of this role are looked at.
        min: The smallest value that passes, for a measured value; true counts as 1, false as 0.
        max: The largest value that passes, for a measured value.
    """

    #: Name of the score; "": the class's name in small letters, ``RequiredSections`` ->
    #: ``required_sections``.
    measure: ClassVar[str] = ""
    #: Scale of the score.
    scale: ClassVar[Scale] = "ratio"

    role: str | None = None
    min: float | None = None
    max: float | None = None

    def score_name(self) -> str:
        """Return the name of the score; for measures whose name depends on a field."""
        return self.measure or _snake_case(type(self).__name__)

    def score_scale(self) -> Scale:
        """Return the scale of the score; for measures whose scale depends on a field."""
        return self.scale

    def score(
        self,
        value: float | bool | str | None,
        reason: str = "",
        *,
        passed: bool | None = None,
        detail: Mapping[str, JSON] | None = None,
    ) -> Score:
        """Return a score of this measure; ``value`` None = missing, with the reason."""
        return Score(
            name=self.score_name(),
            value=value,
            scale=self.score_scale(),
            reason=reason,
            passed=passed,
            detail=detail or {},
        )

    @abstractmethod
    async def look(self, output: Output, context: Context) -> Score:
        """Measure one output; ``Score.reason`` says what is wrong, for the author.

        Raises:
            EvaluationError: It cannot be measured.
        """

    async def check(self, output: Output, context: Context) -> Score:
        """Return the score of ``look`` with ``passed`` decided.

        In this order: a missing value (None, NaN) does not pass; ``min`` and ``max`` decide where
        one is given; then ``look``, where it set ``passed``; then a value that is true or false.

        Raises:
            EvaluationError: It cannot be measured, or it neither passes nor fails.
        """
        score = await self.look(output, context)
        if _absent(score.value):
            return replace(score, value=None, passed=False, reason=score.reason or "no value")
        judged = self._with_passed(score)
        if judged.passed is None:
            raise EvaluationError(f"{score.name} neither passes nor fails: give min or max")
        return judged

    async def all_scores(self, output: Output, context: Context) -> Sequence[Score]:
        """Return all scores of an output, that of ``look`` first; for measures that give several."""
        return [await self.look(output, context)]

    def missing_scores(self, reason: str) -> Sequence[Score]:
        """Return the scores where there is no output, under the names that ``all_scores`` gives."""
        return [self.score(None, reason)]

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Measure the output of ``role``, or the answer; missing where there is none."""
        output = standing_output(run, self.role)
        if isinstance(output, str):
            return self.missing_scores(output)
        first, *others = await self.all_scores(output, context)
        return [first if _absent(first.value) else self._with_passed(first), *others]

    def _with_passed(self, score: Score) -> Score:
        if self.min is not None or self.max is not None:
            return self._bounded(score)
        if score.passed is None and isinstance(score.value, bool):
            return replace(score, passed=score.value)
        return score

    def _bounded(self, score: Score) -> Score:
        if not isinstance(score.value, int | float):
            raise EvaluationError(
                f"{score.name} is {score.value!r}, which min and max cannot measure: leave them out"
            )
        limit = ""
        if self.min is not None and score.value < self.min:
            limit = f"at least {self.min:g}"
        elif self.max is not None and score.value > self.max:
            limit = f"at most {self.max:g}"
        if not limit:
            return replace(score, passed=True)
        wrong = f"{score.name} is {_value_text(score.value)}, {limit} is asked for"
        reason = f"{wrong}; {score.reason}" if score.reason else wrong
        return replace(score, passed=False, reason=reason)


def standing_output(run: RunRecord, role: str | None = None) -> Output | str:
    """Return the output that measures of one output look at.

    Args:
        run: The run.
        role: A role's or copy's name: its last delivered output, however the run ended; None: the
            run's answer.

    Returns:
        The output; or why there is none, in words.
    """
    if role is None:
        return run.answer or f"{run.status}: no answer"
    for output in reversed(run.outputs):
        if output.fate == "delivered" and role in (output.role, output.copy):
            return output
    return f"{run.status}: no output of {role!r} was delivered"


def _absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _value_text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}"


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
