"""``human``: a person plays a role at the terminal, with the turn's schema as a form.

For pilots, and for studies of human oversight. One person is asked at a time; the time they take is
the call's service time, the time others wait for them is waiting time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from orglab.providers.base import (
    JSON,
    Completion,
    Labels,
    Message,
    Provider,
    Request,
    ToolCall,
    ToolDefinition,
)
from orglab.providers.human.form import SchemaForm, ToolRequest
from orglab.providers.human.terminal import TERMINAL, Terminal
from orglab.providers.structured_output.strict_json import spaced
from orglab.providers.terminal_safety import visible

PERSON = "person"
"""What records call who answered, where the spec gives no `model`."""


class HumanProvider(Provider):
    """A person at the terminal of this process."""

    parameters: ClassVar[frozenset[str] | None] = frozenset()
    options: ClassVar[frozenset[str] | None] = frozenset()
    free: ClassVar[bool] = True
    kept: ClassVar[bool] = False
    default_concurrency: ClassVar[int] = 1

    def __init__(self, name: str = "", terminal: Terminal | None = None) -> None:
        """Make the provider.

        Args:
            name: What records call the person.
            terminal: Where they sit; default: this process's own terminal.
        """
        self._name = name or PERSON
        self._terminal = terminal or TERMINAL

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> HumanProvider:  # noqa: ARG003 - it takes none
        """Make the provider of one person; ``model`` is what records call them.

        Raises:
            ValueError: There is no terminal to ask at.
        """
        TERMINAL.open()
        return cls(model)

    async def complete(self, request: Request) -> Completion:
        """Show the conversation, and asks for the answer until it fits.

        Raises:
            Interrupted: The person stops the study (Ctrl-D, Ctrl-C).
        """
        came = time.monotonic()
        async with self._terminal.held():
            began = time.monotonic()
            said = await self._ask_person(request)
        return replace(
            said,
            model=self._name,
            service_seconds=time.monotonic() - began,
            waiting_seconds=began - came,
        )

    async def _ask_person(self, request: Request) -> Completion:
        terminal = self._terminal
        tools = () if request.must_answer else request.tools
        terminal.say(page(request, whole=request.labels.call == 0))
        terminal.say(heading(request, tools))
        while True:
            form = SchemaForm(terminal, again=lambda: page(request, whole=True), tools=tools)
            try:
                return await self._answer(form, request)
            except ToolRequest as wish:
                call = await self._call(form, request, wish.tool)
                if call is not None:
                    return Completion(tool_calls=(call,), stop="tool_calls")

    async def _answer(self, form: SchemaForm, request: Request) -> Completion:
        if request.schema is None:
            text = await form.text("Your answer", required=True)
            return Completion(text=text)
        self._terminal.say(questions(request))
        value = await form.value(request.schema)
        return Completion(text=spaced(value), native=True)

    async def _call(
        self, form: SchemaForm, request: Request, tool: ToolDefinition
    ) -> ToolCall | None:
        """Return the call of a tool, its arguments asked for; None where the person changed their mind."""
        self._terminal.say(f"{tool.name}: {visible(tool.description)}")
        try:
            arguments = await form.value(tool.parameters)
        except ToolRequest as wish:
            return await self._call(form, request, wish.tool)
        number = f"{request.labels.visit}-{request.labels.call}"
        return ToolCall(id=f"person-{number}", name=tool.name, arguments=spaced(arguments))


_RULE = "─" * 72


def page(request: Request, *, whole: bool) -> str:
    """Return the conversation so far; else what came after the person's last words, results of tools say.

    Everything that would steer the terminal is written out.
    """
    messages = list(request.messages)
    if not whole:
        spoken = [i for i, each in enumerate(messages) if each.role == "assistant"]
        messages = messages[spoken[-1] + 1 :] if spoken else messages
    parts = [_page_message(each) for each in messages]
    title = [_RULE, visible(_page_title(request.labels)), _RULE] if whole else []
    return "\n" + "\n".join([*title, *parts])


def _page_title(labels: Labels) -> str:
    words = f"{labels.copy or 'you'}, turn {labels.visit}"
    if labels.reviewed is not None:
        words += f", reviewing {labels.reviewed}"
    if labels.unit:
        words += f" · unit {labels.unit}, replicate {labels.replicate + 1}"
    return words


def _page_message(message: Message) -> str:
    names = {"assistant": "you said", "user": "you are asked", "tool": "the tool answers"}
    lines = [f"[{names.get(message.role, message.role)}]"]
    if message.content:
        lines.append(visible(message.content))
    lines += [
        f"called {visible(call.name)} {visible(call.arguments)}" for call in message.tool_calls
    ]
    return "\n".join(lines) + "\n"


def heading(request: Request, tools: Sequence[ToolDefinition]) -> str:
    """Return how to answer."""
    lines = [_RULE]
    if tools:
        names = ", ".join(tool.name for tool in tools)
        lines.append(f"Tools: {names}. /tool NAME calls one, in place of an answer.")
    elif request.tools:
        lines.append("No tool may be called now.")
    lines.append(
        "/show shows all again. Ctrl-D or Ctrl-C stops the study; the same command resumes it."
    )
    return "\n".join(lines)


def questions(request: Request) -> str:
    """Return what a form is about."""
    if request.labels.purpose == "review":
        return f"Your verdict on the output of {visible(request.labels.reviewed or '')}:"
    return "Your answer, field by field:"
