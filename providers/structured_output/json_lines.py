"""JSON Lines, read strictly: one value a line, every error with its line number."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import JSONError, loads

#: Bytes of the longest line that is read.
_LONGEST = 64 * 1024 * 1024


class JSONLinesError(ValueError):
    """Raised when a line is not one strict JSON value.

    Attributes:
        line: The line's number, from 1.
    """

    def __init__(self, path: Path, line: int, wrong: str) -> None:
        super().__init__(f"{path.name}, line {line}: {wrong}")
        self.line = line


def read_jsonl(path: Path) -> Iterator[tuple[int, JSON]]:
    """Return the values of a file, one at a time, each with its line number from 1.

    Lines end at a line feed and nowhere else, so a text may hold any other separator. Blank lines
    are passed over, a byte order mark too. Only the line at hand is in memory.

    Raises:
        JSONLinesError: A line is not UTF-8, not one strict JSON value, or longer than 64 MiB.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield number, _value(path, number, line)


def _value(path: Path, number: int, line: bytes) -> JSON:
    if len(line) > _LONGEST:
        raise JSONLinesError(path, number, "longer than 64 MiB")
    try:
        return loads(line.decode("utf-8").strip(" \t\r\n"))
    except UnicodeDecodeError as error:
        raise JSONLinesError(path, number, f"not UTF-8 (byte {error.start + 1})") from None
    except JSONError as error:
        raise JSONLinesError(path, number, f"not one strict JSON value: {error}") from None
