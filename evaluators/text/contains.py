"""Does an output contain a text?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from orglab.evaluators.base import Context, Output, OutputEvaluator, Scale, Score
from orglab.evaluators.structured.field_path import (
    ABSENT,
    no_field,
    no_reference,
    reference_answer,
    text_at,
)
from orglab.evaluators.text.normalize import find_phrase, fold, fold_case


@dataclass(frozen=True, kw_only=True)
class Contains(OutputEvaluator):
    """Whether the output contains a text; both sides are normalised.

    Attributes:
        text: The text; without ``any_of`` and ``all_of`` the default is the unit's reference.
        any_of: Texts of which one must stand there.
        all_of: Texts which all must stand there.
        ignore_case: Capitals do not matter.
        whole_words: ``may`` does not stand in ``mayor``.
        field: Look at this field of a structured output alone.
        reference: Column of the unit with the reference answer.
    """

    scale: ClassVar[Scale] = "binary"

    text: str | None = None
    any_of: Sequence[str] = ()
    all_of: Sequence[str] = ()
    ignore_case: bool = False
    whole_words: bool = False
    field: str | None = None
    reference: str = "reference"

    def __post_init__(self) -> None:
        given = [*self.any_of, *self.all_of, *([] if self.text is None else [self.text])]
        if not all(fold(each) for each in given):
            raise ValueError("an empty text stands everywhere: give a text with characters in it")

    async def look(self, output: Output, context: Context) -> Score:
        """Look for each of the texts."""
        wanted: Any = self.text
        if wanted is None and not self.any_of and not self.all_of:
            wanted = reference_answer(context, self.reference)
            if wanted is ABSENT:
                return self.score(None, no_reference(self.reference, "text"))
        held = text_at(output, self.field)
        if held is None:
            return self.score(False, no_field(self.field))
        every = [*self.all_of, *([] if wanted is None else [str(wanted)])]
        missing = [each for each in every if not self._occurrences(held, each)]
        any_stands = not self.any_of or any(self._occurrences(held, each) for each in self.any_of)
        reasons = [f"does not contain {each!r}" for each in missing]
        if not any_stands:
            reasons.append("contains none of " + ", ".join(repr(each) for each in self.any_of))
        return self.score(not reasons, "; ".join(reasons), detail={"missing": missing})

    def _occurrences(self, held: str, wanted: str) -> int:
        text, phrase = fold(held), fold(wanted)
        if self.ignore_case:
            text, phrase = fold_case(text), fold_case(phrase)
        return find_phrase(text, phrase, whole_words=self.whole_words)
