"""``human``: a person plays a role at the terminal, with the turn's schema as a form.

For pilots, and for studies of human oversight. One person is asked at a time, whoever else's turn
it is; the time they think is the call's service, what the others wait for them is waiting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from orglab.providers.base import JSON, Completion, Provider, Request, ToolCall, ToolDefinition
from orglab.providers.human.form import SchemaForm, ToolRequest
from orglab.providers.human.page import heading, page, questions
from orglab.providers.human.terminal import TERMINAL, Terminal
from orglab.providers.terminal_safety import visible

__all__ = ["HumanProvider"]

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
        return Completion(text=json.dumps(value, ensure_ascii=False, allow_nan=False), native=True)

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
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        return ToolCall(id=f"person-{number}", name=tool.name, arguments=text)
