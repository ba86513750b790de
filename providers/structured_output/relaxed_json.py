"""Nearly JSON, read by a grammar of its own: what a model meant where only one reading is possible.

Beyond JSON it takes single quotes, ``True False None``, comments (``//``, ``#``, ``/* */``),
trailing commas, plain bare keys, raw line ends in texts, and any white space between tokens.
Nothing is evaluated; whatever else stands there is an error.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import DEPTH, JSONError, object_from_pairs

#: White space of any kind, and comments.
GAP = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TEXTS = {
    '"': re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL),
    "'": re.compile(r"'([^'\\]*(?:\\.[^'\\]*)*)'", re.DOTALL),
}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_QUOTES = re.compile(r'\\(.)|"', re.DOTALL)
_TEXT_DECODER = json.JSONDecoder(strict=False)


class Relaxed(NamedTuple):
    """A value, where it ends, and whether brackets missing at the very end were added."""

    value: JSON
    end: int
    completed: bool


def relaxed_value(text: str, start: int, *, close: bool = False) -> Relaxed:
    """Return the object or array that begins at ``start``.

    Args:
        text: The text.
        start: Where its bracket stands.
        close: Brackets that are missing at the very end of the text may be added, where what
            stands before the end is whole: a text, a literal, an object or an array.

    Raises:
        JSONError: No reading is certain.
    """
    reader = _Reader(text, start, close)
    value = reader.value(0)
    return Relaxed(value, reader.at, reader.completed)


def _text_of(body: str) -> str:
    inner = _QUOTES.sub(_requote, body)
    try:
        made: str = _TEXT_DECODER.decode(f'"{inner}"')
        made.encode()
    except UnicodeEncodeError:
        raise JSONError("a text holds half a character (a lone surrogate)") from None
    except ValueError:
        raise JSONError("a text holds an unknown escape") from None
    return made


def _requote(found: re.Match[str]) -> str:
    escaped = found.group(1)
    if escaped is None:
        return '\\"'
    return "'" if escaped == "'" else found.group(0)


class _Reader:
    """Reads one value; ``at`` is the place it has come to."""

    def __init__(self, text: str, at: int, close: bool) -> None:
        self.text = text
        self.at = at
        self.close = close
        self.completed = False
        self.whole = False  # the value read last was closed by the model itself

    def value(self, depth: int) -> JSON:
        if depth > DEPTH:
            raise JSONError("it is nested too deeply")
        mark = self.mark()
        if mark == "{":
            return self.object(depth)
        if mark == "[":
            return self.array(depth)
        if mark in _TEXTS:
            return self.quoted()
        if mark == "-" or mark.isdecimal():
            return self.number()
        return self.literal()

    def mark(self) -> str:
        """Return the next character that is neither space nor comment; "" at the end."""
        gap = GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        return self.text[self.at : self.at + 1]

    def error(self, expected: str) -> JSONError:
        found = self.text[self.at : self.at + 12] or "the end"
        return JSONError(f"{expected} was expected where {json.dumps(found)} stands")

    def object(self, depth: int) -> dict[str, JSON]:
        self.at += 1
        pairs: list[tuple[str, JSON]] = []
        while self.mark() != "}":
            key = self.key()
            if self.mark() != ":":
                raise self.error("a colon")
            self.at += 1
            pairs.append((key, self.value(depth + 1)))
            if not self.goes_on("}"):
                break
        else:
            self.closed()
        return object_from_pairs(pairs)

    def array(self, depth: int) -> list[JSON]:
        self.at += 1
        items: list[JSON] = []
        while self.mark() != "]":
            items.append(self.value(depth + 1))
            if not self.goes_on("]"):
                break
        else:
            self.closed()
        return items

    def goes_on(self, closer: str) -> bool:
        """Step over a comma; False after the bracket that ends the value."""
        mark = self.mark()
        if mark == ",":
            self.at += 1
            return True
        if mark == closer:
            self.closed()
            return False
        if not mark and self.close and self.whole:
            self.completed = True
            return False
        raise self.error(f"a comma or {closer}")

    def closed(self) -> None:
        self.at += 1
        self.whole = True

    def key(self) -> str:
        if self.mark() in _TEXTS:
            return self.quoted()
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise self.error("a key in quotes")
        self.at = word.end()
        return word.group()

    def quoted(self) -> str:
        found = _TEXTS[self.text[self.at]].match(self.text, self.at)
        if found is None:
            raise JSONError("a text is not closed")
        self.at = found.end()
        self.whole = True
        return _text_of(found.group(1))

    def number(self) -> int | float:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise self.error("a number")
        self.at = found.end()
        self.whole = False  # a number at the very end may have been cut
        try:
            number = (
                float(found.group()) if found.group(1) or found.group(2) else int(found.group())
            )
        except ValueError:
            raise JSONError("a number has too many digits") from None
        if number in (float("inf"), float("-inf")):
            raise JSONError(f"the number {found.group()[:40]} is too large")
        return number

    def literal(self) -> bool | None:
        word = _WORD.match(self.text, self.at)
        if word is None or word.group() not in _WORDS:
            raise self.error("a value")
        self.at = word.end()
        self.whole = True
        return _WORDS[word.group()]
