"""What tool results in a conversation have shown: a table's columns, and figures of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.seen_figures import Figure, figures_in
from orglab.providers.simulated.tool_results import read_result

__all__ = ["SeenColumn", "Sightings", "sightings"]

_NUMERIC = ("int", "float", "double", "number", "numeric", "decimal", "real")
_FEW = 30
_DEPTH = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenColumn:
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
        """It holds numbers."""
        return any(sign in self.type.lower() for sign in _NUMERIC)

    @property
    def grouping(self) -> bool:
        """Its values make few groups."""
        return self.distinct is not None and 1 < self.distinct <= _FEW


@dataclass(slots=True)
class Sightings:
    """Everything seen.

    Attributes:
        columns: Columns by name.
        figures: Figures, in the order in which they were seen, each once.
        tools: Names of the tools that gave results.
    """

    columns: dict[str, SeenColumn] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)

    @property
    def numeric(self) -> list[str]:
        """Columns that hold numbers."""
        return [each.name for each in self.columns.values() if each.numeric]

    @property
    def grouping(self) -> list[str]:
        """Columns whose values make few groups."""
        return [each.name for each in self.columns.values() if each.grouping]


def sightings(messages: Sequence[Message]) -> Sightings:
    """What the tool results among ``messages`` show."""
    seen = Sightings()
    results = list(_results(messages))
    for name, _, result in results:
        seen.tools.add(name)
        for column in _columns(result, 0):
            if column.type or column.name not in seen.columns:
                _learn(seen, column)
    for _, arguments, result in results:
        seen.figures += figures_in(arguments, result, seen.columns)
    seen.figures = list(dict.fromkeys(seen.figures))
    return seen


def _learn(seen: Sightings, column: SeenColumn) -> None:
    known = seen.columns.get(column.name)
    if known is None or column.distinct is not None or not known.type:
        seen.columns[column.name] = column


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, Mapping[str, JSON], JSON]]:
    """Name, arguments and result of each tool call that gave a result and no error."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        call = calls.get(message.tool_call_id or "") if message.role == "tool" else None
        result = read_result(message.content) if call else None
        if call and isinstance(result, dict) and "error" not in result:
            arguments = read_result(call.arguments)
            yield call.name, arguments if isinstance(arguments, dict) else {}, result


def _columns(value: JSON, depth: int) -> Iterator[SeenColumn]:
    """Columns listed under a key ``columns``: names, ``{name, type}``, or a map of name to type."""
    if not isinstance(value, dict) or depth > _DEPTH:
        return
    listed = value.get("columns")
    if isinstance(listed, list):
        yield from filter(None, map(_column, listed))
    elif isinstance(listed, dict):
        yield from (
            SeenColumn(name=name, type=kind)
            for name, kind in listed.items()
            if isinstance(kind, str)
        )
    for inner in value.values():
        yield from _columns(inner, depth + 1)


def _column(value: JSON) -> SeenColumn | None:
    if isinstance(value, str):
        return SeenColumn(name=value)
    if not isinstance(value, dict):
        return None
    name, distinct = value.get("name", value.get("column")), value.get("distinct")
    if not isinstance(name, str):
        return None
    few = distinct if type(distinct) is int else None
    return SeenColumn(name=name, type=str(value.get("type", "")), distinct=few)
