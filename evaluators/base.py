"""The evaluator port: a measure of a finished run, or of one output.

An evaluator is a small dataclass with one method; its fields are its arguments in YAML::

    evaluators: [usage, {length: {max: 500}}, {contains: {text: "{{ product }}", role: writer}}]

A plugin registers the class under the entry point group ``orglab.evaluators``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from orglab.results.records import Output, RunRecord, Scale, Score

__all__ = [
    "Context",
    "EvaluationError",
    "Evaluator",
    "Output",
    "OutputEvaluator",
    "RunRecord",
    "Scale",
    "Score",
]

JSON: TypeAlias = Any


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
        """An installed tool, made with ``settings``: a function of its arguments.

        Raises:
            EvaluationError: No such tool, or its settings are wrong.
        """

    async def ask(
        self,
        model: str,
        *,
        system: str,
        prompt: str,
        schema: Mapping[str, JSON] | None,
        repeat: int = 0,
    ) -> JSON:
        """Asks a model of the spec: a call like any other, with repair, price and record.

        Raises:
            EvaluationError: No such model, or no readable reply.
        """


class ToolFunction(Protocol):
    """Calls a tool."""

    async def __call__(self, **arguments: JSON) -> JSON:
        """The tool's result.

        Raises:
            EvaluationError: The tool refused; its words.
        """


@dataclass(frozen=True, kw_only=True)
class Evaluator(ABC):
    """A measure of a run. A field annotated ``Path`` is a file, resolved by the engine."""

    @abstractmethod
    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Measures ``run``.

        Raises:
            EvaluationError: It cannot be measured; a failure record is kept, nothing crashes.
        """


@dataclass(frozen=True, kw_only=True)
class OutputEvaluator(Evaluator):
    """A measure of one output; it also serves as a ``trigger`` check.

    Attributes:
        role: The role whose last standing output is measured; default: the run's answer. As a
            check: only outputs of this role are looked at.
        min: The smallest value that passes, for a measured value.
        max: The largest value that passes, for a measured value.
    """

    role: str | None = None
    min: float | None = None
    max: float | None = None

    @abstractmethod
    async def look(self, output: Output, context: Context) -> Score:
        """Measures one output; ``Score.reason`` tells its author what is wrong.

        Raises:
            EvaluationError: It cannot be measured.
        """

    async def check(self, output: Output, context: Context) -> Score:
        """``look``, with ``passed`` decided by ``min`` and ``max`` where they are given.

        A missing value does not pass. Without ``min`` and ``max``, ``look`` decides.

        Raises:
            EvaluationError: It cannot be measured, or it neither passes nor fails.
        """
        raise NotImplementedError

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Measures the output of ``role``, or the answer; missing where there is none."""
        raise NotImplementedError
