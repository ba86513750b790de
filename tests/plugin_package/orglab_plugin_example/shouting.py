"""How much of a text is written in capitals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from orglab.evaluators.base import Context, Output, OutputEvaluator, Scale, Score

__all__ = ["Shouting"]


@dataclass(frozen=True, kw_only=True)
class Shouting(OutputEvaluator):
    """Share of the letters that are capitals.

    Attributes:
        ignore: Letters that do not count, such as those of abbreviations.
    """

    scale: ClassVar[Scale] = "ratio"

    ignore: str = ""

    async def look(self, output: Output, context: Context) -> Score:
        """Counts; a text without letters is missing."""
        letters = [each for each in output.text if each.isalpha() and each not in self.ignore]
        if not letters:
            return self.score(None, "no letters in the text")
        loud = sum(letter.isupper() for letter in letters)
        return self.score(loud / len(letters), f"{loud} of {len(letters)} letters are capitals")
