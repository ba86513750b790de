"""Chat templates of local models: a conversation as one prompt text.

The template comes from the weights' own metadata and is rendered in Jinja's sandbox with the
settings that transformers and llama-cpp-python use. What a template cannot take (a system turn,
two turns of one speaker in a row) is found by trying, once, and folded into the turns that it can.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Literal, NoReturn, TypeAlias

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from orglab.providers.base import JSON, BadRequest, Message

_Role: TypeAlias = Literal["system", "user", "assistant"]

_RUNS: Final[tuple[_Role, ...]] = ("user", "user", "assistant", "assistant", "user")
_TODAY = datetime(2025, 1, 1, tzinfo=UTC)  # a prompt must not depend on the day of the run


class ChatTemplate:
    """A chat template and its capabilities.

    Attributes:
        takes_system: It renders the text of a system turn.
        takes_runs: It accepts two turns of the same speaker in a row.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        """Compile ``source`` and probe what it accepts.

        Args:
            source: The template's text.
            bos: Text of the token that begins a sequence.
            eos: Text of the token that ends one.

        Raises:
            ValueError: The template is no Jinja template, or shows no user turn.
        """
        self._marks = {"bos_token": bos, "eos_token": eos}
        try:
            self._template = _environment().from_string(source)
        except TemplateError as error:
            raise ValueError(f"the model's chat template cannot be read: {error}") from None
        if not self._shows(("user",)):
            raise ValueError("the model's chat template does not show what the user says")
        self.takes_system = self._shows(("system", "user"))
        self.takes_runs = self._shows(_RUNS)

    def render(self, messages: Sequence[Message]) -> str:
        """Return a conversation's text, up to where the assistant's reply begins.

        Raises:
            BadRequest: The template refuses the conversation.
        """
        try:
            return self._rendered(self.fitted(messages))
        except _REFUSALS as error:
            raise BadRequest(f"the model's chat template refuses the messages: {error}") from None

    def fitted(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the conversation in turns that the template accepts; no text is lost."""
        turns = list(messages)
        if not self.takes_system:
            turns = _without_system(turns)
        return tuple(turns if self.takes_runs else _without_runs(turns))

    def _rendered(self, messages: Sequence[Message]) -> str:
        return self._template.render(
            messages=[{"role": m.role, "content": m.content} for m in messages],
            add_generation_prompt=True,
            raise_exception=_raise,
            strftime_now=_TODAY.strftime,
            tools=None,
            **self._marks,
        )

    def _shows(self, roles: Sequence[_Role]) -> bool:
        """Return whether the template renders turns of these speakers with their texts."""
        turns = [Message(role=role, content=f"probe-{i}-text") for i, role in enumerate(roles)]
        try:
            text = self._rendered(turns)
        except _REFUSALS:
            return False
        return all(turn.content in text for turn in turns)


_REFUSALS = (TemplateError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class _GenerationTag(Extension):
    """The tag ``{% generation %}``, which marks training text, rendered as its body."""

    tags = {"generation"}  # noqa: RUF012 (Jinja declares it as a plain set)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return the tag's body."""
        parser.stream.skip(1)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    return environment


def _to_json(value: JSON, indent: int | None = None, ensure_ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _without_system(turns: Sequence[Message]) -> list[Message]:
    """Return turns with system texts at the head of the first user turn, new if there is none."""
    texts = [turn.content for turn in turns if turn.role == "system"]
    rest = [turn for turn in turns if turn.role != "system"]
    if not texts:
        return rest
    if not rest or rest[0].role != "user":
        return [Message(role="user", content="\n\n".join(texts)), *rest]
    first = replace(rest[0], content="\n\n".join([*texts, rest[0].content]))
    return [first, *rest[1:]]


def _without_runs(turns: Sequence[Message]) -> list[Message]:
    """Return turns with those of one speaker in a row joined."""
    joined: list[Message] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role:
            text = f"{joined[-1].content}\n\n{turn.content}"
            joined[-1] = replace(turn, content=text)
        else:
            joined.append(turn)
    return joined
