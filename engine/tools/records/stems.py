"""Words as the record tools search them: without case, plural endings and words of no weight."""

from __future__ import annotations

from collections.abc import Iterable

from orglab.evaluators.text.normalize import fold_case, words

__all__ = ["STOP_WORDS", "stem", "stems"]

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be been before being between both but by
    can did do does doing down during each for from had has have having he her here him his how i
    if in into is it it's its itself just me more most my of off on once only or other our out over
    own s same she should so some such than that that's the their them then there these they this
    those through to too under until up very was we were what when where which while who whom why
    will with would you your
    """.split()  # noqa: SIM905 - a list would be four times as long
)
"""Words that say nothing of what a text is about; negations are not among them."""


def stem(word: str) -> str:
    """A word in small letters without its plural ending (the S-stemmer of Harman 1991)."""
    if len(word) > 3 and word.isalpha():
        if word.endswith("ies") and not word.endswith(("eies", "aies")):
            return f"{word[:-3]}y"
        if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
            return word[:-1]
        if word.endswith("s") and not word.endswith(("us", "ss")):
            return word[:-1]
    return word


def stems(text: str, without: Iterable[str] = STOP_WORDS) -> list[str]:
    """The stems of a text's words, in order, those in ``without`` left out."""
    return [stem(word) for word in words(fold_case(text)) if word not in without]
