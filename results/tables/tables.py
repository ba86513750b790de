"""A study as tidy tables: one row a thing, the run's arm, unit and replicate on every row.

``docs/reference/store.md`` lists every column. Rows are made one after another, so that a table of any length
can be written to a file; ``frame`` makes a pandas table of all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import escape_surrogates, loads_stored
from orglab.results.store.journal.history import answering, outputs_of, verdicts_of
from orglab.results.store.reader import Reader, RunRow

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = str
"""``text``, ``integer``, ``number``, ``boolean`` or ``json``."""
Row: TypeAlias = Sequence[JSON]


class ExportColumn(NamedTuple):
    """A column of a tidy table."""

    name: str
    kind: Kind


def _columns(kinds: Mapping[Kind, str]) -> dict[str, Kind]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


def _table_columns(order: str, **kinds: str) -> tuple[ExportColumn, ...]:
    known = _columns(kinds)
    return tuple(ExportColumn(name, known.get(name, "text")) for name in order.split())


_RUN = "run arm unit replicate "

TABLES: Mapping[str, tuple[ExportColumn, ...]] = {
    "runs": _table_columns(
        _RUN + "seed spec ordinal status reason answer last turns loops forced calls tool_calls "
        "tokens_input tokens_output cost_usd priced_usd unpriced service_seconds waiting_seconds "
        "seconds simulated asked_again retries started ended inputs extra",
        integer="replicate seed ordinal turns loops forced calls tool_calls tokens_input "
        "tokens_output unpriced asked_again retries",
        number="cost_usd priced_usd service_seconds waiting_seconds seconds",
        boolean="simulated",
        json="inputs extra",
    ),
    "outputs": _table_columns(
        _RUN + "output role copy visit tick fate forced unreviewed is_answer text value",
        integer="replicate visit tick",
        boolean="forced unreviewed is_answer",
        json="value",
    ),
    "verdicts": _table_columns(
        _RUN + "number link superior output copy by action reason suggestion target phase obliged "
        "forced used cap",
        integer="replicate number phase used cap",
        boolean="obliged forced",
    ),
    "calls": _table_columns(
        _RUN + "position identity copy role purpose visit provider model served stop error "
        "tokens_input tokens_output tokens_cached tokens_reasoning cost_usd service_seconds "
        "waiting_seconds attempts cut reserved_usd simulated seed params messages tools schema text reasoning more",
        integer="replicate visit tokens_input tokens_output tokens_cached tokens_reasoning "
        "attempts cut seed",
        number="cost_usd reserved_usd service_seconds waiting_seconds",
        boolean="simulated",
        json="params messages more",
    ),
    "tool_calls": _table_columns(
        _RUN + "position copy role visit tool arguments result error refused seconds prompt",
        integer="replicate visit",
        number="seconds",
        boolean="error prompt",
        json="arguments result",
    ),
    "scores": _table_columns(
        _RUN + "evaluator arguments name scale value label passed reason detail",
        integer="replicate",
        number="value",
        boolean="passed",
        json="detail",
    ),
    "evaluations": _table_columns(_RUN + "evaluator arguments error", integer="replicate"),
    "events": _table_columns(
        _RUN + "seq tick kind body", integer="replicate seq tick", json="body"
    ),
    "blobs": _table_columns("hash text"),
}
"""Tables by name, with their columns in order."""


def rows(reader: Reader, table: str) -> Iterator[Row]:
    """Yield the rows of a table; values in ``json`` columns are plain data.

    Raises:
        KeyError: There is no such table.
    """
    return _MAKERS[table](reader)


def _of_run(row: RunRow) -> tuple[JSON, ...]:
    return (row.id, row.arm, row.unit, row.replicate)


def _runs(reader: Reader) -> Iterator[Row]:
    names = [column.name for column in TABLES["runs"]][4:-2]
    for row in reader.runs():
        inputs, extra = reader.inputs(row.run)
        yield (*_of_run(row), *[getattr(row, name) for name in names], inputs, extra)


def _outputs(reader: Reader) -> Iterator[Row]:
    for row in reader.runs():
        outputs = outputs_of(reader.events(row.run))
        answers = {output.id for output in answering(row.answer, outputs)}
        for output in outputs:
            yield (
                *_of_run(row),
                *(output.id, output.role, output.copy, output.visit, output.tick, output.fate),
                *(output.forced, output.unreviewed, output.id in answers),
                *(escape_surrogates(output.text), output.value),
            )


def _verdicts(reader: Reader) -> Iterator[Row]:
    names = [column.name for column in TABLES["verdicts"]][5:]
    for row in reader.runs():
        for number, verdict in enumerate(verdicts_of(reader.events(row.run))):
            values = [getattr(verdict, name) for name in names]
            yield (*_of_run(row), number, *map(_clean, values))


def _events(reader: Reader) -> Iterator[Row]:
    for row in reader.runs():
        for event in reader.events(row.run):
            yield (*_of_run(row), event.seq, event.tick, event.kind, event.body)


def _from_sql(reader: Reader, table: str, names: str, where: str = "") -> Iterator[sqlite3.Row]:
    sql = f"""SELECT r.id, r.arm, r.unit, r.replicate, {names} FROM {table} t
              JOIN runs r USING (run) {where} ORDER BY t.run"""  # noqa: S608 - constants
    return reader.rows(sql)


def _calls(reader: Reader) -> Iterator[Row]:
    names = [column.name for column in TABLES["calls"]][4:-3]
    sql = ", ".join(f"t.{name}" for name in names)
    kinds = {column.name: column.kind for column in TABLES["calls"]}
    for row in _from_sql(reader, "calls", f"{sql}, t.reply", "WHERE superseded=0"):
        reply = loads_stored(row["reply"])
        text, reasoning = reply.pop("text", ""), reply.pop("reasoning", "")
        values = [_typed(row[name], kinds[name]) for name in names]
        yield (
            *tuple(row)[:4],
            *values,
            escape_surrogates(text),
            escape_surrogates(reasoning),
            reply,
        )


def _plain_table(table: str, where: str = "") -> Callable[[Reader], Iterator[Row]]:
    columns = TABLES[table][4:]
    sql = ", ".join(f"t.{column.name}" for column in columns)

    def make(reader: Reader) -> Iterator[Row]:
        for row in _from_sql(reader, table, sql, where):
            values = zip(tuple(row)[4:], columns, strict=True)
            yield (*tuple(row)[:4], *[_typed(value, column.kind) for value, column in values])

    return make


def _blobs(reader: Reader) -> Iterator[Row]:
    for row in reader.rows("SELECT hash, text FROM blobs ORDER BY id"):
        yield tuple(row)


def _typed(value: JSON, kind: Kind) -> JSON:
    if value is None:
        return None
    if kind == "boolean":
        return bool(value)
    return loads_stored(value) if kind == "json" else value


def _clean(value: JSON) -> JSON:
    return escape_surrogates(value) if isinstance(value, str) else value


_MAKERS: Mapping[str, Callable[[Reader], Iterator[Row]]] = {
    "runs": _runs,
    "outputs": _outputs,
    "verdicts": _verdicts,
    "calls": _calls,
    "tool_calls": _plain_table("tool_calls", "WHERE superseded=0"),
    "scores": _plain_table("scores"),
    "evaluations": _plain_table("evaluations"),
    "events": _events,
    "blobs": _blobs,
}

_DTYPES = {
    "text": "string",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "boolean",
    "json": "object",
}
"""pandas' type of each kind."""


def frame(reader: Reader, table: str) -> pd.DataFrame:
    """Read a table as a pandas frame: missing is ``NA`` everywhere, ``json`` columns hold plain data.

    Raises:
        KeyError: There is no such table.
    """
    return frame_of(TABLES[table], rows(reader, table))


def frame_of(columns: Sequence[ExportColumn], found: Iterable[Row]) -> pd.DataFrame:
    """Make a pandas table of rows; missing is ``NA``."""
    import pandas as pd  # slow to import: only a caller who wants a frame waits

    cells = list(found)
    return pd.DataFrame(
        {
            column.name: pd.Series([row[at] for row in cells], dtype=_DTYPES[column.kind])
            for at, column in enumerate(columns)
        }
    )


def frames(reader: Reader) -> dict[str, pd.DataFrame]:
    """Read every table of a study that fits into memory."""
    return {table: frame(reader, table) for table in TABLES}
