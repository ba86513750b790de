"""The tools of one run: made once, called with checked arguments, every result kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orglab.engine.graph.templates.templates import compiled
from orglab.engine.run.calls.call_key import digest
from orglab.engine.spec.model import ToolUse
from orglab.engine.spec.validate.tool_sources import ARGUMENTS
from orglab.engine.tools.factory import make
from orglab.engine.tools.source_pool import SourcePool
from orglab.providers.base import JSON, Tool, ToolCall, ToolDefinition, ToolError
from orglab.providers.structured_output.strict_json import canonical
from orglab.providers.structured_output.tool_arguments import read_arguments


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """What came of a tool call.

    Attributes:
        arguments: The arguments as read, or their text where they could not be.
        result: What goes back to the model: strict JSON.
        error: The result is an error.
        refused: Why orglab refused the call (``arguments``, ``unknown``, ``repeated``,
            ``limit``), or "".
        seconds: Seconds it took.
    """

    arguments: JSON
    result: JSON
    error: bool = False
    refused: str = ""
    seconds: float = 0.0


def rendered_settings(value: JSON, inputs: Mapping[str, JSON]) -> JSON:
    """Return ``value`` with every template in its texts rendered on the unit's inputs."""
    if isinstance(value, str):
        return compiled(value).render(inputs) if "{" in value else value
    if isinstance(value, Mapping):
        return {name: rendered_settings(item, inputs) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [rendered_settings(item, inputs) for item in value]
    return value


@dataclass(kw_only=True, slots=True)
class Toolbox:
    """Makes tools on first use, with settings rendered on the unit's inputs.

    Attributes:
        uses: The spec's tools by name.
        inputs: The unit's inputs.
        resolve: Turns a path text into a file inside the allowed folder, or raises ValueError.
        folder: The spec's folder.
        sources: The study's tools from elsewhere.
    """

    uses: Mapping[str, ToolUse]
    inputs: Mapping[str, JSON]
    resolve: Callable[[str], Path]
    folder: Path = field(default_factory=Path)
    sources: SourcePool = field(default_factory=SourcePool)
    _made: dict[str, Tool] = field(default_factory=dict)
    _definitions: dict[str, ToolDefinition] = field(default_factory=dict)
    _digests: dict[tuple[str, ...], str] = field(default_factory=dict)

    def tool(self, name: str) -> Tool:
        """Return the tool declared as ``name``.

        Raises:
            ValueError: Its settings are wrong, in words.
        """
        if name not in self._made:
            use = self.uses[name]
            settings = rendered_settings(use.settings, self.inputs)
            self._made[name] = make(use.use, settings, resolve=self.resolve)
        return self._made[name]

    def definition(self, name: str) -> ToolDefinition:
        """Return the definition of the tool declared as ``name``, as models see it."""
        if name not in self._definitions:
            description, parameters = self._description(name)
            self._definitions[name] = ToolDefinition(
                name=name, description=description, parameters=parameters
            )
        return self._definitions[name]

    def _description(self, name: str) -> tuple[str, Mapping[str, JSON]]:
        use = self.uses[name]
        if use.source:  # as frozen: nobody is asked
            given = use.served["tools"][name]
            return given["description"], given["parameters"]
        tool = self.tool(name)
        return tool.description, tool.parameters

    def digest(self, names: tuple[str, ...]) -> str:
        """Return a digest of the tools' definitions."""
        if names not in self._digests:
            definitions = [asdict(self.definition(name)) for name in names]
            self._digests[names] = digest(canonical(definitions))
        return self._digests[names]

    async def answer(self, call: ToolCall, allowed: tuple[str, ...]) -> ToolAnswer:
        """Call a tool as a model asked: whatever is wrong becomes the call's result."""
        if call.name not in allowed:
            words = f"There is no tool {call.name!r}; there are: {', '.join(allowed)}."
            return refusal(call.arguments, words, "unknown")
        read = read_arguments(call.arguments, self.definition(call.name).parameters)
        if read.value is None:
            return refusal(call.arguments, read.error, "arguments")
        return await self.call(call.name, read.value)

    async def call(self, name: str, arguments: Mapping[str, JSON]) -> ToolAnswer:
        """Call a tool with arguments that fit its parameters."""
        started = time.perf_counter()
        try:
            result = await self._result(name, arguments)
            canonical(result)  # a tool of a plugin may return what strict JSON cannot hold
        except ToolError as refused:
            return _timed(arguments, {"error": str(refused)}, started, error=True)
        except (TypeError, ValueError, RecursionError) as error:
            words = f"{name} failed: {type(error).__name__}: {error}"
            return _timed(arguments, {"error": words}, started, error=True)
        return _timed(arguments, result, started)

    async def _result(self, name: str, arguments: Mapping[str, JSON]) -> JSON:
        use = self.uses[name]
        if not use.source:
            return await self.tool(name).call(arguments)
        written = use.settings.get(ARGUMENTS) or {}
        fixed = {key: written[key] for key in use.served["tools"][name]["fixed"]}
        given = {**arguments, **rendered_settings(fixed, self.inputs)}
        return await self.sources.call(use, given, folder=self.folder)


def refusal(arguments: JSON, words: str, why: str) -> ToolAnswer:
    """Return the answer to a call that is not made."""
    return ToolAnswer(arguments=arguments, result={"error": words}, error=True, refused=why)


def _timed(arguments: JSON, result: JSON, started: float, *, error: bool = False) -> ToolAnswer:
    seconds = time.perf_counter() - started
    return ToolAnswer(arguments=arguments, result=result, error=error, seconds=seconds)
