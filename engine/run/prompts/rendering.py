"""Rendering: a role's system and prompt, a review's prompt, and what the engine adds to them.

A directive, a question, a stake, the powers of a link, findings and earlier verdicts always reach
their reader: what the author's prompt does not use is appended from a named template.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from jinja2 import TemplateError

from orglab.engine.graph.templates.templates import compiled, references
from orglab.engine.run.calls.toolbox import rendered_settings
from orglab.engine.run.errors import TurnFailed
from orglab.engine.spec.model import Role, Topology
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical

PromptTool: TypeAlias = Callable[[str, Mapping[str, JSON]], Awaitable[JSON]]


_RENDER_ERRORS = (
    *(TemplateError, ArithmeticError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)
"""What a template can raise on values that its author did not think of."""


class RenderFailed(TurnFailed):
    """Raised when a template fails on the values it was given; the text says which and why."""

    def __init__(self, message: str) -> None:
        super().__init__("prompt", message)


class _Shown(dict[str, JSON]):
    """A tool's result as a template sees it: fields by name; printed, it is JSON."""

    def __str__(self) -> str:
        return canonical(self)


class _ShownList(list[JSON]):
    """A tool's list as a template sees it; printed, it is JSON."""

    def __str__(self) -> str:
        return canonical(self)


class ToolGate:
    """``tool`` in a template: ``tool.get_schema()`` calls one of the role's tools."""

    def __init__(self, call: PromptTool, names: tuple[str, ...]) -> None:
        self._call = call
        self._names = names

    def __getitem__(self, name: str) -> Callable[..., Awaitable[JSON]]:
        if name not in self._names:
            raise KeyError(name)

        async def called(**arguments: JSON) -> JSON:
            result = await self._call(name, arguments)
            if isinstance(result, dict):
                return _Shown(result)
            return _ShownList(result) if isinstance(result, list) else result

        return called


class Prompter:
    """Renders the prompts of a topology.

    Engine templates can be overridden by the topology's ``templates``.
    """

    def __init__(self, topology: Topology) -> None:
        self._templates = topology.templates

    def engine(self, name: str, variables: Mapping[str, JSON]) -> str:
        """Return one of the engine's own templates, rendered.

        Raises:
            RenderFailed: An overriding template fails on the values it was given.
        """
        try:
            return compiled(self._template_text(name)).render(variables).strip()
        except _RENDER_ERRORS as error:
            raise RenderFailed(f"the template {name} could not be rendered: {error}") from error

    async def system(self, role: Role, variables: Mapping[str, JSON], gate: ToolGate) -> str:
        """Return the system text of a role, "" where it has none."""
        return await self._render(role.system, variables, gate) if role.system else ""

    async def turn(
        self, role: Role, variables: Mapping[str, JSON], gate: ToolGate, *, draft_seen: bool
    ) -> str:
        """Return the prompt of a role's own turn."""
        text = role.prompt if role.prompt is not None else self._template_text("prompt")
        parts = [await self._render(text, variables, gate)]
        used = references(text).variables
        if variables["directive"] and "directive" not in used:
            parts.append(self.engine("directive", {**variables, "draft_seen": draft_seen}))
        if variables["stake"] is not None and "stake" not in used:
            parts.append(self.engine("stake", variables))
        return _joined(parts)

    async def review(
        self,
        phase_prompt: str | None,
        variables: Mapping[str, JSON],
        gate: ToolGate,
        *,
        output_section: str,
        on_cap: str,
    ) -> str:
        """Return the prompt of a review turn; the superior's powers come last."""
        text = phase_prompt if phase_prompt is not None else self._template_text("review")
        parts = [await self._render(text, variables, gate)]
        used = references(text).variables
        if not used & {"draft", "sight", "blackboard"}:
            parts.append(output_section)
        if variables["verdicts"] and "verdicts" not in used:
            parts.append(self.engine("verdicts", variables))
        if variables["findings"] and "findings" not in used:
            parts.append(self.engine("findings", variables))
        parts.append(self.engine("powers", {**variables, "on_cap": on_cap}))
        return _joined(parts)

    def filled(self, value: JSON, variables: Mapping[str, JSON]) -> JSON:
        """Return a value with every template in its texts rendered.

        Raises:
            RenderFailed: A template fails on the values it was given.
        """
        try:
            return rendered_settings(value, variables)
        except _RENDER_ERRORS as error:
            raise RenderFailed(f"a value for the team could not be rendered: {error}") from error

    def _template_text(self, name: str) -> str:
        text = self._templates.get(name)
        return text if text is not None else _shipped(name)

    async def _render(self, text: str, variables: Mapping[str, JSON], gate: ToolGate) -> str:
        try:
            if references(text).tools:
                template = compiled(text, asynchronous=True)
                return await template.render_async({**variables, "tool": gate})
            return compiled(text).render(variables)
        except _RENDER_ERRORS as error:
            raise RenderFailed(f"the prompt could not be rendered: {error}") from error


@cache
def _shipped(name: str) -> str:
    return (files("orglab.engine.prompts") / f"{name}.j2").read_text(encoding="utf-8")


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())
