"""Tool calls of a simulated model: which tool is next, and its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orglab.providers.base import JSON, ToolCall, ToolDefinition
from orglab.providers.simulated.call_context import CallContext
from orglab.providers.simulated.claims import stated_claims, subject_words
from orglab.providers.simulated.schema_sampler import (
    LEAVE_OUT,
    NOTHING,
    NoSampleError,
    SchemaSampler,
)
from orglab.providers.simulated.tool_observations import quoted
from orglab.providers.structured_output.strict_json import spaced

_LOOKS = re.compile(r"schema|columns|specification|listing", re.IGNORECASE)
_TABLE = re.compile(r"(?:\bFROM\s+|table\s+[`\"'])([A-Za-z_]\w*)")
_COLUMN = re.compile(r"column|field|by|x|y|group_by|of", re.IGNORECASE)
_COLUMNS = re.compile(r"columns|fields|names", re.IGNORECASE)
_WHERE = re.compile(r"where|filter|condition", re.IGNORECASE)
_SQL = re.compile(r"sql|statement", re.IGNORECASE)
_RECORD = re.compile(r"id|record|key", re.IGNORECASE)
_SEARCH = re.compile(r"query|search|keywords|terms", re.IGNORECASE)
_CLAIM = re.compile(r"claim|statement", re.IGNORECASE)
_CONDITIONS = 0.25
_GROUPED = 0.3


def wants_tool(context: CallContext) -> bool:
    """Return whether the model calls a tool now: a first look, then a geometric number a turn."""
    request, profile = context.request, context.profile
    if request.must_answer or not request.tools:
        return False
    made = 0
    for message in reversed(request.messages):
        if message.role == "user":
            break
        made += message.role == "tool"
    mean = profile.tool_calls.mean
    chance = mean / (mean + 1.0) if made or context.observed.tools else profile.looks_first
    return made < profile.tool_calls.max and context.stream.chance(chance)


def choose_call(context: CallContext) -> ToolCall | None:
    """Return a call of one of the request's tools; None if no arguments fit any."""
    labels = context.request.labels
    for tool in _order(context):
        arguments = _arguments(tool, context)
        if arguments is not None:
            name = f"call_{labels.visit}_{labels.call}"
            return ToolCall(id=name, name=tool.name, arguments=spaced(arguments))
    return None


def _order(context: CallContext) -> list[ToolDefinition]:
    """Return the tools by preference: first, once, one that shows columns or a listing."""
    stream, observed = context.stream, context.observed
    order = stream.shuffled(context.request.tools)
    first = [tool for tool in order if _LOOKS.search(tool.name)]
    rest = [tool for tool in order if tool not in first]
    unseen = any(tool.name not in observed.tools for tool in first)
    looks = unseen and not observed.columns and stream.chance(context.profile.looks_first)
    return first + rest if looks else rest + first


def _arguments(tool: ToolDefinition, context: CallContext) -> JSON:
    hints, stream = _ArgumentHints(tool, context), context.stream
    sampler = SchemaSampler(
        tool.parameters, stream, context.prose, hint=hints, optional=1.0, words=lambda: 3
    )
    try:
        return sampler.sample()
    except NoSampleError:
        return None


class _ArgumentHints:
    """Values for the arguments of one call of one tool."""

    def __init__(self, tool: ToolDefinition, context: CallContext) -> None:
        self._tool = tool
        self._context = context
        self._observed, self._stream = context.observed, context.stream
        self._required = frozenset(tool.parameters.get("required", ()))
        self._used: set[str] = set()

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        if "enum" in schema:
            return NOTHING if self._kept(name) else LEAVE_OUT
        if _RECORD.fullmatch(name) and name not in self._required:
            return LEAVE_OUT
        if schema.get("type") == "string" and (words := self._query_text(name)):
            return words[: schema.get("maxLength", len(words))]
        if _WHERE.fullmatch(name):
            return self._condition()
        if _SQL.fullmatch(name) and (table := self._table(schema)):
            return self._query(table)
        if _COLUMNS.fullmatch(name) and schema.get("type") == "array" and self._observed.columns:
            return [self._column(name, schema), self._column(name, schema)]
        if _COLUMN.fullmatch(name) and schema.get("type", "string") == "string":
            return (
                self._grouping(name) if name in ("by", "group_by") else self._column(name, schema)
            )
        return NOTHING if self._kept(name) else LEAVE_OUT

    def _query_text(self, name: str) -> str:
        """Return words to search for, or a claim to check; "" for other arguments."""
        if _SEARCH.fullmatch(name) and not _SQL.search(self._tool.description):
            return self._stream.pick(subject_words(self._context.request.messages))
        if _CLAIM.fullmatch(name):
            claims = stated_claims(self._context.request.messages)
            return self._stream.pick(claims) if claims else ""
        return ""

    def _kept(self, name: str) -> bool:
        return name in self._required or self._stream.chance(self._context.profile.optional)

    def _grouping(self, name: str) -> JSON:
        if name not in self._required and not self._stream.chance(_GROUPED):
            return LEAVE_OUT
        return self._context.column(self._observed.grouping or list(self._observed.columns))

    def _column(self, name: str, schema: Mapping[str, JSON]) -> str:
        """Return a column that suits the argument: numeric for figures, else one with few values."""
        about = f"{schema.get('description', '')} {self._tool.description}".lower()
        every = list(self._observed.columns)
        numeric = name in ("x", "y") or "numeric" in about or "figure" in about
        fitting = (
            self._observed.numeric
            if numeric
            else self._observed.grouping
            if "how often" in about
            else every
        )
        left = [each for each in fitting or every if each not in self._used]
        chosen = self._context.column(left or fitting or every)
        self._used.add(chosen)
        return chosen

    def _condition(self) -> JSON:
        """Return a condition on rows around an earlier figure; mostly none."""
        middles = [each for each in self._observed.figures if each.measure in ("mean", "median")]
        middles = [each for each in middles if not each.where]
        if not middles or not self._stream.chance(_CONDITIONS):
            return LEAVE_OUT
        figure = self._stream.pick(middles)
        sign = self._stream.pick((">", "<="))
        return f"{quoted(figure.columns[0])} {sign} {figure.value}"

    def _table(self, schema: Mapping[str, JSON]) -> str | None:
        found = _TABLE.search(f"{schema.get('description', '')} {self._tool.description}")
        return found.group(1) if found else None

    def _query(self, table: str) -> str:
        if not self._observed.columns:
            return f"SELECT count(*) AS n FROM {table}"  # noqa: S608 - a model's query, for a guarded tool
        by = quoted(self._context.column(self._observed.grouping or list(self._observed.columns)))
        return f"SELECT {by}, count(*) AS n FROM {table} GROUP BY {by} ORDER BY n DESC LIMIT 10"  # noqa: S608 - as above
