"""Text as all measures and checks read it: normalised, split into words and sentences.

One normalisation for texts and for what they are compared with (``docs/reference/evaluators.md`` lists it):

1. characters that nobody sees go: U+200B, U+FEFF, U+2060 and the soft hyphen U+00AD;
2. Unicode NFC, so that a letter and its accent are one character;
3. quotation marks and apostrophes become ``"`` and ``'``, U+2010 and U+2011 become ``-``;
4. each run of white space becomes one space.

Compatibility forms stay apart (full-width digits are not ``12``), look-alike letters of another
alphabet too, and so do en and em dashes. Records keep the text as it was written.
"""

from __future__ import annotations

import re
import unicodedata

import regex

_UNSEEN = dict.fromkeys((0x200B, 0xFEFF, 0x2060, 0x00AD))
_QUOTES = {ord(mark): "'" for mark in "\u2018\u2019\u201a\u201b\u2039\u203a\u02bc"} | {
    ord(mark): '"' for mark in "\u201c\u201d\u201e\u201f\xab\xbb"
}
_HYPHENS = {0x2010: "-", 0x2011: "-"}
_LINE_END = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")
_BLANK = regex.compile(r"[^\S\n]")
_WORD = regex.compile(
    r"""
    [\p{L}\p{N}] [\p{L}\p{M}\p{N}\u200c\u200d]*
    (?: '[\p{L}\p{N}] [\p{L}\p{M}\p{N}\u200c\u200d]*     # it's, l'eau
      | (?<=\p{Nd}) [.,] \p{Nd} [\p{L}\p{M}\p{N}]*       # 3.5, 1,036
    )*
    """,
    regex.VERBOSE,
)
WORD_BEGINS = r"(?<![\p{L}\p{M}\p{N}])(?<![\p{L}\p{N}]')"
WORD_ENDS = r"(?![\p{L}\p{M}\p{N}])(?!'[\p{L}\p{N}])"
"""Patterns: no letter, mark or digit before or behind, nor an apostrophe between letters."""
_SENTENCE_END = regex.compile(r"""(?<=[.!?…][\p{Pe}\p{Pf}"']*)\s+|(?<=[\u3002\uff01\uff1f])""")


def _marks_folded(text: str) -> str:
    seen = unicodedata.normalize("NFC", text.translate(_UNSEEN))
    return seen.translate(_QUOTES | _HYPHENS)


def fold(text: str) -> str:
    """Return the text normalised, on one line, without white space at its ends."""
    return " ".join(_marks_folded(text).split())


def fold_lines(text: str) -> str:
    r"""Return the text normalised line by line: every line end is ``\n``; blanks at line ends go."""
    lines = _LINE_END.sub("\n", _marks_folded(text)).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines)


def fold_case(text: str) -> str:
    """Return a folded text without its differences of case."""
    return unicodedata.normalize("NFC", text.casefold())


def fold_pattern(pattern: str) -> str:
    r"""Normalise a pattern as ``fold_lines`` does its text, but for the number of its blanks.

    A folded hyphen is escaped, so that it makes no range inside ``[…]``.
    """
    seen = unicodedata.normalize("NFC", pattern.translate(_UNSEEN)).translate(_QUOTES)
    hyphened = re.sub("[\u2010\u2011]", r"\\-", seen)
    return _BLANK.sub(" ", _LINE_END.sub("\n", hyphened))


def words(text: str) -> list[str]:
    """Return the words of a text, as written, after normalisation.

    A word is a run of letters, marks and digits of any alphabet. An apostrophe between letters
    belongs to it (``couldn't``), so do a point and a comma between digits (``3.5``, ``1,036``); a
    hyphen does not (``state-of-the-art`` is four words). Text without spaces between words
    (Chinese, Thai) counts one word a run.
    """
    return _WORD.findall(fold(text))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text: what ends in ``. ! ? …`` before a blank, or at a line's end.

    A line without a word is none. Abbreviations (``e.g. this``) count as ends: a known limit.
    """
    found = []
    for line in fold_lines(text).split("\n"):
        found += [part.strip() for part in _SENTENCE_END.split(line) if _WORD.search(part)]
    return found


def find_phrase(text: str, phrase: str, *, whole_words: bool) -> int:
    """Return how often a folded phrase stands in a folded text, without overlaps.

    Args:
        text: Where to look, folded.
        phrase: What to look for, folded; "" is never found.
        whole_words: No letter, mark or digit may touch it, nor an apostrophe with a letter behind
            it: ``could`` does not stand in ``couldn't``.
    """
    if not phrase:
        return 0
    if not whole_words:
        return text.count(phrase)
    before = WORD_BEGINS if _WORD.match(phrase[0]) else ""
    after = WORD_ENDS if unicodedata.category(phrase[-1])[0] in "LMN" else ""
    return len(regex.findall(before + regex.escape(phrase, special_only=True) + after, text))
