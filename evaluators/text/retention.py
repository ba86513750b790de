"""How much of a draft stands in the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from rapidfuzz.distance import LCSseq

from orglab.evaluators.base import Context, Evaluator, RunRecord, Score
from orglab.evaluators.process.drafts import draft_detail, draft_name, drafting
from orglab.evaluators.structured.field_path import no_field, text_at
from orglab.evaluators.text.normalize import fold_case, words


def kept_share(old: str, new: str) -> float | None:
    """Return the share of the words of ``old`` in ``new`` in the same order; None: no words.

    Texts are normalised; capitals do not matter.
    """
    before, after = words(fold_case(old)), words(fold_case(new))
    return LCSseq.similarity(before, after) / len(before) if before else None


@dataclass(frozen=True, kw_only=True)
class KeptShare(Evaluator):
    """The share of each draft that its successor keeps, and the mean of these.

    ``kept_share@2`` compares the second draft with the first.

    Attributes:
        role: Whose drafts (a role or one copy); default: the copy that wrote the answer.
        field: Look at this field of a structured output alone.
    """

    role: str | None = None
    field: str | None = None

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Return the mean, then each pair of successive drafts; missing where there is no second one."""
        each = list(self._pairs(run))
        values = [score.value for score in each if isinstance(score.value, float)]
        if not values:
            return [_kept_score("kept_share", None, each[0].reason), *each]
        return [_kept_score("kept_share", fmean(values), pairs=len(values)), *each]

    def _pairs(self, run: RunRecord) -> Iterator[Score]:
        found = drafting(run, self.role)
        if len(found.drafts) < 2:
            yield _kept_score(draft_name("kept_share", 2), None, found.missing(2))
        for number, (old, new) in enumerate(pairwise(found.drafts), 2):
            before, after = text_at(old, self.field), text_at(new, self.field)
            name, detail = draft_name("kept_share", number), draft_detail(run, new)
            if before is None or after is None:
                yield _kept_score(name, None, no_field(self.field), **detail)
                continue
            share = kept_share(before, after)
            reason = "" if share is not None else "the draft before has no words"
            yield _kept_score(name, share, reason, **detail)


def _kept_score(name: str, value: float | None, reason: str = "", **detail: object) -> Score:
    return Score(name=name, value=value, scale="ratio", reason=reason, detail=detail)
