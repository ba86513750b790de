"""What the tool results of a conversation show: a table's columns, and figures with their scope."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.prose import WORDS
from orglab.providers.structured_output.strict_json import JSONError, loads

_NUMERIC = ("int", "float", "double", "number", "numeric", "decimal", "real")
_FEW = 30
_MEASURES: Mapping[str, str] = {
    name: measure for measure, names in WORDS["measures"].items() for name in names
}
_PAIRED = frozenset({"pearson", "spearman"})
_VALUES = frozenset({"value", "r", "correlation", "coefficient"})
_DEPTH = 8
_LONGEST = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedFigure:
    """A figure that a tool gave.

    Attributes:
        measure: What was computed.
        columns: Of which columns; none for a count of rows.
        where: The condition that picked the rows, "" for all.
        value: The figure.
    """

    measure: str
    columns: tuple[str, ...]
    where: str
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedColumn:
    """A column that a tool named.

    Attributes:
        name: Its name.
        type: Its type as the tool gave it, "" where it gave none.
        distinct: How many different values it has; None where the tool didn't say.
    """

    name: str
    type: str = ""
    distinct: int | None = None

    @property
    def numeric(self) -> bool:
        """Return whether it holds numbers."""
        return any(sign in self.type.lower() for sign in _NUMERIC)

    @property
    def grouping(self) -> bool:
        """Return whether its values make few groups."""
        return self.distinct is not None and 1 < self.distinct <= _FEW


@dataclass(slots=True)
class ToolObservations:
    """What the tool results of a conversation show.

    Attributes:
        columns: Columns by name.
        figures: Figures, in order of appearance, each once.
        tools: Names of the tools that gave results.
    """

    columns: dict[str, ObservedColumn] = field(default_factory=dict)
    figures: list[ObservedFigure] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)

    @property
    def numeric(self) -> list[str]:
        """Return columns that hold numbers."""
        return [each.name for each in self.columns.values() if each.numeric]

    @property
    def grouping(self) -> list[str]:
        """Return columns whose values make few groups."""
        return [each.name for each in self.columns.values() if each.grouping]


def observe_tools(messages: Sequence[Message]) -> ToolObservations:
    """Return what the tool results among ``messages`` show."""
    observed = ToolObservations()
    results = list(_results(messages))
    for name, _, result in results:
        observed.tools.add(name)
        for column in _columns(result, 0):
            if column.type or column.name not in observed.columns:
                _learn(observed, column)
    for _, arguments, result in results:
        observed.figures += figures_in(arguments, result, observed.columns)
    observed.figures = list(dict.fromkeys(observed.figures))
    return observed


def _learn(observed: ToolObservations, column: ObservedColumn) -> None:
    known = observed.columns.get(column.name)
    if known is None or column.distinct is not None or not known.type:
        observed.columns[column.name] = column


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, Mapping[str, JSON], JSON]]:
    """Yield name, arguments and result of each tool call that did not fail."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        call = calls.get(message.tool_call_id or "") if message.role == "tool" else None
        result = read_result(message.content) if call else None
        if call and isinstance(result, dict) and "error" not in result:
            arguments = read_result(call.arguments)
            yield call.name, arguments if isinstance(arguments, dict) else {}, result


def _columns(value: JSON, depth: int) -> Iterator[ObservedColumn]:
    """Yield columns listed under a key ``columns``: names, ``{name, type}``, or a map of name to type."""
    if not isinstance(value, dict) or depth > _DEPTH:
        return
    listed = value.get("columns")
    if isinstance(listed, list):
        yield from filter(None, map(_column, listed))
    elif isinstance(listed, dict):
        yield from (
            ObservedColumn(name=name, type=kind)
            for name, kind in listed.items()
            if isinstance(kind, str)
        )
    for inner in value.values():
        yield from _columns(inner, depth + 1)


def _column(value: JSON) -> ObservedColumn | None:
    if isinstance(value, str):
        return ObservedColumn(name=value)
    if not isinstance(value, dict):
        return None
    name, distinct = value.get("name", value.get("column")), value.get("distinct")
    if not isinstance(name, str):
        return None
    few = distinct if type(distinct) is int else None
    return ObservedColumn(name=name, type=str(value.get("type", "")), distinct=few)


@lru_cache(maxsize=4096)
def read_result(text: str) -> JSON:
    """Return the value of a result's text, None if it is not JSON; do not change it.

    Cached, because every call of a conversation contains its results again.
    """
    try:
        return loads(text)
    except JSONError:
        return None


def quoted(name: str) -> str:
    """Return a column's name, quoted for a condition or a query."""
    return '"' + name.replace('"', '""') + '"'


def equals(name: str, value: JSON) -> str | None:
    """Return the condition that a column has a value; None if it cannot be written in short."""
    if isinstance(value, bool):
        return f"{quoted(name)} = {str(value).lower()}"
    if isinstance(value, int | float):
        return f"{quoted(name)} = {value}"
    if isinstance(value, str) and len(value) <= _LONGEST and "\n" not in value:
        return f"{quoted(name)} = '{value.replace(chr(39), chr(39) * 2)}'"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scope:
    """What is known of a figure from its place in a result."""

    columns: tuple[str, ...] = ()
    where: str = ""
    method: str = ""


def figures_in(
    arguments: Mapping[str, JSON], result: JSON, known: Container[str]
) -> Iterator[ObservedFigure]:
    """Yield the figures of one tool result.

    Args:
        arguments: What the tool was called with.
        result: What it gave.
        known: The table's columns.
    """
    where = arguments.get("where")
    scope = _Scope(where=where if isinstance(where, str) else "")
    return _walk(result, scope, known, 0)


def _walk(
    value: JSON, scope: _Scope, known: Container[str], depth: int
) -> Iterator[ObservedFigure]:
    if depth > _DEPTH or not isinstance(value, dict):
        return
    scope = _narrowed(value, scope, known)
    for key, inner in value.items():
        if isinstance(inner, list):
            for each in inner:
                if (part := _part(value, each, scope)) is not None:
                    yield from _walk(each, part, known, depth + 1)
        elif isinstance(inner, dict):
            yield from _walk(
                inner, replace(scope, columns=(key,)) if key in known else scope, known, depth + 1
            )
        elif (figure := _figure(key, inner, scope)) is not None:
            yield figure


def _narrowed(value: Mapping[str, JSON], scope: _Scope, known: Container[str]) -> _Scope:
    """Return the scope inside ``value``, which may name its columns and its measure."""
    pair = (value.get("x"), value.get("y"))
    named = pair if pair != (None, None) else (value.get("column", value.get("name")),)
    columns = tuple(name for name in named if isinstance(name, str) and name in known)
    columns = columns if len(columns) == len(named) else scope.columns
    method = value.get("method", value.get("measure"))
    return replace(
        scope, columns=columns, method=method if isinstance(method, str) else scope.method
    )


def _part(value: Mapping[str, JSON], each: JSON, scope: _Scope) -> _Scope | None:
    """Return the scope of one entry of a list: all rows, a group, or one value of a column."""
    if not isinstance(each, dict):
        return None
    if "group" in each:
        by = value.get("by")
        condition = equals(by, each["group"]) if isinstance(by, str) else None
        columns, method = scope.columns, scope.method
    elif "value" in each and "count" in each:
        condition = equals(scope.columns[0], each["value"]) if len(scope.columns) == 1 else None
        columns, method = (), ""
    else:
        return scope
    if condition is None:
        return None
    where = f"({scope.where}) and {condition}" if scope.where else condition
    return _Scope(columns=columns, where=where, method=method)


def _figure(key: str, value: JSON, scope: _Scope) -> ObservedFigure | None:
    measure = _MEASURES.get(scope.method.lower() if key in _VALUES else key)
    if measure is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    wanted = (0, 1) if measure == "count" else (2,) if measure in _PAIRED else (1,)
    if len(scope.columns) not in wanted:
        return None
    return ObservedFigure(measure=measure, columns=scope.columns, where=scope.where, value=value)
