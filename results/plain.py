"""Texts of models for a page or a terminal: ``visible`` of ``providers.plain``, and two forms of it."""

from __future__ import annotations

from rich.markup import escape

from orglab.providers.terminal_safety import visible

__all__ = ["markup", "one_line", "visible"]


def markup(text: str) -> str:
    """``visible(text)`` for a place where Rich reads markup."""
    return escape(visible(text))


def one_line(text: str, width: int = 80) -> str:
    """``visible(text)`` on one line of at most ``width`` characters, cut with ``…``."""
    shown = " ".join(visible(text[: 4 * width]).split())
    cut = len(shown) > width or len(text) > 4 * width
    return shown[: width - 1].rstrip() + "…" if cut else shown
