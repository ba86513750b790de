"""A JSON Schema as a form: each field asked for, checked, and asked for again until it fits."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Final

from orglab.providers.base import JSON, ToolDefinition
from orglab.providers.human.terminal import Terminal
from orglab.providers.structured_output.schema_merge import merge_schemas, resolve_reference
from orglab.providers.structured_output.strict_json import JSONError, loads
from orglab.providers.structured_output.validation import checker_for
from orglab.providers.terminal_safety import visible

_ONE_LINE: Final = 200
"""Texts that may be no longer are asked for on one line."""

_MOST_STEPS: Final = 64  # references followed for one field; a sound schema has no circle
_YES: Final = frozenset({"y", "yes", "true"})
_NO: Final = frozenset({"n", "no", "false"})
_PLAIN: Final = frozenset({"boolean", "integer", "null", "number", "string"})
_LEFT_OUT: Final = object()


class ToolRequest(Exception):
    """Raised within a form when the person would call a tool instead."""

    def __init__(self, tool: ToolDefinition) -> None:
        super().__init__(tool.name)
        self.tool = tool


class SchemaForm:
    """One form at a terminal.

    Args:
        terminal: The terminal.
        again: The page to show where the person asks for it.
        tools: Tools that may be called in place of an answer.
    """

    def __init__(
        self, terminal: Terminal, *, again: Callable[[], str], tools: Sequence[ToolDefinition] = ()
    ) -> None:
        self._terminal = terminal
        self._again = again
        self._tools = {tool.name: tool for tool in tools}
        self._root: Mapping[str, JSON] = {}

    async def value(self, schema: Mapping[str, JSON]) -> JSON:
        """Return a value that fits ``schema``.

        Raises:
            ToolRequest: The person would call a tool.
            Interrupted: They stop.
        """
        self._root = schema
        checker = checker_for(schema)
        while True:
            value = await self._ask(schema, "", required=True)
            if checker.fits(value):
                return value
            self._terminal.say(f"That does not fit: {visible(checker.message(value))}. Once more:")

    # --- one field --------------------------------------------------------------------------

    async def _ask(self, schema: JSON, name: str, *, required: bool) -> JSON:
        """Return a value for one place of the schema; ``_LEFT_OUT`` where it may be left out, and is."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"] if required else await self._maybe(schema, name)
        if "enum" in schema:
            return await self._choice(schema["enum"], schema, name, required=required)
        branches = _branches(schema)
        if branches:
            return await self._branch(branches, schema, name, required=required)
        kind = schema.get("type", "object" if "properties" in schema else None)
        if kind in ("object", "array") and not required:
            return await self._maybe(schema, name)
        if kind == "object":
            return await self._object(schema, name)
        if kind == "array" and isinstance(schema.get("items"), dict):
            return await self._list(schema, name)
        return await self._plain(kind if kind in _PLAIN else None, schema, name, required=required)

    def _resolved(self, schema: JSON) -> Mapping[str, JSON]:
        """Return a schema with its reference followed; what says nothing takes any value."""
        if not isinstance(schema, Mapping):
            return {}
        found: Mapping[str, JSON] = schema
        for _ in range(_MOST_STEPS):
            if "$ref" in found:
                meant = resolve_reference(found["$ref"], self._root)
                rest = {key: value for key, value in found.items() if key != "$ref"}
                found = merge_schemas(meant if isinstance(meant, Mapping) else {}, rest)
            elif "allOf" in found:
                rest = {key: value for key, value in found.items() if key != "allOf"}
                found = reduce(
                    merge_schemas, (self._resolved(part) for part in found["allOf"]), rest
                )
            else:
                break
        kinds = found.get("type")
        return {**found, "type": kinds[0]} if isinstance(kinds, list) and len(kinds) == 1 else found

    async def _maybe(self, schema: Mapping[str, JSON], name: str) -> JSON:
        self._ask_for(schema, name, required=False)
        if not await self._yes(f"give {name}? y/n"):
            return _LEFT_OUT
        return await self._ask(schema, name, required=True)

    async def _object(self, schema: Mapping[str, JSON], name: str) -> dict[str, JSON]:
        if name:
            self._ask_for(schema, name, required=True)
        properties: Mapping[str, JSON] = schema.get("properties") or {}
        required = frozenset(schema.get("required") or ())
        found: dict[str, JSON] = {}
        for key, part in properties.items():
            place = f"{name}.{key}" if name else key
            value = await self._ask(part, place, required=key in required)
            if value is not _LEFT_OUT:
                found[key] = value
        more = schema.get("additionalProperties", not properties)
        if more is not False and (not properties or isinstance(more, Mapping)):
            await self._more(found, more, name)
        return found

    async def _more(self, found: dict[str, JSON], schema: JSON, name: str) -> None:
        """Fields that the schema does not name."""
        while key := (await self._line("further field, Enter for none")).strip():
            place = f"{name}.{key}" if name else key
            found[key] = await self._ask(schema, place, required=True)

    async def _list(self, schema: Mapping[str, JSON], name: str) -> list[JSON]:
        self._ask_for(schema, name or "list", required=True)
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        found: list[JSON] = []
        while most is None or len(found) < most:
            number = len(found) + 1
            if number > least and not await self._yes(f"item {number}? y/n"):
                break
            found.append(await self._ask(schema["items"], f"{name}[{number}]", required=True))
        return found

    async def _branch(
        self,
        branches: Sequence[Mapping[str, JSON]],
        schema: Mapping[str, JSON],
        name: str,
        *,
        required: bool,
    ) -> JSON:
        """Return one of several kinds of value, by number."""
        names = _distinct([_called(self._resolved(each)) for each in branches])
        chosen = await self._choice(names, schema, name, required=required)
        if chosen is _LEFT_OUT:
            return chosen
        branch = branches[names.index(chosen)]
        return await self._ask(branch, name or chosen, required=True)

    # --- questions --------------------------------------------------------------------------

    def _ask_for(self, schema: Mapping[str, JSON], name: str, *, required: bool) -> None:
        kind = schema.get("type")
        hints = [kind if isinstance(kind, str) else "", "" if required else "may be left out"]
        said = ", ".join(part for part in hints if part)
        words = schema.get("description") or schema.get("title") or ""
        line = f"\n{visible(name) or 'answer'}" + (f" ({said})" if said else "")
        self._terminal.say(line + (f": {visible(str(words))}" if words else ""))

    async def _choice(
        self, choices: Sequence[JSON], schema: Mapping[str, JSON], name: str, *, required: bool
    ) -> JSON:
        self._ask_for({**schema, "type": None}, name, required=required)
        shown = [each if isinstance(each, str) else json.dumps(each) for each in choices]
        for number, text in enumerate(shown, 1):
            self._terminal.say(f"  {number}  {visible(text)}")
        while True:
            said = (await self._line(f"1-{len(choices)}")).strip()
            if not said and not required:
                return _LEFT_OUT
            if said.isdecimal() and 1 <= int(said) <= len(choices):
                return choices[int(said) - 1]
            if said in shown:
                return choices[shown.index(said)]
            self._terminal.say("Give the number of a choice.")

    async def _plain(
        self, kind: str | None, schema: Mapping[str, JSON], name: str, *, required: bool
    ) -> JSON:
        """Return a text, number, truth, or a value as JSON; asked for until it fits by itself."""
        if kind == "null":
            return None
        self._ask_for(schema, name, required=required)
        known = {key: self._root[key] for key in ("$defs",) if key in self._root}
        checker = checker_for({**known, **schema})
        while True:
            said = await self._raw(kind, schema, required=required)
            if not said and not required:
                return _LEFT_OUT
            value = _parse_plain(kind, said)
            if value is not _LEFT_OUT and checker.fits(value):
                return value
            why = checker.message(said if value is _LEFT_OUT else value)
            self._terminal.say(f"{visible(why)}. Once more:")

    async def _raw(self, kind: str | None, schema: Mapping[str, JSON], *, required: bool) -> str:
        if kind != "string":
            hints = {"boolean": "y/n", "integer": "whole number", "number": "number"}
            return (await self._line(hints.get(kind or "", "value as JSON"))).strip()
        short = schema.get("maxLength", _ONE_LINE + 1) <= _ONE_LINE
        if short or "pattern" in schema or "format" in schema:
            return await self._line("one line")
        return await self._lines(required=required)

    async def text(self, name: str, *, required: bool) -> str:
        """Return a free text of any number of lines."""
        self._terminal.say(f"\n{name}:")
        while not (said := await self._lines(required=required)).strip() and required:
            self._terminal.say("Nothing was said. Once more:")
        return said.strip()

    async def _lines(self, *, required: bool) -> str:
        """Lines until one that holds a dot alone; or what an editor leaves."""
        none = "" if required else "; at once: it is left out"
        self._terminal.say(f"(lines; a dot alone ends them{none}; /edit opens $EDITOR)")
        first = await self._line("")
        if first.strip() == "/edit":
            return await self._edited(required=required)
        lines: list[str] = []
        line = first
        while line.strip() != ".":
            lines.append(line)
            line = await self._terminal.line("> ")
        return "\n".join(lines).strip("\n")

    async def _yes(self, question: str) -> bool:
        while True:
            said = (await self._line(question)).strip().lower()
            if said in _YES or said in _NO:
                return said in _YES
            self._terminal.say("Answer y or n.")

    async def _line(self, hint: str) -> str:
        """Return one line; commands in it are obeyed first."""
        while True:
            said = await self._terminal.line(f"{hint}> " if hint else "> ")
            command, _, rest = said.strip().partition(" ")
            if command == "/show":
                self._terminal.say(self._again())
            elif command == "/tool":
                self._wish(rest.strip())
            else:
                return said[1:] if said.startswith("//") else said

    def _wish(self, name: str) -> None:
        if name in self._tools:
            raise ToolRequest(self._tools[name])
        there = ", ".join(self._tools) or "none"
        self._terminal.say(f"There is no tool {visible(name)!r}; there are: {there}.")

    async def _edited(self, *, required: bool) -> str:
        """Return what the person wrote in the editor of their choice."""
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
        if not command:
            self._terminal.say("$EDITOR is not set.")
            return await self._lines(required=required)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "answer.txt"
            path.touch()
            try:
                process = await asyncio.create_subprocess_exec(*command, str(path))
            except OSError as error:
                self._terminal.say(f"{command[0]} cannot be started: {error.strerror}.")
                return await self._lines(required=required)
            await process.wait()
            return path.read_text(encoding="utf-8", errors="replace").strip("\n")


def _branches(schema: Mapping[str, JSON]) -> list[Mapping[str, JSON]]:
    """Return the kinds of value among which a person chooses."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return list(schema[key])
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return []
    rest = {key: value for key, value in schema.items() if key not in ("type", "description")}
    return [{**rest, "type": kind} for kind in kinds]


def _distinct(names: Sequence[str]) -> list[str]:
    return [
        name if names.count(name) == 1 else f"{name} ({place})"
        for place, name in enumerate(names, 1)
    ]


def _called(schema: Mapping[str, JSON]) -> str:
    named = schema.get("title") or schema.get("const") or schema.get("type") or "value"
    words = schema.get("description")
    return f"{named}: {words}" if words else str(named)


def _parse_plain(kind: str | None, said: str) -> JSON:
    """Return the value that a line says; ``_LEFT_OUT`` where it says none of this kind."""
    if kind == "string":
        return said
    if kind == "boolean":
        low = said.lower()
        return low in _YES if low in _YES | _NO else _LEFT_OUT
    try:
        return loads(said)
    except JSONError:
        return _LEFT_OUT
