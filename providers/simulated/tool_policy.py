"""Which tool a simulated model calls next, and with what: real columns, once a tool has shown them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orglab.providers.base import JSON, Request, ToolCall, ToolDefinition
from orglab.providers.simulated.claims import stated_claims, subject_words
from orglab.providers.simulated.profile import Profile
from orglab.providers.simulated.prose import Prose
from orglab.providers.simulated.random_stream import Draws
from orglab.providers.simulated.schema_sampler import (
    LEAVE_OUT,
    NOTHING,
    CannotInventError,
    Inventor,
)
from orglab.providers.simulated.seen_figures import quoted
from orglab.providers.simulated.tool_observations import Sightings
from orglab.providers.structured_output.strict_json import spaced

__all__ = ["choose_call", "column_name", "wants_tool"]

_LOOKS = re.compile(r"schema|columns|specification|listing", re.IGNORECASE)
_TABLE = re.compile(r"(?:\bFROM\s+|table\s+[`\"'])([A-Za-z_]\w*)")
_COLUMN = re.compile(r"column|field|by|x|y|group_by|of", re.IGNORECASE)
_COLUMNS = re.compile(r"columns|fields|names", re.IGNORECASE)
_WHERE = re.compile(r"where|filter|condition", re.IGNORECASE)
_SQL = re.compile(r"sql|statement", re.IGNORECASE)
_FOREIGN = ("customer_age", "satisfaction", "region_code", "team_size", "discount", "churn_rate")
_RECORD = re.compile(r"id|record|key", re.IGNORECASE)
_SEARCH = re.compile(r"query|search|keywords|terms", re.IGNORECASE)
_CLAIM = re.compile(r"claim|statement", re.IGNORECASE)
_CONDITIONS = 0.25
_GROUPED = 0.3


def wants_tool(request: Request, seen: Sightings, draws: Draws, profile: Profile) -> bool:
    """Whether the model calls a tool now: a first look, then a geometric number of calls a turn."""
    if request.must_answer or not request.tools:
        return False
    made = 0
    for message in reversed(request.messages):
        if message.role == "user":
            break
        made += message.role == "tool"
    mean = profile.tool_calls.mean
    chance = mean / (mean + 1.0) if made or seen.tools else profile.looks_first
    return made < profile.tool_calls.max and draws.chance(chance)


def choose_call(
    request: Request, seen: Sightings, draws: Draws, prose: Prose, profile: Profile
) -> ToolCall | None:
    """A call of one of the tools on offer; None where no arguments can be made for any."""
    for tool in _order(request.tools, seen, draws, profile):
        arguments = _arguments(tool, request, seen, draws, prose, profile)
        if arguments is not None:
            name = f"call_{request.labels.visit}_{request.labels.call}"
            return ToolCall(id=name, name=tool.name, arguments=spaced(arguments))
    return None


def _order(
    tools: tuple[ToolDefinition, ...], seen: Sightings, draws: Draws, profile: Profile
) -> list[ToolDefinition]:
    """The tools in the order of preference: first, once, what shows columns or a listing."""
    order = draws.shuffled(tools)
    first = [tool for tool in order if _LOOKS.search(tool.name)]
    rest = [tool for tool in order if tool not in first]
    unseen = any(tool.name not in seen.tools for tool in first)
    looks = unseen and not seen.columns and draws.chance(profile.looks_first)
    return first + rest if looks else rest + first


def _arguments(
    tool: ToolDefinition,
    request: Request,
    seen: Sightings,
    draws: Draws,
    prose: Prose,
    profile: Profile,
) -> JSON:
    hints = _ArgumentHints(tool, request, seen, draws, profile)
    inventor = Inventor(tool.parameters, draws, prose, hint=hints, optional=1.0, words=lambda: 3)
    try:
        return inventor.value()
    except CannotInventError:
        return None


def column_name(known: list[str], draws: Draws, profile: Profile) -> str:
    """One of ``known``; now and then, by the profile, a name that is in no table."""
    if not known or draws.chance(profile.foreign_columns):
        return draws.pick(_FOREIGN)
    return draws.pick(known)


class _ArgumentHints:
    """Values for the arguments of one call of one tool."""

    def __init__(
        self,
        tool: ToolDefinition,
        request: Request,
        seen: Sightings,
        draws: Draws,
        profile: Profile,
    ) -> None:
        self._tool = tool
        self._request = request
        self._seen = seen
        self._draws = draws
        self._profile = profile
        self._required = frozenset(tool.parameters.get("required", ()))
        self._used: set[str] = set()

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        if "enum" in schema:
            return NOTHING if self._kept(name) else LEAVE_OUT
        if _RECORD.fullmatch(name) and name not in self._required:
            return LEAVE_OUT
        if schema.get("type") == "string" and (words := self._words(name)):
            return words[: schema.get("maxLength", len(words))]
        if _WHERE.fullmatch(name):
            return self._condition()
        if _SQL.fullmatch(name) and (table := self._table(schema)):
            return self._query(table)
        if _COLUMNS.fullmatch(name) and schema.get("type") == "array" and self._seen.columns:
            return [self._column(name, schema), self._column(name, schema)]
        if _COLUMN.fullmatch(name) and schema.get("type", "string") == "string":
            return (
                self._grouping(name) if name in ("by", "group_by") else self._column(name, schema)
            )
        return NOTHING if self._kept(name) else LEAVE_OUT

    def _words(self, name: str) -> str:
        """Words to search for, or a claim to check, out of what was said; "" for other arguments."""
        if _SEARCH.fullmatch(name) and not _SQL.search(self._tool.description):
            return self._draws.pick(subject_words(self._request.messages))
        if _CLAIM.fullmatch(name):
            claims = stated_claims(self._request.messages)
            return self._draws.pick(claims) if claims else ""
        return ""

    def _kept(self, name: str) -> bool:
        return name in self._required or self._draws.chance(self._profile.optional)

    def _grouping(self, name: str) -> JSON:
        if name not in self._required and not self._draws.chance(_GROUPED):
            return LEAVE_OUT
        return column_name(
            self._seen.grouping or list(self._seen.columns), self._draws, self._profile
        )

    def _column(self, name: str, schema: Mapping[str, JSON]) -> str:
        """A column that suits the argument: numeric for figures, else one with few values."""
        about = f"{schema.get('description', '')} {self._tool.description}".lower()
        every = list(self._seen.columns)
        numeric = name in ("x", "y") or "numeric" in about or "figure" in about
        fitting = (
            self._seen.numeric
            if numeric
            else self._seen.grouping
            if "how often" in about
            else every
        )
        left = [each for each in fitting or every if each not in self._used]
        chosen = column_name(left or fitting or every, self._draws, self._profile)
        self._used.add(chosen)
        return chosen

    def _condition(self) -> JSON:
        """A condition on rows that an earlier figure suggests; mostly none."""
        middles = [each for each in self._seen.figures if each.measure in ("mean", "median")]
        middles = [each for each in middles if not each.where]
        if not middles or not self._draws.chance(_CONDITIONS):
            return LEAVE_OUT
        figure = self._draws.pick(middles)
        sign = self._draws.pick((">", "<="))
        return f"{quoted(figure.columns[0])} {sign} {figure.value}"

    def _table(self, schema: Mapping[str, JSON]) -> str | None:
        found = _TABLE.search(f"{schema.get('description', '')} {self._tool.description}")
        return found.group(1) if found else None

    def _query(self, table: str) -> str:
        if not self._seen.columns:
            return f"SELECT count(*) AS n FROM {table}"  # noqa: S608 - a model's query, for a guarded tool
        by = quoted(
            column_name(self._seen.grouping or list(self._seen.columns), self._draws, self._profile)
        )
        return f"SELECT {by}, count(*) AS n FROM {table} GROUP BY {by} ORDER BY n DESC LIMIT 10"  # noqa: S608 - as above
