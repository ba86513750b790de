"""Layout of values: no braces, no quotes, one item a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.providers.terminal_safety import one_line, visible
from orglab.results.number_format import amount

_SHORT = 72
_DEEP = 5
_FEW = 6
_LONG = 10_000
"""Longer texts are laid out piece by piece: Rich's work on one text grows with its square."""


class Prefixed:
    """Something with signs before its first line and before each later one.

    Args:
        content: What is printed.
        first: Before the first line.
        rest: Before the others; it may be wider.
        style: Of both.
    """

    def __init__(self, content: RenderableType, first: str, rest: str, *, style: str = "") -> None:
        self._content = content
        self._prefixes = (first, rest)
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first, rest = self._prefixes
        style = console.get_style(self._style)
        room = options.update(width=max(1, options.max_width - max(len(first), len(rest))))
        for number, line in enumerate(console.render_lines(self._content, room, pad=False)):
            yield Segment(rest if number else first, style)
            yield from line
            yield Segment.line()


def barred(content: RenderableType, indent: int = 0) -> Prefixed:
    """Add a bar down the left side."""
    bar = " " * indent + "│ "
    return Prefixed(content, bar, bar, style="dim")


def printed(content: RenderableType, width: int, *, colour: bool = False) -> str:
    """Return what a console of this width prints, without blanks at the ends of lines."""
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(content)
    return "".join(line.rstrip() + "\n" for line in capture.get().splitlines())


def prose(text: str, style: str = "") -> RenderableType:
    """Render a text of any length, safe to look at."""
    shown = visible(text)
    return Text(shown, style=style) if len(shown) <= _LONG else _Long(shown, style)


class _Long:
    """A long text, wrapped in time that grows with its length alone."""

    def __init__(self, text: str, style: str) -> None:
        self._text, self._style = text, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style = console.get_style(self._style)
        for line in self._text.split("\n"):
            rows = (
                _narrow_rows
                if line.isascii() and "\t" not in line
                else partial(_wide_rows, console)
            )
            for row in rows(line, options.max_width):
                yield Segment(row, style)
                yield Segment.line()


def _narrow_rows(line: str, width: int) -> Iterator[str]:
    """Yield the rows of a line of narrow characters, broken at blanks if possible."""
    start = 0
    while len(line) - start > width:
        blank = line.rfind(" ", start + 1, start + width + 1)
        end = blank if blank > 0 else start + width
        yield line[start:end].rstrip()
        start = end + (blank > 0)
    yield line[start:]


def _wide_rows(console: Console, line: str, width: int) -> Iterator[str]:
    """Yield the rows of any line, wrapped by Rich piece by piece."""
    rest = ""
    for start in range(0, len(line), _LONG):
        piece = Text(rest + line[start : start + _LONG])
        *rows, last = piece.wrap(console, width)
        yield from (row.plain for row in rows)
        # As it is in the line: wrapping takes the blanks off its end.
        rest = piece.plain[piece.plain.rindex(last.plain) :] if last.plain else ""
    yield rest.rstrip()


def inline(value: JSON, width: int = _SHORT) -> str:
    """Render a value on one line, cut at ``width``: ``rows: 1707, columns: 12 items``."""
    if isinstance(value, Mapping):
        fields = ", ".join(f"{key}: {_inline_field(item)}" for key, item in value.items())
        return one_line(fields or "nothing", width)
    if not _is_list(value):
        return one_line(_scalar(value), width)
    if _is_flat(value):
        return one_line(", ".join(map(_scalar, value)) or "nothing", width)
    first = inline(value[0], width)
    return one_line(first if len(value) == 1 else f"{len(value)} items, first: {first}", width)


def _inline_field(value: JSON) -> str:
    """Render a field's value among others."""
    if isinstance(value, Mapping):
        return amount(len(value), "field") if value else "nothing"
    if not _is_list(value):
        return _scalar(value)
    flat = _is_flat(value) and len(value) <= _FEW
    return "[" + ", ".join(map(_scalar, value)) + "]" if flat else amount(len(value), "item")


def value_block(value: JSON, depth: int = 0) -> RenderableType:
    """Render a value over as many lines as it needs; nested values are indented by two."""
    if isinstance(value, Mapping) and value and depth < _DEEP:
        return Group(*[_field(str(key), item, depth) for key, item in value.items()])
    if _is_list(value) and value and depth < _DEEP:
        return Group(*[_item(item, depth) for item in value])
    return prose(value if isinstance(value, str) else dumps(value))


def _field(key: str, value: JSON, depth: int) -> RenderableType:
    name = Text(visible(key) + ": ", style="dim")
    if _fits_on_line(value):
        return name.append(Text(_on_a_line(value), style="not dim"))
    return Group(name, Padding(value_block(value, depth + 1), (0, 0, 0, 2)))


def _item(value: JSON, depth: int) -> RenderableType:
    if _fits_on_line(value):
        return Prefixed(Text(_on_a_line(value)), "• ", "  ")
    return Prefixed(value_block(value, depth + 1), "• ", "  ")


def _fits_on_line(value: JSON) -> bool:
    """Check whether a value fits on one line; a text of one paragraph does, since it wraps."""
    if isinstance(value, str):
        return len(value) <= _LONG and "\n" not in value.strip()
    if isinstance(value, Mapping):
        return not value or (_is_shallow(value.values()) and _length(value) <= _SHORT)
    return not _is_list(value) or not value or (_is_flat(value) and _length(value) <= _SHORT)


def _on_a_line(value: JSON) -> str:
    if isinstance(value, str):
        return visible(value.strip()) or "(empty)"
    return inline(value, 4 * _SHORT)


def _length(value: JSON) -> int:
    return len(dumps(value))


def _is_list(value: JSON) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_flat(values: Iterable[JSON]) -> bool:
    return not any(isinstance(item, Mapping) or _is_list(item) for item in values)


def _is_shallow(values: Iterable[JSON]) -> bool:
    """Check for scalars, and lists of a few of them."""
    return not any(
        isinstance(item, Mapping) or (_is_list(item) and not (_is_flat(item) and len(item) <= _FEW))
        for item in values
    )


def _scalar(value: JSON) -> str:
    return value if isinstance(value, str) else dumps(value)
