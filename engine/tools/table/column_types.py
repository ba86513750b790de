"""Types of columns: what every cell of a column is, decided strictly and said in words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

from orglab.engine.spec.messages import nearest
from orglab.engine.tools.file_cache import TableError
from orglab.providers.base import ToolError

CellType: TypeAlias = Literal["boolean", "date", "integer", "number", "text", "timestamp"]
"""What a column holds. ``integer``: whole numbers, exact; ``number``: doubles; ``timestamp``:
microseconds, in UTC where the cells name an offset."""

Value: TypeAlias = bool | int | float | str | date | datetime | None
"""A cell; None where it is missing."""

_Kind: TypeAlias = Literal[
    "boolean", "code", "date", "infinite", "integer", "number", "text", "timestamp", "utc"
]

_LARGEST = 2**127 - 1  # the largest whole number of the database
_EXACT = 2**53  # beyond it, doubles skip whole numbers

_LONGEST = 400  # characters of a number; more is no number, and `int` refuses thousands

_SHOWN = 40  # columns that an error names

_BOOLEAN = re.compile(r"true|false|True|False|TRUE|FALSE")
_INFINITE = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    rf"{_DATE.pattern}[T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?"
    r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
)
_NUMBERS = {
    mark: re.compile(rf"[+-]?([0-9]+([{mark}][0-9]*)?|[{mark}][0-9]+)([eE][+-]?[0-9]+)?")
    for mark in ".,"
}
_CODE = re.compile(r"[+]|-?0[0-9]")

_NUMERIC: frozenset[_Kind] = frozenset({"integer", "number", "infinite"})
_NARROWEST: tuple[tuple[CellType, frozenset[_Kind]], ...] = (
    ("boolean", frozenset({"boolean"})),
    ("integer", frozenset({"integer"})),
    ("number", _NUMERIC),
    ("date", frozenset({"date"})),
    ("timestamp", frozenset({"timestamp"})),
    ("timestamp", frozenset({"utc"})),
)
_DECLARED: dict[CellType, frozenset[_Kind]] = {
    "boolean": frozenset({"boolean"}),
    "integer": frozenset({"integer", "code"}),
    "number": _NUMERIC | {"code"},
    "date": frozenset({"date"}),
    "timestamp": frozenset({"timestamp", "utc", "date"}),
}
_FAMILIES: dict[str, frozenset[_Kind]] = {
    "numbers": _NUMERIC | {"code"},
    "ISO dates": frozenset({"date"}),
    "ISO times without an offset": frozenset({"timestamp"}),
    "ISO times with an offset": frozenset({"utc"}),
    "true or false": frozenset({"boolean"}),
}


class ParsedCell(NamedTuple):
    """One cell, read: its kind, its value, and what a text column keeps of it."""

    kind: _Kind
    value: Value
    text: str


CellParser: TypeAlias = Callable[[Any], ParsedCell | None]
"""Reads one cell; None: it is missing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of a table, immutable.

    Attributes:
        name: Its name.
        type: What every present cell is.
        values: The cells in row order; None where missing.
        missing: How many are missing.
        distinct: How many different values are present.
        notes: What a reader must know of it, in words.
    """

    name: str
    type: CellType
    values: tuple[Value, ...]
    missing: int
    distinct: int
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Its cells are numbers."""
        return self.type in ("integer", "number")


def read_text(decimal: str, missing: Collection[str]) -> CellParser:
    """Return a reader of text cells; it gives None for a cell that is missing.

    Args:
        decimal: The decimal mark, ``.`` or ``,``.
        missing: Texts that mean missing, beside the empty cell and one of spaces alone.
    """
    absent = {"", *missing}
    known: dict[str, ParsedCell | None] = {}

    def read(cell: str) -> ParsedCell | None:
        if cell not in known:
            text = cell.strip()
            gone = text in absent or cell in absent
            known[cell] = None if gone else ParsedCell(*_parse_text(text, decimal), cell)
        return known[cell]

    return read


def _parse_text(text: str, decimal: str) -> tuple[_Kind, Value]:
    if found := _number(text, decimal):
        return found
    if _BOOLEAN.fullmatch(text):
        return "boolean", text.lower() == "true"
    if infinite := _INFINITE.fullmatch(text):
        return "infinite", -math.inf if infinite[1] == "-" else math.inf
    return _moment(text) or ("text", text)


def _number(text: str, decimal: str) -> tuple[_Kind, Value] | None:
    """Return a number, or digits that a number would not keep: leading zeros, a plus, too many."""
    if len(text) > _LONGEST or not _NUMBERS[decimal].fullmatch(text):
        return None
    whole = text.lstrip("+-").isdigit()
    value = int(text) if whole else float(text.replace(decimal, "."))
    if abs(value) > _LARGEST if whole else not math.isfinite(value):
        return "code", None
    if _CODE.match(text):
        return "code", value
    return "integer" if whole else "number", value


def _moment(text: str) -> tuple[_Kind, Value] | None:
    try:
        if _DATE.fullmatch(text):
            return "date", date.fromisoformat(text)
        if _TIMESTAMP.fullmatch(text):
            return _timestamp_kind(datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # 30 February, or an offset that leaves the calendar
        return None
    return None


def _timestamp_kind(moment: datetime) -> tuple[_Kind, Value]:
    if moment.tzinfo is None:
        return "timestamp", moment
    return "utc", moment.astimezone(UTC).replace(tzinfo=None)


def read_value(cell: object) -> ParsedCell | None:
    """Return a typed cell (of JSONL or Parquet); None for NaN. Texts stay texts, or are ISO dates."""
    if isinstance(cell, bool):
        return ParsedCell("boolean", cell, "true" if cell else "false")
    if isinstance(cell, int):
        fits = abs(cell) <= _LARGEST
        return ParsedCell("integer" if fits else "code", cell if fits else None, str(cell))
    if isinstance(cell, float | Decimal):
        value = float(cell)
        kind: _Kind = "number" if math.isfinite(value) else "infinite"
        return None if math.isnan(value) else ParsedCell(kind, value, str(cell))
    if isinstance(cell, datetime):
        return ParsedCell(*_timestamp_kind(cell), cell.isoformat())
    if isinstance(cell, date):
        return ParsedCell("date", cell, cell.isoformat())
    text = str(cell)
    return ParsedCell(*(_moment(text) or ("text", text)), text)


def make_column(
    name: str,
    cells: Sequence[Any],
    read: CellParser,
    *,
    declared: CellType | None = None,
    lines: Sequence[int] = (),
) -> Column:
    """Return a column with a type: the declared one, or the narrowest that all its cells have.

    Args:
        name: The column's name.
        cells: Its cells as the file holds them; None where there is none.
        read: Reads one cell.
        declared: The type its author declares.
        lines: The line of each cell, for errors.

    Raises:
        TableError: A cell is not of the declared type.
    """
    reads = [None if cell is None else read(cell) for cell in cells]
    kinds = Counter(one.kind for one in reads if one is not None)
    if declared is not None:
        _check_declared(name, declared, reads, lines)
    chosen = declared or _narrowest(kinds)
    values = tuple(None if one is None else _typed_value(one, chosen) for one in reads)
    return Column(
        name=name,
        type=chosen,
        values=values,
        missing=values.count(None),
        distinct=len(set(values) - {None}),
        notes=tuple(_notes(name, chosen, kinds, reads)) if declared is None else (),
    )


def _typed_value(one: ParsedCell, chosen: CellType) -> Value:
    if chosen == "text":
        return one.text
    if chosen == "number":
        return float(one.value)  # type: ignore[arg-type]  # its kind is one of numbers
    if chosen == "timestamp" and not isinstance(one.value, datetime):
        return datetime.combine(one.value, datetime.min.time())  # type: ignore[arg-type]  # a date
    return one.value


def _narrowest(kinds: Mapping[_Kind, int]) -> CellType:
    if kinds and kinds.keys() != {"infinite"}:
        for chosen, allowed in _NARROWEST:
            if kinds.keys() <= allowed:
                return chosen
    return "text"


def _check_declared(
    name: str, declared: CellType, reads: Sequence[ParsedCell | None], lines: Sequence[int]
) -> None:
    if declared == "text":
        return
    allowed = _DECLARED[declared]
    for place, one in enumerate(reads):
        if one is not None and (one.kind not in allowed or not _declared_fits(one, declared)):
            line = lines[place] if lines else place + 1
            raise TableError(
                f"line {line}: `{one.text[:40]}` in column `{name}` is not of type {declared}, "
                "which `columns:` declares"
            )


def _declared_fits(one: ParsedCell, declared: CellType) -> bool:
    return one.value is not None and not (declared == "integer" and isinstance(one.value, float))


def _notes(
    name: str, chosen: CellType, kinds: Mapping[_Kind, int], reads: Sequence[ParsedCell | None]
) -> Iterator[str]:
    if chosen == "text":
        yield from _mixed_note(name, kinds, [one for one in reads if one is not None])
    if kinds.get("utc") and chosen == "timestamp":
        yield f"`{name}`: times are given in UTC"
    if kinds.get("infinite") and chosen == "number":
        yield f"`{name}`: {kinds['infinite']} values are infinite; figures leave them out"
    if chosen == "number" and (
        inexact := sum(one is not None and _inexact(one.value) for one in reads)
    ):
        yield f"`{name}`: {inexact} whole numbers beyond 2^53 are rounded to doubles"


def _inexact(value: Value) -> bool:
    return isinstance(value, int) and abs(value) > _EXACT and int(float(value)) != value


def _mixed_note(
    name: str, kinds: Mapping[_Kind, int], present: Sequence[ParsedCell]
) -> Iterator[str]:
    """Yield why a column that looks like another type is text."""
    if kinds.get("code", 0) == len(present) > 0:
        yield (
            f"`{name}` is kept as text: its digits have leading zeros or plus signs, or are too "
            "many for a number"
        )
        return
    for words, family in _FAMILIES.items():
        count = sum(kinds.get(kind, 0) for kind in family)
        if 0 < count < len(present):
            others = Counter(one.text for one in present if one.kind not in family)
            yield (
                f"`{name}` is kept as text: {count:,} of {len(present):,} values are {words}, "
                f"{_others(others, few=count * 2 > len(present))}"
            )


def _others(others: Mapping[str, int], *, few: bool) -> str:
    text, times = max(others.items(), key=lambda pair: pair[1])
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    said = f"the others are not, such as {shown!r} ({times:,} times)"
    if few and len(others) <= 3:
        listed = ", ".join(f'"{one}"' for one in others)
        said += f"; if that means missing, set `missing: [{listed}]`"
    return said


def columns_are(columns: Mapping[str, Column]) -> str:
    """Return the columns' names in words."""
    shown = ", ".join(f"`{name}`" for name in list(columns)[:_SHOWN])
    more = len(columns) - _SHOWN
    return f"Columns: {shown}" + (f" and {more} more" if more > 0 else "")


def find_column(columns: Mapping[str, Column], name: str) -> Column:
    """Return the column called ``name``, whatever the case of its letters.

    Raises:
        ToolError: There is none; the text names the nearest and all others.
    """
    if name in columns:
        return columns[name]
    for one in columns.values():  # names differ whatever their case
        if one.name.lower() == name.strip().lower():
            return one
    like = nearest(name, columns)
    hint = f", did you mean `{like}`?" if like else "."
    raise ToolError(f"no column `{name[:80]}`{hint} {columns_are(columns)}")
