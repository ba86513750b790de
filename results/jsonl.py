"""JSONL files that a kill may have torn.

Reading gives every value with its line and tells of everything that is no value; nothing is skipped
without a word. Two values glued on one line are both read. ``mend`` makes such a file whole again,
and ``append`` mends before it adds, so that a new line never sticks to a cut one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias

from orglab.results.jsontext import dumps

__all__ = ["Damage", "JsonlAppender", "Line", "mend", "read_jsonl"]

JSON: TypeAlias = Any

_SHOWN = 80
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A value and the line it stands on, from 1."""

    number: int
    value: JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class Damage:
    """Something in a file that is no value.

    Attributes:
        file: The file.
        line: The line, from 1.
        text: What stands there, whole.
        why: What is wrong with it.
        cut: It is the last line and has no line end: the writer was stopped in the middle of it.
    """

    file: Path
    line: int
    text: str
    why: str
    cut: bool

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= _SHOWN else self.text[:_SHOWN] + "…"
        what = "the last line is cut" if self.cut else self.why
        return f"{self.file}:{self.line}: {what}: {shown!r}"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits} is too large")
    return value


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _values(text: str) -> Iterator[JSON]:
    """Value after value of one line; what follows the last one must be nothing.

    Raises:
        ValueError: What follows is no value; ``args`` hold the reason and what is left.
    """
    rest = text.strip()
    while rest:
        try:
            value, end = _decoder.raw_decode(rest)
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", str(error))
            raise ValueError(f"this is no JSON ({why})", rest) from error
        yield value
        rest = rest[end:].lstrip()


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):  # at \n alone: U+2028 and U+0085 are text
            yield number, line.removeprefix(_BOM) if number == 1 else line


def read_jsonl(path: Path, damaged: Callable[[Damage], None]) -> Iterator[Line]:
    """Reads a file value by value, one line in memory at a time.

    Args:
        path: The file: UTF-8, with or without BOM. Blank lines are nothing.
        damaged: Told of everything that is no value, as it is met. Values that stand before it on
            the same line are given.

    Raises:
        OSError: The file cannot be read.
    """
    for number, raw in _lines(path):
        text = raw.decode("utf-8", "replace")
        ends = raw.endswith(b"\n")
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            why = f"this is no UTF-8 ({error.reason})"
            damaged(Damage(file=path, line=number, text=text.strip(), why=why, cut=not ends))
            continue
        try:
            for value in _values(text):
                yield Line(number, value)
        except ValueError as error:
            why, rest = error.args
            damaged(Damage(file=path, line=number, text=rest, why=why, cut=not ends))


def mend(path: Path) -> list[Damage]:
    """Makes a file whole: one value a line, every line ended.

    What is no value is added to ``NAME.torn`` beside the file. A whole file is left as it is.

    Returns:
        What was no value, in order.

    Raises:
        OSError: The file cannot be read or written.
    """
    if _is_whole(path):
        return []
    found: list[Damage] = []
    fresh = path.with_name(path.name + ".mending")
    with fresh.open("w", encoding="utf-8", newline="\n") as file:
        for line in read_jsonl(path, found.append):
            file.write(dumps(line.value) + "\n")
        _sync(file.fileno(), file.flush)
    if found:
        torn = path.with_name(path.name + ".torn")
        with torn.open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(damage.text + "\n" for damage in found)
            _sync(file.fileno(), file.flush)
    fresh.replace(path)
    return found


def _is_whole(path: Path) -> bool:
    damages: list[Damage] = []
    last = before = 0
    for line in read_jsonl(path, damages.append):
        last = line.number
        if damages or last == before:
            return False
        before = last
    return not damages and _ends_with_newline(path)


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _sync(descriptor: int, flush: Callable[[], None]) -> None:
    flush()
    os.fsync(descriptor)


class JsonlAppender:
    """Adds values to a JSONL file, one a line; a torn file is mended first.

    Attributes:
        damages: What was no value in the file as it was found.
    """

    def __init__(self, path: Path) -> None:
        self.damages = mend(path) if path.exists() else []
        self._file = path.open("a", encoding="utf-8", newline="\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, value: JSON) -> None:
        """Adds a value; it is on disk when this returns.

        Raises:
            ValueError: It is no strict JSON; nothing is added.
            OSError: It cannot be written.
        """
        self._file.write(dumps(value) + "\n")
        _sync(self._file.fileno(), self._file.flush)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
