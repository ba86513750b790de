"""Units of work: from a file, or from the command line.

A unit is checked against the team's inputs before anything runs; all errors are reported together. A path in a units file is relative to that file and stays inside its folder or the spec's; a
path typed on the command line is the user's and may lie anywhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from orglab.engine.run.calls.call_key import digest, draw
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.model import InputField, Topology
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, content_hash
from orglab.engine.tools.bounded_json import to_strict_json
from orglab.engine.tools.file_cache import TableError
from orglab.engine.tools.table.table import Table, TableFormat, load_table
from orglab.providers.base import JSON, ToolError
from orglab.providers.structured_output.json_lines import JSONLinesError, read_jsonl
from orglab.providers.structured_output.strict_json import canonical, loads
from orglab.providers.structured_output.validation import checker_for


class UnitError(Exception):
    """Raised when units do not fit a team's inputs; ``issues`` holds all of them.

    ``field`` names the choice at error where one is (``id``, ``where``, ``sample``), else "".
    """

    def __init__(self, issues: Sequence[str], field: str = "") -> None:
        super().__init__("\n".join(issues))
        self.issues = tuple(issues)
        self.field = field


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    """One row of a units file: where it stands, and what it holds."""

    place: str
    values: Mapping[str, JSON]
    text: bool = False


def read_units(
    path: Path,
    topology: Topology,
    *,
    id_column: str | None = None,
    where: str | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> list[Unit]:
    """Return the units of a file: ``.jsonl``, ``.json`` (a list of objects), ``.csv`` or ``.parquet``.

    Columns that are no inputs reach evaluators alone; ``reference`` is the unit's reference answer.

    Args:
        path: The file.
        topology: Declares the inputs.
        id_column: The column that names a unit; default: ``id``, else a digest of its inputs.
        where: A condition over the columns, in the language of the table tools.
        sample: So many of the units that meet it, drawn by ``seed``; default: all.
        seed: The root seed.

    Raises:
        UnitError: The file cannot be read, or units do not fit; all errors.
    """
    folder = path.resolve().parent
    issues: list[str] = []
    units: list[Unit] = []
    seen: dict[str, str] = {}
    for row in _chosen(path, where, id_column):
        inputs, extra, files = _inputs(row, topology, folder, issues)
        unit_id = _unit_id(row, inputs, id_column, issues)
        if unit_id in seen:
            issues.append(f"{row.place}: the id {unit_id!r} is already used at {seen[unit_id]}")
        seen[unit_id] = row.place
        units.append(Unit(id=unit_id, inputs=inputs, extra=extra, index=len(units), files=files))
    if issues:
        raise UnitError(issues)
    if not units:
        meet, field = (f" meet {where!r}", "where") if where else ("", "")
        raise UnitError([f"{path}: no units{meet}"], field)
    if sample is not None and sample > len(units):
        raise UnitError(
            [
                f"{path}: a sample of {sample} units needs at least {sample}; the file has {len(units)}"
            ],
            "sample",
        )
    return units if sample is None else _drawn(units, sample, seed)


def _chosen(path: Path, where: str | None, id_column: str | None) -> Sequence[_Row]:
    """Return the rows that meet a condition."""
    rows = _rows(path)
    if id_column is not None and rows and not any(id_column in row.values for row in rows):
        known = did_you_mean(id_column, rows[0].values)
        raise UnitError([f"{path}: no row has the column {id_column!r}; {known}"], "id")
    if where is None:
        return rows
    try:
        chosen = _table(path, rows).where(where) or []
    except (TableError, ToolError) as refusal:
        raise UnitError([f"{path}: where {where!r}: {refusal}"], "where") from refusal
    if len(chosen) != len(rows):
        raise UnitError([f"{path}: {len(rows)} units, but {len(chosen)} rows as a table"])
    return [row for row, holds in zip(rows, chosen, strict=True) if holds]


def _table(path: Path, rows: Sequence[_Row]) -> Table:
    if path.suffix.lower() != ".json":
        return load_table(path.resolve(), TableFormat())
    with TemporaryDirectory() as folder:  # tables are read from JSON lines
        lines = Path(folder) / f"{path.stem}.jsonl"
        text = "".join(f"{canonical(dict(row.values))}\n" for row in rows)
        lines.write_text(text, encoding="utf-8")
        return load_table(lines, TableFormat())


def _drawn(units: Sequence[Unit], sample: int, seed: int) -> list[Unit]:
    """So many units by the seed, in the order of the file, numbered anew."""
    order = sorted(units, key=lambda unit: draw(seed, unit.id, 0, "sample", "", 0))
    kept = sorted(order[:sample], key=lambda unit: unit.index)
    return [replace(unit, index=index) for index, unit in enumerate(kept)]


def typed_unit(pairs: Sequence[str], topology: Topology) -> Unit:
    """Return the unit that ``--input name=value`` arguments make.

    Raises:
        UnitError: They do not fit the team's inputs; all errors.
    """
    values: dict[str, JSON] = {}
    issues: list[str] = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            issues.append(f"--input {pair}: write it as name=value")
        elif name in values:
            issues.append(f"--input {name}: given twice")
        else:
            values[name] = text
    if issues:
        raise UnitError(issues)
    return _one_unit(_Row(place="--input", values=values, text=True), topology)


def unit_of(inputs: Mapping[str, JSON], topology: Topology) -> Unit:
    """Return the unit that a program's inputs make; a file input is a path.

    Raises:
        UnitError: They do not fit the team's inputs; all errors.
    """
    values = {
        name: str(value) if isinstance(value, Path) else value for name, value in inputs.items()
    }
    return _one_unit(_Row(place="inputs", values=values), topology)


def _one_unit(row: _Row, topology: Topology) -> Unit:
    unknown = sorted(set(row.values) - set(topology.inputs))
    issues = [f"{row.place} {name}: no such input; {_declared(topology)}" for name in unknown]
    inputs, _, files = _inputs(row, topology, None, issues)
    if issues:
        raise UnitError(issues)
    return Unit(id=digest(canonical(_content(inputs, files)))[:12], inputs=inputs, files=files)


def unit_content(unit: Unit) -> str:
    """Return a digest of all that a unit holds; a file counts by its content."""
    return digest(canonical([_content(unit.inputs, unit.files), dict(unit.extra)]))


def _content(inputs: Mapping[str, JSON], files: Mapping[str, Path]) -> dict[str, JSON]:
    return {
        name: {"file": content_hash(files[value])}
        if isinstance(value, str) and value in files
        else value
        for name, value in inputs.items()
    }


def _declared(topology: Topology) -> str:
    names = ", ".join(topology.inputs) or "none"
    return f"this team's inputs: {names}"


def _unit_id(row: _Row, inputs: Mapping[str, JSON], column: str | None, issues: list[str]) -> str:
    given = row.values.get(column or "id")
    if given is not None and given != "":
        return str(given)
    if column is not None:
        issues.append(f"{row.place} {column}: missing; it names the unit")
    return digest(canonical(dict(inputs)))[:12]


# --- one unit against the inputs ----------------------------------------------------------------


def _inputs(
    row: _Row, topology: Topology, folder: Path | None, issues: list[str]
) -> tuple[dict[str, JSON], dict[str, JSON], dict[str, Path]]:
    inputs: dict[str, JSON] = {}
    files: dict[str, Path] = {}
    for name, declared in topology.inputs.items():
        value = row.values.get(name)
        if value is None or (row.text and value == "" and declared.optional):
            if not declared.optional:
                issues.append(f"{row.place} {name}: missing; {_declared(topology)}")
            inputs[name] = None
            continue
        inputs[name] = _typed(value, declared) if row.text else value
        issue = _misfit(inputs[name], declared)
        if issue:
            issues.append(f"{row.place} {name}: {issue}")
        elif declared.file:
            _find_file(row.place, inputs[name], topology.folder, folder, files, issues)
    extra = {name: value for name, value in row.values.items() if name not in topology.inputs}
    return inputs, extra, files


def _typed(text: JSON, declared: InputField) -> JSON:
    """Return a text of a CSV cell or of the command line, as the type that the input declares."""
    wanted = declared.schema.get("type")
    if wanted in (None, "string") or not isinstance(text, str):
        return text
    try:
        return loads(text)
    except ValueError:
        return text


def _misfit(value: JSON, declared: InputField) -> str:
    return "; ".join(checker_for(declared.schema).errors(value, 1))


def _find_file(
    place: str,
    text: str,
    spec_folder: Path,
    folder: Path | None,
    files: dict[str, Path],
    issues: list[str],
) -> None:
    if folder is None:
        path = Path(text)
        if path.is_file():
            files[text] = path.resolve()
        else:
            issues.append(f"{place} {text}: no such file")
        return
    refusals = []
    for allowed in (folder, spec_folder):
        try:
            files[text] = confined_file(text, folder=allowed, root=allowed)
        except FileRefused as refusal:
            refusals.append(f"{text}: {refusal}")
        else:
            return
    issues.append(f"{place}: {refusals[0]}")


# --- reading files ------------------------------------------------------------------------------


def _rows(path: Path) -> Sequence[_Row]:
    readers = {
        ".jsonl": _jsonl_rows,
        ".json": _json_rows,
        ".csv": _csv_rows,
        ".parquet": _parquet_rows,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UnitError([f"{path}: expected a file of type .jsonl, .json, .csv or .parquet"])
    try:
        return list(reader(path))
    except FileNotFoundError:
        raise UnitError([f"{path}: no such file"]) from None
    except UnicodeDecodeError as error:
        raise UnitError([f"{path}: not UTF-8 at byte {error.start}"]) from error
    except JSONLinesError as error:
        raise UnitError([str(error)]) from error
    except (csv.Error, TableError, ValueError) as error:
        raise UnitError([f"{path}: {error}"]) from error


def _jsonl_rows(path: Path) -> Iterable[_Row]:
    for number, value in read_jsonl(path):
        if not isinstance(value, Mapping):
            raise ValueError(f"line {number}: a unit must be a JSON object")
        yield _Row(place=f"{path.name}:{number}", values=value)


def _json_rows(path: Path) -> Iterable[_Row]:
    text = path.read_text(encoding="utf-8-sig")
    values = loads(text)
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise ValueError("expected a list of objects, one for each unit")
    for number, value in enumerate(values):
        yield _Row(place=f"{path.name}[{number}]", values=value)


def _csv_rows(path: Path) -> Iterable[_Row]:
    text = path.read_bytes().decode("utf-8-sig")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader, None)
    if not header or len(set(header)) < len(header):
        raise ValueError("the first line must name the columns; each name must be unique")
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise ValueError(
                f"line {reader.line_num}: {len(cells)} cells, the header has {len(header)}"
            )
        values = dict(zip(header, cells, strict=True))
        yield _Row(place=f"{path.name}:{reader.line_num}", values=values, text=True)


def _parquet_rows(path: Path) -> Iterable[_Row]:
    table = load_table(path.resolve(), TableFormat())
    columns = {name: table.column(name).values for name in table.columns}
    for number in range(table.rows):
        values = {name: to_strict_json(cells[number]) for name, cells in columns.items()}
        yield _Row(place=f"{path.name}[{number}]", values=values)
