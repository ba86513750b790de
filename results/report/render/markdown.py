"""The report as Markdown; no text of a model becomes markup or a live link."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orglab.providers.terminal_safety import visible
from orglab.results.report.findings import StudyFindings
from orglab.results.report.page import Report
from orglab.results.report.render.prose import text_environment
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
    environment = text_environment().overlay()
    environment.filters |= {"line": _one_line, "md": escaped}
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    template = environment.get_template("report.md.j2", globals={"comparison": _comparison})
    return template.render(report=report, transcripts=transcripts).rstrip() + "\n"


def _one_line(text: str) -> str:
    return escaped(text).replace("\n", " ")


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
