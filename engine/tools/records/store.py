"""A store of records: a file of JSON lines, read once and shared by all runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from orglab.engine.spec.messages import nearest
from orglab.engine.tools.file_cache import FileCache, Memo, TableError
from orglab.engine.tools.records.bm25 import Index
from orglab.engine.tools.table.readers import decode, json_objects
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import spaced


class Passage(NamedTuple):
    """A piece of a record's text.

    Attributes:
        record: The record's place in the file, from 0.
        field: Where it stands: ``body``, ``specs.gpu``.
        text: The text.
    """

    record: int
    field: str
    text: str


class RecordStore(Memo):
    """Records in the file's order; immutable, with what was computed from them kept."""

    def __init__(self, records: Sequence[Mapping[str, JSON]], lines: Sequence[int]) -> None:
        self.records = records
        self.lines = lines
        super().__init__()

    @property
    def fields(self) -> list[str]:
        """The names of all fields, in the order in which they first stand."""
        found = self.once(
            "fields", lambda: dict.fromkeys(key for one in self.records for key in one)
        )
        return list(found)

    def need(self, names: Sequence[str], setting: str) -> None:
        """Check that fields exist.

        Raises:
            TableError: No record has one of them.
        """
        for name in names:
            if self.records and name not in self.fields:
                like = nearest(name, self.fields)
                hint = f", did you mean `{like}`?" if like else "."
                known = ", ".join(f"`{one}`" for one in self.fields[:40])
                raise TableError(
                    f"`{setting}`: no record has a field `{name}`{hint} Fields: {known}"
                )

    def where(self, conditions: Mapping[str, JSON]) -> Sequence[bool] | None:
        """Return which records have these values; None: all."""
        if not conditions:
            return None
        return [
            all(name in one and same(one[name], value) for name, value in conditions.items())
            for one in self.records
        ]

    def index(self, fields: Sequence[str]) -> Index:
        """Return the search index over the text of these fields."""
        return self.once(
            ("index", *fields),
            lambda: Index(
                ["\n".join(text for _, text in texts_of(one, fields)) for one in self.records]
            ),
        )


def same(value: JSON, wanted: JSON) -> bool:
    """Return whether two values are equal; a text may stand for a number, since templates give text."""
    if isinstance(value, bool) or isinstance(wanted, bool) or value is None or wanted is None:
        return value is wanted or (isinstance(wanted, str) and spaced(value) == wanted)
    if isinstance(value, str) is not isinstance(wanted, str):
        return _number_text(value) == _number_text(wanted)
    return bool(value == wanted)


def _number_text(value: JSON) -> str:
    return value.strip() if isinstance(value, str) else spaced(value)


def texts_of(record: Mapping[str, JSON], fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts in fields of a record, each with its place; maps and lists in them are walked."""
    for name in fields:
        if name in record:
            yield from _texts(record[name], name)


def _texts(value: JSON, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(one, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one, place)
    elif value is not None:
        yield place, value if isinstance(value, str) else spaced(value)


_STORES = FileCache[RecordStore]()


def load_store(path: Path) -> RecordStore:
    """Return the records in ``path``, an absolute path; read again when the file has changed.

    Raises:
        TableError: It cannot be read rightly.
    """
    return _STORES.load(path, lambda: _read_store(path))


def _read_store(path: Path) -> RecordStore:
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise TableError("records are a .jsonl file, an object a line")
    found = list(json_objects(decode(path.read_bytes(), None)))
    return RecordStore([one for _, one in found], [line for line, _ in found])
