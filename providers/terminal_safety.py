"""Texts of models made safe to look at: what would steer a terminal is shown, not obeyed."""

from __future__ import annotations

import re

from rich.markup import escape

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {
    0x7F: 0x2421
}
# C1 controls; marks and overrides of direction; separators of lines and paragraphs; what takes no
# room (soft hyphen, zero-width space, word joiner, byte order mark, fillers, tags); surrogates. The
# joiners U+200C and U+200D stay: scripts and emoji are written with them.
_HIDDEN = re.compile(
    "[\x80-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def _written(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    r"""Return ``text`` with everything that steers or hides written out.

    Line ends and tabs stay; a control character becomes its picture (``␛`` for escape), anything
    else that cannot be seen its number (``\u202e``). Square brackets stay as they are: print the
    result as ``rich.text.Text`` or with ``markup=False``, or use ``markup``.
    """
    text = text.replace("\r\n", "\n").translate(_PICTURES)
    return _HIDDEN.sub(_written, text)


def markup(text: str) -> str:
    """Return ``visible(text)`` for a place where Rich reads markup."""
    return escape(visible(text))


def one_line(text: str, width: int = 80) -> str:
    """Return ``visible(text)`` on one line of at most ``width`` characters, cut with ``…``."""
    shown = " ".join(visible(text[: 4 * width]).split())
    cut = len(shown) > width or len(text) > 4 * width
    return shown[: width - 1].rstrip() + "…" if cut else shown
