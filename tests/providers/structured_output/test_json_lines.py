"""JSON Lines are read strictly, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from orglab.providers.structured_output import json_lines as jsonl
from orglab.providers.structured_output.json_lines import JSONLinesError, read_jsonl


def written(folder: Path, content: bytes) -> Path:
    """A file with this content."""
    path = folder / "file.jsonl"
    path.write_bytes(content)
    return path


def test_values_come_with_their_line_numbers(tmp_path: Path) -> None:
    """A mark at the start, blank lines, CRLF and a last line without an end are no trouble."""
    path = written(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\n  \n[2]\n"last"')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (4, [2]), (5, "last")]


def test_separators_inside_a_text_end_no_line(tmp_path: Path) -> None:
    """U+2028, U+0085 and a form feed stay inside the record."""
    path = written(tmp_path, '{"a": "x\u2028y\u0085z"}\n'.encode())
    assert list(read_jsonl(path)) == [(1, {"a": "x\u2028y\u0085z"})]


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b'{"a": 1}\n{"a": 1', r"file.jsonl, line 2: not one strict JSON value"),
        (b'{"a": 1}{"a": 2}\n', r"line 1: not one strict JSON value: Extra data"),
        (b'{"a": 1, "a": 2}\n', r"line 1: .*two different values"),
        (b'\n{"a": NaN}\n', r"line 2: .*NaN is not a JSON value"),
        (b'{"a": "\xff"}\n', r"line 1: not UTF-8 \(byte 8\)"),
        (b"\xff\xfe{\x00", r"line 1: not UTF-8 \(byte 1\)"),
    ],
)
def test_a_bad_line_is_an_error_with_its_number(tmp_path: Path, content: bytes, wrong: str) -> None:
    """Nothing is passed over in silence."""
    with pytest.raises(JSONLinesError, match=wrong):
        list(read_jsonl(written(tmp_path, content)))


def test_what_stands_before_a_bad_line_is_given(tmp_path: Path) -> None:
    """Values come one at a time; the error knows its line."""
    lines = read_jsonl(written(tmp_path, b"1\n2\nx\n"))
    assert [next(lines), next(lines)] == [(1, 1), (2, 2)]
    with pytest.raises(JSONLinesError, match="line 3") as caught:
        next(lines)
    assert caught.value.line == 3


def test_a_line_without_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line has a largest size."""
    monkeypatch.setattr(jsonl, "_LONGEST", 100)
    with pytest.raises(JSONLinesError, match="line 1: longer than"):
        list(read_jsonl(written(tmp_path, b"1" * 500)))
