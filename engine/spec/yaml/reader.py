"""Strict YAML: text -> plain data, places, and every error that can be reported.

PyYAML parses (in C where it can) and nothing more: values, merge keys, duplicate keys, aliases and
tags are ours, so that what a spec means does not hang on the installed PyYAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import yaml
from yaml import events

from orglab.engine.spec.errors import Problem, SpecIssue, SpecPath
from orglab.engine.spec.messages import got, quoted
from orglab.engine.spec.yaml.scalar import NotJson, plain_value
from orglab.engine.spec.yaml.source_map import Mark, Place
from orglab.engine.spec.yaml.syntax_errors import syntax_issue
from orglab.providers.base import JSON

_Event: TypeAlias = Any
"""A parse event of PyYAML, whose stubs know nothing of its attributes."""

ALIAS_LIMIT: Final = 250_000
"""Values that the aliases of one document may stand for; a long text counts as several.

What is written out is not counted.
"""

_TEXT_UNIT: Final = 64
"""So many characters of a text count as one more value."""

DEPTH_LIMIT: Final = 40
"""How deep lists and maps may lie in one another."""

_LOADER: Final[type] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """What was read.

    Attributes:
        data: Plain data, or None where nothing could be read. Parts brought by aliases are shared:
            never change it in place.
        place: Where each part was written.
        errors: Every error of reading.
        whole: The text was read to its end; without it, errors of content would be false alarms.
    """

    data: JSON
    place: Place
    issues: tuple[SpecIssue, ...]
    whole: bool


def read_bytes(content: bytes, file: str) -> Document:
    """Read UTF-8 bytes, with or without a byte order mark, as one YAML document."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _refused(file, Mark(file, 1, 1), "the file is UTF-16", "save it as UTF-8")
    try:
        return read_text(content.decode("utf-8"), file)
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        mark = Mark(file, before.count(b"\n") + 1, column)
        bad = content[error.start]
        return _refused(file, mark, f"byte 0x{bad:02x} is not UTF-8", "save the file as UTF-8")


def read_text(text: str, file: str) -> Document:
    """Read ``text`` as one YAML document; ``file`` is its name in faults."""
    reader = _Reader(file)
    try:
        data, place = reader.document(text.removeprefix("\ufeff"))
    except _Stop as stop:
        issues = (*reader.issues, stop.issue)
        return Document(data=None, place=Place(Mark(file, 1, 1)), issues=issues, whole=False)
    return Document(data=data, place=place, issues=tuple(reader.issues), whole=True)


def _refused(file: str, mark: Mark, wrong: str, hint: str) -> Document:
    issue = mark.issue(Problem(path=(), wrong=wrong, hint=hint))
    return Document(data=None, place=Place(Mark(file, 1, 1)), issues=(issue,), whole=False)


class _Stop(Exception):
    """Raised when reading cannot go on."""

    def __init__(self, mark: Mark, wrong: str, expected: str = "", hint: str = "") -> None:
        super().__init__(wrong)
        self.issue = mark.issue(Problem(path=(), wrong=wrong, expected=expected, hint=hint))


@dataclass(slots=True)
class _Anchor:
    """A finished anchored node: how many nodes and levels it has, those of aliases included."""

    data: JSON
    place: Place
    size: int
    height: int


@dataclass(slots=True)
class _Map:
    """A map being read: own entries in written order, and what merge keys bring."""

    entries: list[tuple[str, JSON, Place]] = field(default_factory=list)
    lines: dict[str, list[Mark]] = field(default_factory=dict)
    merge: list[tuple[JSON, Place]] = field(default_factory=list)
    merge_marks: list[Mark] = field(default_factory=list)
    merge_at: int = 0


class _Reader:
    """Builds data and places from parse events, in one pass without recursion over its bound."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.issues: list[SpecIssue] = []
        self._events: Iterator[Any] = iter(())
        self._anchors: dict[str, _Anchor | None] = {}
        self._aliased = 0
        self._count = 0
        self._deepest = 0
        self._path: list[str | int] = []

    # -- the document

    def document(self, text: str) -> tuple[JSON, Place]:
        self._events = self._parse(text)
        next(self._events)
        if isinstance(next(self._events), events.StreamEndEvent):
            raise _Stop(Mark(self.file, 1, 1), "the file is empty", "expected a YAML map")
        found = self._node(next(self._events))
        next(self._events)
        after = next(self._events)
        if not isinstance(after, events.StreamEndEvent):
            raise _Stop(
                self._mark(after), "a second document begins", hint="write one document a file"
            )
        return found

    def _parse(self, text: str) -> Iterator[Any]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            issue = syntax_issue(text, error, DEPTH_LIMIT)
            mark = Mark(self.file, issue.line, issue.column)
            raise _Stop(mark, f"this is not YAML: {issue.wrong}", hint=issue.hint) from None
        except yaml.YAMLError as error:
            raise _Stop(*self._character(text, error)) from None

    def _character(self, text: str, error: yaml.YAMLError) -> tuple[Mark, str]:
        bad = next((i for i, letter in enumerate(text) if _forbidden(letter)), None)
        if bad is None:
            return Mark(self.file, 1, 1), f"this is not YAML: {' '.join(str(error).split())}"
        line = text.count("\n", 0, bad) + 1
        mark = Mark(self.file, line, bad - text.rfind("\n", 0, bad))
        return mark, f"the control character U+{ord(text[bad]):04X} is not allowed in YAML"

    # -- nodes

    def _node(self, event: _Event) -> tuple[JSON, Place]:
        if isinstance(event, events.AliasEvent):
            return self._alias(event)
        self._count += 1
        if event.tag is not None:
            self._tell(self._mark(event), f"the tag {event.tag} is not allowed", hint="remove it")
        return self._content(event) if event.anchor is None else self._anchored(event)

    def _anchored(self, event: _Event) -> tuple[JSON, Place]:
        before, outer, level = self._count - 1, self._deepest, len(self._path)
        self._anchors[event.anchor], self._deepest = None, level
        data, place = self._content(event)
        anchor = _Anchor(data, place, self._count - before, self._deepest - level)
        self._anchors[event.anchor], self._deepest = anchor, max(outer, self._deepest)
        return data, place

    def _content(self, event: _Event) -> tuple[JSON, Place]:
        if isinstance(event, events.ScalarEvent):
            return self._scalar(event), Place(self._mark(event))
        self._deepen(event, 1)
        if isinstance(event, events.SequenceStartEvent):
            return self._list(event)
        return self._map(event)

    def _deepen(self, event: _Event, levels: int) -> None:
        self._deepest = max(self._deepest, len(self._path) + levels)
        if self._deepest > DEPTH_LIMIT:
            raise _Stop(self._mark(event), f"nested deeper than {DEPTH_LIMIT} levels")

    def _alias(self, event: _Event) -> tuple[JSON, Place]:
        mark = self._mark(event)
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            inside = event.anchor in self._anchors
            wrong = "stands inside its own anchor" if inside else "has no anchor before it"
            raise _Stop(mark, f"the alias *{event.anchor} {wrong}")
        self._deepen(event, anchor.height)
        self._aliased += anchor.size
        self._count += anchor.size
        if self._aliased > ALIAS_LIMIT:
            wrong = f"aliases expand to more than {ALIAS_LIMIT:,} values"
            raise _Stop(mark, wrong, "an alias bomb is refused", "write fewer aliases of aliases")
        return anchor.data, Place(mark, anchor.place.keys, anchor.place.children)

    def _scalar(self, event: _Event) -> JSON:
        self._count += len(event.value) // _TEXT_UNIT
        if not event.implicit[0]:
            return self._plain_scalar(event)
        try:
            return plain_value(event.value)
        except NotJson as error:
            self._tell(self._mark(event), str(error), "a number that JSON can hold")
            return 0

    def _plain_scalar(self, event: _Event) -> str:
        value: str = event.value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self._tell(self._mark(event), "half a surrogate pair is no character")
            return ""
        return value

    def _list(self, event: _Event) -> tuple[JSON, Place]:
        items: list[JSON] = []
        children: dict[str | int, Place] = {}
        place = Place(self._mark(event), None, children)
        self._path.append(0)
        while not isinstance(item := next(self._events), events.SequenceEndEvent):
            self._path[-1] = len(items)
            data, children[len(items)] = self._node(item)
            items.append(data)
        self._path.pop()
        return items, place

    # -- maps

    def _map(self, event: _Event) -> tuple[JSON, Place]:
        own = _Map()
        self._path.append("")
        while not isinstance(key := next(self._events), events.MappingEndEvent):
            self._entry(own, key)
        self._path.pop()
        self._tell_duplicates(own)
        return self._assemble(own, self._mark(event))

    def _entry(self, own: _Map, event: _Event) -> None:
        self._path[-1] = ""
        key = self._key(event)
        self._path[-1] = "" if key is None else key
        data, place = self._node(next(self._events))
        if key == "<<" and event.implicit[0]:
            self._merge(own, event, data, place)
        elif key is not None:
            own.lines.setdefault(key, []).append(self._mark(event))
            own.entries.append((key, data, place))

    def _key(self, event: _Event) -> str | None:
        if not isinstance(event, events.ScalarEvent):
            self._tell(self._mark(event), "a key must be plain text", hint="write the key out")
            self._node(event)
            return None
        if event.tag is not None:
            self._tell(self._mark(event), f"the tag {event.tag} is not allowed", hint="remove it")
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(event.value, Place(self._mark(event)), 1, 0)
        self._check_key(event)
        return self._plain_scalar(event)

    def _check_key(self, event: _Event) -> None:
        if not event.implicit[0]:
            return
        try:
            value = plain_value(event.value)
        except NotJson:
            value = 0.0
        if not isinstance(value, str):
            wrong = f"a key must be text, got {got(value)}"
            self._tell(self._mark(event), wrong, hint=f"write it in quotes: {quoted(event.value)}")

    def _merge(self, own: _Map, event: _Event, data: JSON, place: Place) -> None:
        own.merge_marks.append(self._mark(event))
        if len(own.merge_marks) > 1:
            return
        own.merge_at = len(own.entries)
        parts = [(data, place)]
        if isinstance(data, list):
            parts = [(part, (place.children or {})[i]) for i, part in enumerate(data)]
        own.merge = [part for part in parts if isinstance(part[0], dict)]
        if len(own.merge) < len(parts):
            self._tell(place.mark, "`<<` takes a map or a list of maps", hint="such as `<<: *base`")

    def _tell_duplicates(self, own: _Map) -> None:
        if len(own.merge_marks) > 1:
            wrong = f"`<<` is written twice, in {_lines(own.merge_marks)}"
            self._tell(own.merge_marks[1], wrong, hint="write one list: `<<: [*first, *second]`")
        if len(own.lines) == len(own.entries):
            return
        for key, marks in own.lines.items():
            if len(marks) > 1:
                wrong = f"`{key}` is written {_times(len(marks))}, in {_lines(marks)}"
                self._tell(marks[1], wrong, "a key stands once in a map", "keep one", key)

    def _assemble(self, own: _Map, mark: Mark) -> tuple[JSON, Place]:
        data: dict[str, JSON] = {}
        keys: dict[str, Mark] = {}
        children: dict[str | int, Place] = {}
        for index, (key, value, place) in enumerate(own.entries):
            if own.merge and index == own.merge_at:
                _bring(own, data, keys, children)
            if key not in data:
                data[key], keys[key], children[key] = value, own.lines[key][0], place
        if own.merge and own.merge_at == len(own.entries):
            _bring(own, data, keys, children)
        return data, Place(mark, keys, children)

    # -- issues

    def _mark(self, event: _Event) -> Mark:
        start = event.start_mark
        return Mark(self.file, start.line + 1, start.column + 1)

    def _tell(
        self, mark: Mark, wrong: str, expected: str = "", hint: str = "", key: str | None = None
    ) -> None:
        path: SpecPath = tuple(self._path) if key is None else (*self._path, key)
        problem = Problem(
            path=tuple(part for part in path if part != ""),
            wrong=wrong,
            expected=expected,
            hint=hint,
        )
        self.issues.append(mark.issue(problem))


def _bring(
    own: _Map, data: dict[str, JSON], keys: dict[str, Mark], children: dict[str | int, Place]
) -> None:
    """Add what merge sources bring: the first source wins, an own key wins wherever it stands."""
    for source, place in own.merge:
        for key, value in source.items():
            if key not in own.lines and key not in data:
                data[key] = value
                keys[key] = (place.keys or {})[key]
                children[key] = (place.children or {})[key]


def _lines(marks: list[Mark]) -> str:
    """Return ``lines 3 and 8``, or ``line 3`` where that is all."""
    lines = list(dict.fromkeys(str(mark.line) for mark in marks))
    return f"line{'s' if len(lines) > 1 else ''} {' and '.join(lines)}"


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


def _forbidden(letter: str) -> bool:
    return (letter < " " and letter not in "\t\n\r") or (
        "\x7f" <= letter <= "\x9f" and letter != "\x85"
    )
