r"""Regular expressions as grammar rules: what ``pattern`` asks of a JSON string.

The usual core is understood: literals, ``.``, classes, ``\d \w \s`` and their opposites, groups,
alternatives, counts, anchors at the ends. Whatever else there is (lookaround, back references,
word boundaries) is refused, never ignored. Endless repetition gets a bound.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, TypeAlias

__all__ = ["ENDLESS", "GrammarError", "literal", "pattern_rule"]

ENDLESS = 50
"""Most repetitions of ``*``, ``+`` and ``{n,}`` beyond the least."""

_SURROUNDING = 40  # characters on a side where the pattern is not anchored
_MOST = 2000  # llama.cpp refuses longer repetitions

Ranges: TypeAlias = list[tuple[int, int]]

_DIGIT: Final[Ranges] = [(0x30, 0x39)]
_WORD: Final[Ranges] = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
_SPACE: Final[Ranges] = [(0x09, 0x0D), (0x20, 0x20)]
_BREAKS: Final[Ranges] = [(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)]
_SURROGATES: Final = (0xD800, 0xDFFF)
# What a JSON text cannot hold as it is, and characters that are none.
_UNSAFE: Final[Ranges] = [
    (0x00, 0x1F),
    (0x22, 0x22),
    (0x5C, 0x5C),
    (0x7F, 0x7F),
    _SURROGATES,
]
_CLASSES: Final = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


class GrammarError(ValueError):
    """Raised when a schema cannot be made a grammar: where, and what is in the way."""


def literal(text: str) -> str:
    """``text`` as a quoted literal of the grammar."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def pattern_rule(pattern: str) -> str:
    """A rule for the inside of a JSON string that ``pattern`` finds a match in.

    Raises:
        GrammarError: The pattern is malformed, or uses what a grammar cannot say.
    """
    return _Reader(pattern).rule()


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        raise GrammarError("a lone surrogate is no character")
    if char in '"\\':
        return "\\" + char
    return char if code >= 0x20 and code != 0x7F else f"\\x{code:02X}"


def _complement(ranges: Sequence[tuple[int, int]]) -> Ranges:
    gaps: Ranges = []
    begin = 0
    for low, high in sorted(ranges):
        if low > begin:
            gaps.append((begin, low - 1))
        begin = max(begin, high + 1)
    return [*gaps, (begin, 0x10FFFF)] if begin <= 0x10FFFF else gaps


def _without(ranges: Ranges, taken: Ranges) -> Ranges:
    return _complement([*_complement(ranges), *taken])


def _holds(ranges: Ranges, char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)


def _written(ranges: Ranges) -> str:
    return "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in ranges)


def _class_rule(ranges: Ranges) -> str:
    """One character of ``ranges`` as it stands in a JSON text, escaped where it must be."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return literal(json.dumps(chr(ranges[0][0]), ensure_ascii=False)[1:-1])
    safe = _without(ranges, _UNSAFE)
    parts = [f"[{_written(safe)}]"] if safe else []
    if safe and safe[-1][1] == 0x10FFFF:  # shorter by what it leaves out
        parts = [f"[^{_written(_complement([*safe, _SURROGATES]))}]"]
    parts += [literal(json.dumps(char)[1:-1]) for char in '"\\\n\t' if _holds(ranges, char)]
    if not parts:
        raise GrammarError("a class holds no character that can be written")
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def rule(self) -> str:
        branches = [self.branch(outermost=True)]
        while self.take("|"):
            branches.append(self.branch(outermost=True))
        if self.at < len(self.pattern):
            raise self.refused("a bracket is closed that was not opened")
        return branches[0] if len(branches) == 1 else f"({' | '.join(branches)})"

    def branch(self, *, outermost: bool) -> str:
        around = f"{_class_rule(_complement(_BREAKS))}{{0,{_SURROUNDING}}}"
        parts = [] if not outermost or self.take("^") else [around]
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if outermost and self.ends():
                self.at += 1
                return " ".join(parts) or '""'
            parts.append(self.counted(self.item()))
        return " ".join([*parts, around] if outermost else parts) or '""'

    def ends(self) -> bool:
        rest = self.pattern[self.at :]
        return rest == "$" or rest.startswith("$|")

    def item(self) -> str:
        char = self.next()
        if char == "(":
            return self.group()
        if char == "[":
            return self.char_class()
        if char == ".":
            return _class_rule(_complement(_BREAKS))
        if char == "\\":
            return _class_rule(self.escape())
        if char in "^$*+?{":
            raise self.refused(f"{char} stands where it cannot be understood")
        return _class_rule([(ord(char), ord(char))])

    def group(self) -> str:
        if self.take("?") and not self.take(":"):
            raise self.refused("lookaround, names and flags of groups have no grammar")
        branches = [self.branch(outermost=False)]
        while self.take("|"):
            branches.append(self.branch(outermost=False))
        if not self.take(")"):
            raise self.refused("a group is not closed")
        return f"({' | '.join(branches)})"

    def char_class(self) -> str:
        negated = self.take("^")
        ranges: Ranges = []
        while not self.take("]"):
            low = self.class_member()
            if self.pattern[self.at : self.at + 1] == "-" and not self.closes_after_dash():
                self.at += 1
                ranges.append(self.span(low, self.class_member()))
            else:
                ranges += low
        return _class_rule(_complement(ranges) if negated else ranges)

    def closes_after_dash(self) -> bool:
        return self.pattern[self.at + 1 : self.at + 2] == "]"

    def class_member(self) -> Ranges:
        char = self.next()
        return self.escape() if char == "\\" else [(ord(char), ord(char))]

    def span(self, low: Ranges, high: Ranges) -> tuple[int, int]:
        begin, end = low[0][0], high[-1][1]
        if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or begin > end:
            raise self.refused("a range of characters runs backwards or from a class")
        return begin, end

    def escape(self) -> Ranges:
        char = self.next()
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return ranges if char.islower() else _complement(ranges)
        if char in _CONTROLS:
            char = _CONTROLS[char]
        elif char in "xu":
            char = self.code_point(2 if char == "x" else 4)
        elif char.isalnum():
            raise self.refused(f"\\{char} has no grammar")
        return [(ord(char), ord(char))]

    def code_point(self, digits: int) -> str:
        text = self.pattern[self.at : self.at + digits]
        self.at += digits
        try:
            return chr(int(text, 16))
        except ValueError:
            raise self.refused(f"{text!r} is no code of a character") from None

    def counted(self, item: str) -> str:
        if self.at >= len(self.pattern) or self.pattern[self.at] not in "*+?{":
            return item
        low, high = self.count()
        if self.take("+"):
            raise self.refused("possessive counts have no grammar")
        self.take("?")  # greedy or not: the same language
        return f"{item}{{{low},{high}}}"

    def count(self) -> tuple[int, int]:
        mark = self.next()
        if mark != "{":
            return {"*": (0, ENDLESS), "+": (1, 1 + ENDLESS), "?": (0, 1)}[mark]
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at : max(end, self.at)].partition(",")
        self.at = end + 1
        if end < 0 or not low.isdecimal() or (high and not high.isdecimal()):
            raise self.refused("a count is malformed")
        least = int(low)
        most = least if not comma else int(high) if high else least + ENDLESS
        if not least <= most <= _MOST:
            raise self.refused(f"a count must rise and not exceed {_MOST}")
        return least, most

    def next(self) -> str:
        if self.at >= len(self.pattern):
            raise self.refused("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def take(self, mark: str) -> bool:
        found = self.pattern.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def refused(self, why: str) -> GrammarError:
        return GrammarError(f"the pattern {self.pattern!r} cannot be made a grammar: {why}")
