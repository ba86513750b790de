"""Does an output match a regular expression, and how often?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar, Final

import regex

from orglab.evaluators.base import (
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
)
from orglab.evaluators.structured.field_path import no_field, text_at
from orglab.evaluators.text.normalize import fold_lines, fold_pattern
from orglab.providers.structured_output.pattern_size import refuse_large

SECONDS: Final = 1.0
"""Time limit of one search."""

_LONGEST_TEXT = 1_000_000
_MOST_MATCHES = 100_000


@dataclass(frozen=True, kw_only=True)
class Pattern(OutputEvaluator):
    r"""Whether a regular expression (of the ``regex`` package) is found, or how often.

    The text is normalised line by line, so write one space where the text may have several; ``^``
    and ``$`` are the ends of the text, or of each line with ``(?m)``.

    Attributes:
        pattern: The regular expression.
        count: The value is the number of matches instead of true or false.
        ignore_case: Capitals do not matter.
        field: Look at this field of a structured output alone.
    """

    pattern: str
    count: bool = False
    ignore_case: bool = False
    field: str | None = None

    scales: ClassVar[dict[bool, Scale]] = {True: "count", False: "binary"}

    def __post_init__(self) -> None:
        compile_pattern(self.pattern, ignore_case=self.ignore_case)

    def score_scale(self) -> Scale:
        """Return ``count`` or ``binary``."""
        return self.scales[self.count]

    async def look(self, output: Output, context: Context) -> Score:
        """Search for at most a second."""
        held = text_at(output, self.field)
        if held is None:
            reason = no_field(self.field)
            return self.score(None, reason) if self.count else self.score(False, reason)
        matches = await find_all(
            self.pattern, held, ignore_case=self.ignore_case, at_most=None if self.count else 1
        )
        detail = {"matches": [match[:200] for match in matches[:20]]}
        if self.count:
            return self.score(len(matches), detail=detail)
        reason = "" if matches else f"nothing matches the pattern {self.pattern!r}"
        return self.score(bool(matches), reason, detail=detail)


async def find_all(
    pattern: str, text: str, *, ignore_case: bool = False, at_most: int | None = None
) -> list[str]:
    """Return the matches of ``pattern`` in ``text``, both normalised, without overlaps.

    The search runs in a thread and lets others run beside it.

    Args:
        pattern: A regular expression.
        text: Where to look.
        ignore_case: Capitals do not matter.
        at_most: Stop after so many.

    Raises:
        EvaluationError: It took longer than a second, found too much, or the text is too long.
        ValueError: The pattern is wrong.
    """
    compiled = compile_pattern(pattern, ignore_case=ignore_case)
    if len(text) > _LONGEST_TEXT:
        raise EvaluationError(f"a text of {len(text)} characters is too long for a pattern")
    return await asyncio.to_thread(_search, compiled, fold_lines(text), at_most)


def compile_pattern(pattern: str, *, ignore_case: bool = False) -> regex.Pattern[str]:
    """Return the pattern, normalised and compiled.

    Raises:
        ValueError: It is no regular expression, too long, or repeats too much.
    """
    refuse_large(pattern)
    try:
        return regex.compile(fold_pattern(pattern), regex.IGNORECASE if ignore_case else 0)
    except (regex.error, RecursionError) as problem:
        raise ValueError(
            f"the pattern {pattern!r} is not a regular expression: {problem}"
        ) from None


def _search(compiled: regex.Pattern[str], text: str, at_most: int | None) -> list[str]:
    found: list[str] = []
    try:
        for match in compiled.finditer(text, timeout=SECONDS, concurrent=True):
            found.append(match.group())  # a timeout must keep nothing half done
            if at_most is not None and len(found) >= at_most:
                break
            if len(found) > _MOST_MATCHES:
                raise EvaluationError(f"more than {_MOST_MATCHES} matches of {compiled.pattern!r}")
    except TimeoutError:
        raise EvaluationError(
            f"the pattern {compiled.pattern!r} took longer than {SECONDS:g} s: "
            "a repetition inside a repetition, such as (a+)+, tries too many ways"
        ) from None
    return found
