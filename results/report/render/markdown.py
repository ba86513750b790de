"""The report as Markdown; no text of a model becomes markup or a live link."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from orglab.providers.terminal_safety import visible
from orglab.results.report.findings import StudyFindings
from orglab.results.report.page import Report
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    Changes,
    Drawing,
    FigureBlock,
    Fold,
    Paragraph,
    Section,
    TableBlock,
)
from orglab.results.word_diff import Piece

__all__ = ["escaped", "markdown_page"]

_MARKS = re.compile(r"([\\`*_{}\[\]#|~$])")
_LINE_START = re.compile(r"^(\s*)([-+=]|\d+[.)])(?=\s|$)", re.MULTILINE)


def escaped(text: str) -> str:
    """Escape a text: no markup, no HTML, no automatic link."""
    safe = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _MARKS.sub(r"\\\1", safe).replace("://", ":&#47;/").replace("www.", "www&#46;")
    safe = safe.replace("@", "&#64;")
    return _LINE_START.sub(lambda match: f"{match[1]}{_number_or_sign(match[2])}", safe)


def _number_or_sign(mark: str) -> str:
    return f"\\{mark}" if not mark[0].isdigit() else f"{mark[:-1]}\\{mark[-1]}"


def markdown_page(report: Report[StudyFindings], transcripts: Sequence[tuple[str, str]]) -> str:
    """Render a report as Markdown.

    Args:
        report: The report.
        transcripts: Name and relative address of the transcripts' pages.
    """
    lines = [f"# {escaped(report.question or report.name)}", ""]
    for banner in report.banners:
        lines += [f"> **{escaped(banner.title)}** {escaped(banner.text)}", ""]
    lines += [f"**{escaped(report.answer)}**", ""]
    lines += [f"- {lead.title}: {escaped(line)}" for lead in report.leads for line in lead.lines]
    lines += [f"- {escaped(name)}: {escaped(value)}" for name, value in report.facts]
    lines.append("")
    for section in report.sections:
        lines += _section(section)
    if transcripts:
        lines += ["## Transcripts", ""]
        lines += [f"- [{escaped(name)}]({address})" for name, address in transcripts]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> list[str]:
    lines = [f"## {escaped(section.title)}", ""]
    for block in section.blocks:
        lines += [*_block(block), ""]
    return lines


def _block(block: Block, depth: int = 3) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield _paragraph(block)
    elif isinstance(block, Bullets):
        yield from (f"- {_one_line(item)}" for item in block.items)
    elif isinstance(block, TableBlock):
        yield from _table(block)
    elif isinstance(block, FigureBlock):
        yield f"![{_one_line(block.caption)}](figures/{block.name}.svg)"
        yield ""
        yield _one_line(block.caption)
    elif isinstance(block, Drawing):
        yield f"(The drawing of {_one_line(block.title)} stands in report.html.)"
    elif isinstance(block, Changes):
        yield _comparison(block.pieces)
    elif isinstance(block, Fold):
        yield f"{'#' * min(depth, 6)} {_one_line(block.title)}"
        for inner in block.blocks:
            yield ""
            yield from _block(inner, depth + 1)


def _paragraph(block: Paragraph) -> str:
    text = escaped(block.text)
    return f"**{text}**" if block.kind == "warning" and "\n" not in text else text


def _one_line(text: str) -> str:
    return escaped(text).replace("\n", " ")


def _table(table: TableBlock) -> Iterator[str]:
    if table.caption:
        yield _one_line(table.caption)
        yield ""
    yield "| " + " | ".join(_one_line(column.title) or " " for column in table.columns) + " |"
    yield "| " + " | ".join("---:" if column.figures else "---" for column in table.columns) + " |"
    for at, row in enumerate(table.rows):
        cells = [_one_line(cell) for cell in row]
        if at in table.strong:
            cells[0] = f"**{cells[0]}**"
        yield "| " + " | ".join(cells) + " |"


def _comparison(pieces: Sequence[Piece]) -> str:
    """Render a comparison as a quote; long common stretches are shortened."""
    texts = [_piece(piece) for piece in pieces]
    return "> " + escaped("".join(texts)).replace("\n", "\n> ")


def _piece(piece: Piece) -> str:
    if piece.kind == "same":
        words = piece.text.split()
        return (
            piece.text if len(words) <= 16 else f" {' '.join(words[:8])} … {' '.join(words[-8:])}"
        )
    sign = "−" if piece.kind == "left" else "+"  # noqa: RUF001
    return f" [{sign}{piece.text.strip()}{sign}]"
