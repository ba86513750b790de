"""A text that matches a simple pattern: literals, classes, groups, alternatives, repetition.

No look-around, no back references, no word boundaries: what the parser doesn't know it refuses.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import TypeAlias

from orglab.providers.simulated.random_stream import Draws

__all__ = ["HardPatternError", "pattern_text"]

_Maker: TypeAlias = Callable[[Draws], str]

_WORD = string.ascii_letters + string.digits + "_"
_PRINTABLE = string.ascii_letters + string.digits + " _-.,;:!?#+*/=()"
_CLASSES = {
    "d": string.digits,
    "w": _WORD,
    "s": " ",
    "D": string.ascii_letters,
    "W": "-.",
    "S": _WORD,
}
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_MORE = 4
_MOST = 20_000
"""Characters and repetitions that one text may take to make: a pattern may ask for billions."""


class HardPatternError(ValueError):
    """Raised when a pattern holds what this parser does not know."""


def pattern_text(pattern: str, draws: Draws) -> str:
    """A text in which ``pattern`` is found.

    Raises:
        HardPatternError: The pattern is not a simple one.
    """
    parser = _Parser(pattern)
    maker = parser.alternatives()
    if parser.at < len(pattern):
        raise HardPatternError(f"unexpected {pattern[parser.at]!r} in the pattern")
    return maker(draws)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.made = 0

    def charge(self) -> None:
        self.made += 1
        if self.made > _MOST:
            raise HardPatternError("it asks for too long a text")

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def next(self) -> str:
        mark = self.peek()
        if not mark:
            raise HardPatternError("the pattern ends too early")
        self.at += 1
        return mark

    def alternatives(self) -> _Maker:
        branches = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence())
        return lambda draws: draws.pick(branches)(draws)

    def sequence(self) -> _Maker:
        parts: list[_Maker] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated(self.atom()))
        return lambda draws: "".join(part(draws) for part in parts)

    def atom(self) -> _Maker:
        mark = self.next()
        if mark in "^$":
            return lambda _: ""
        if mark == "(":
            return self.group()
        if mark == "[":
            return _one_of(self.char_class())
        if mark == ".":
            return _one_of(_PRINTABLE)
        if mark == "\\":
            return _one_of(self.escaped())
        if mark in "*+?{":
            raise HardPatternError(f"nothing to repeat before {mark!r}")
        return lambda _: mark

    def group(self) -> _Maker:
        if self.peek() == "?":
            self.at += 1
            if self.next() != ":":
                raise HardPatternError("look-around and named groups are not known")
        inner = self.alternatives()
        if self.next() != ")":
            raise HardPatternError("a group is not closed")
        return inner

    def escaped(self) -> str:
        mark = self.next()
        if mark in _CLASSES:
            return _CLASSES[mark]
        if mark in _CONTROL:
            return _CONTROL[mark]
        if mark.isalnum():
            raise HardPatternError(f"the escape \\{mark} is not known")
        return mark

    def char_class(self) -> str:
        negated = self.peek() == "^"
        self.at += negated
        signs = ""
        while self.peek() != "]" or not signs:
            sign = self.escaped() if (mark := self.next()) == "\\" else mark
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self.escaped() if (mark := self.next()) == "\\" else mark
                sign = _span(sign, last)
            signs += sign
        self.at += 1
        return "".join(sorted(set(_PRINTABLE) - set(signs))) if negated else signs

    def repeated(self, atom: _Maker) -> _Maker:
        least, most = self.bounds()
        if self.peek() in ("?", "+") and (least, most) != (1, 1):
            self.at += 1  # lazy and possessive repetition make the same texts

        def times(draws: Draws) -> str:
            made = []
            for _ in range(draws.between(least, most)):
                self.charge()
                made.append(atom(draws))
            return "".join(made)

        return times

    def bounds(self) -> tuple[int, int]:
        mark = self.peek()
        if mark in ("*", "+", "?"):
            self.at += 1
            return {"*": (0, _MORE), "+": (1, 1 + _MORE), "?": (0, 1)}[mark]
        if mark != "{":
            return 1, 1
        end = self.pattern.find("}", self.at)
        first, comma, last = self.pattern[self.at + 1 : end].partition(",")
        if end < 0 or not first.isdecimal() or (last and not last.isdecimal()):
            raise HardPatternError("a repetition in braces is not understood")
        self.at = end + 1
        if max(len(first), len(last)) > 9:
            raise HardPatternError("it asks for too long a text")
        least = int(first)
        return least, int(last) if last else least + _MORE if comma else least


def _one_of(signs: str) -> _Maker:
    if not signs:
        raise HardPatternError("a class holds no character that can be written")
    return lambda draws: draws.pick(signs)


def _span(first: str, last: str) -> str:
    if len(first) != 1 or len(last) != 1 or ord(last) < ord(first):
        raise HardPatternError(f"the range {first}-{last} is not understood")
    return "".join(chr(code) for code in range(ord(first), min(ord(last), ord(first) + 500) + 1))
