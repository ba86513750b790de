"""What a report is made of: blocks of plain text that HTML and Markdown both show.

A block holds texts as they are, model texts among them; whoever shows it makes them safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orglab.results.word_diff import Piece


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph; a ``note`` is set smaller, a ``warning`` stands out."""

    text: str
    kind: Literal["plain", "note", "warning"] = "plain"

    @classmethod
    def note(cls, text: str) -> Paragraph:
        """Make a paragraph in small print."""
        return cls(text=text, kind="note")

    @classmethod
    def warning(cls, text: str) -> Paragraph:
        """Make a paragraph that stands out."""
        return cls(text=text, kind="warning")


@dataclass(frozen=True, kw_only=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """A column of a table; numbers are aligned right."""

    title: str
    figures: bool = True

    @classmethod
    def texts(cls, *titles: str) -> list[TableColumn]:
        """Make columns of texts."""
        return [cls(title=title, figures=False) for title in titles]

    @classmethod
    def numbers(cls, *titles: str) -> list[TableColumn]:
        """Make columns of numbers."""
        return [cls(title=title) for title in titles]


@dataclass(frozen=True, kw_only=True)
class TableBlock:
    """A table.

    Attributes:
        columns: Its columns.
        rows: Cells of each row.
        strong: Indices of rows that stand out.
        caption: What it shows.
    """

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    strong: frozenset[int] = frozenset()
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class FigureBlock:
    """A picture that orglab drew.

    Attributes:
        name: Its file's name, without ending.
        svg: The SVG, with ``var(--…)`` in place of colours that follow the page.
        caption: What it shows.
    """

    name: str
    svg: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The drawing of a team that the store holds; shown as an image, so that it can run nothing."""

    title: str
    svg: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Two texts word by word."""

    pieces: Sequence[Piece]


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Blocks that are shown when asked for."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the report with a title; ``id`` is what links point to."""

    id: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


Block: TypeAlias = Paragraph | Bullets | TableBlock | FigureBlock | Drawing | Changes | Fold
