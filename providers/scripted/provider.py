"""Replies written beforehand, by a function or line by line: the public fake.

A scripted provider keeps nothing between calls. Which lines were used before follows from
``Labels.earlier``, so that resuming a run, or running many at once, cannot change a reply.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeAlias

from orglab.providers.base import (
    JSON,
    Completion,
    Labels,
    NoScriptedReply,
    Provider,
    Request,
    TokenUsage,
    ToolCall,
)
from orglab.providers.options import known_options
from orglab.providers.pricing.token_estimate import prompt_tokens, text_tokens
from orglab.providers.scripted.script import ScriptLine, parse_line
from orglab.providers.structured_output.json_lines import read_jsonl
from orglab.providers.structured_output.strict_json import spaced

ScriptedReply: TypeAlias = str | Mapping[str, JSON] | Sequence[JSON] | Completion | None
"""A text; an object or a list, which becomes JSON text; ``ToolCall``s in a list; a whole
completion; None where there is no reply for this call."""

Script: TypeAlias = Callable[[Request], ScriptedReply | Awaitable[ScriptedReply]]
"""What a scripted provider is made of."""


_KEPT = 4096


class ScriptedProvider(Provider):
    """Answers every call by a function of the request, plain or async.

    Tokens are counted roughly (four characters a token) unless the reply says them. Every reply
    is marked as simulated: no language model wrote it.
    """

    parameters: ClassVar[frozenset[str] | None] = frozenset(
        {"max_output_tokens", "seed", "temperature", "top_p"}
    )
    options: ClassVar[frozenset[str] | None] = frozenset({"file"})
    free: ClassVar[bool] = True
    kept: ClassVar[bool] = False
    default_concurrency: ClassVar[int] = 256

    def __init__(self, function: Script) -> None:
        self._function = function

    @classmethod
    def from_lines(cls, lines: Iterable[Mapping[str, JSON]]) -> ScriptedProvider:
        """Return replies from lines, as in a script file.

        Raises:
            ValueError: A line is wrong; the text names its number.
        """
        return cls(_Lines([parse_line(line, f"line {n}") for n, line in enumerate(lines, 1)]))

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> ScriptedProvider:  # noqa: ARG003 - the port's
        """Return replies from the JSONL file named by the option ``file``.

        Raises:
            ValueError: The file is not named, cannot be read, or a line is wrong.
        """
        given = known_options(options, {"file"}, "a scripted model")
        if "file" not in given:
            raise ValueError("a scripted model needs `file:`, a JSONL file of {role, reply}")
        path = Path(str(given["file"]))
        try:
            read = [parse_line(value, f"{path.name}, line {n}") for n, value in read_jsonl(path)]
        except OSError as error:
            raise ValueError(f"the script {path.name} cannot be read: {error.strerror}") from None
        return cls(_Lines(read))

    async def complete(self, request: Request) -> Completion:
        """Return the reply that the script holds for this call.

        Raises:
            NoScriptedReply: It holds none.
            ProviderError: The error that it plants for this call.
        """
        reply = self._function(request)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, Completion):
            return reply if reply.simulated else replace(reply, simulated=True)
        if reply is None:
            raise NoScriptedReply(f"no scripted reply for {_where(request.labels)}")
        return self._completion(request, reply)

    def _completion(
        self, request: Request, reply: str | Mapping[str, JSON] | Sequence[JSON]
    ) -> Completion:
        calls = _tool_calls(reply)
        text = "" if calls else reply if isinstance(reply, str) else spaced(reply)
        written = text_tokens(text) + sum(text_tokens(call.arguments) for call in calls)
        return Completion(
            text=text,
            tool_calls=calls,
            stop="tool_calls" if calls else "stop",
            usage=TokenUsage(input=prompt_tokens(request), output=written),
            model="scripted",
            simulated=True,
        )


def _where(labels: Labels) -> str:
    """Return unit, role and visit of a call, in words."""
    call = f", call {labels.call}" if labels.call else ""
    return f"unit {labels.unit!r}, role {labels.copy or labels.role!r}, visit {labels.visit}{call}"


def _tool_calls(reply: JSON) -> tuple[ToolCall, ...]:
    if isinstance(reply, str | Mapping) or not reply:
        return ()
    return tuple(reply) if all(isinstance(each, ToolCall) for each in reply) else ()


class _Lines:
    """The script of a list of lines: the first fitting one not yet used by this copy."""

    def __init__(self, lines: Sequence[ScriptLine]) -> None:
        self._by_unit: dict[str | None, list[tuple[int, ScriptLine]]] = {}
        for place, line in enumerate(lines):
            self._by_unit.setdefault(line.unit, []).append((place, line))
        self._fitting: dict[tuple[str, str, str], list[ScriptLine]] = {}

    def __call__(self, request: Request) -> Completion:
        labels = request.labels
        left = list(self._for(labels))
        for visit in labels.earlier:
            _take(left, visit)
        line = _take(left, labels.visit)
        if line is None:
            raise NoScriptedReply(
                f"the script has no line left for {_where(labels)} ({len(labels.earlier)} calls before)"
            )
        return line.completion(request)

    def _for(self, labels: Labels) -> list[ScriptLine]:
        """Return the lines that fit a copy in a unit, kept a while: they depend on nothing else."""
        key = (labels.unit, labels.role, labels.copy)
        if key not in self._fitting:
            if len(self._fitting) >= _KEPT:
                self._fitting.clear()
            placed = [*self._by_unit.get(None, ()), *self._by_unit.get(labels.unit, ())]
            placed.sort(key=lambda each: each[0])
            self._fitting[key] = [line for _, line in placed if line.fits(*key)]
        return self._fitting[key]


def _take(left: list[ScriptLine], visit: int) -> ScriptLine | None:
    for place, line in enumerate(left):
        if line.visit is None or line.visit == visit:
            return left.pop(place)
    return None
