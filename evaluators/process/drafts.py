"""Drafts: what a role wrote one after the other, and measures of texts that may look at each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    RunRecord,
    Score,
    standing_output,
)
from orglab.evaluators.structured.field_path import no_field, text_at

_VOID = ("rejected", "lapsed")


def draft_name(measure: str, number: int) -> str:
    """Return the name of a measure of one draft: ``words@2`` is that of the second."""
    return f"{measure}@{number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafting:
    """What one copy wrote in a run, in order.

    Attributes:
        drafts: Its outputs that stood before others: delivered, sent back or posted. Rejected
            ones are withdrawn from everyone's sight, and lapsed ones count as never written.
        reason: Why there are none, in words, or "".
    """

    drafts: Sequence[Output] = ()
    reason: str = ""

    def missing(self, number: int) -> str:
        """Return why draft ``number`` is missing, in words."""
        count = len(self.drafts)
        return self.reason or f"{count} draft{'s' * (count != 1)}: no draft {number}"


def drafting(run: RunRecord, role: str | None) -> Drafting:
    """Return the drafts of a role, or of one copy.

    Args:
        run: The run, however it ended.
        role: A role's or copy's name; None: the copy that wrote the run's answer.

    Raises:
        EvaluationError: The role has several copies, whose drafts are no one sequence.
    """
    if role is None:
        answer = standing_output(run)
        if isinstance(answer, str):
            return Drafting(reason=answer)
        role = answer.copy
    own = [each for each in run.outputs if role in (each.role, each.copy)]
    copies = sorted({each.copy for each in own})
    if len(copies) > 1:
        raise EvaluationError(
            f"{role!r} has copies ({', '.join(copies)}), each with drafts of its own: name one"
        )
    drafts = [each for each in own if each.fate not in _VOID]
    return Drafting(drafts=drafts, reason="" if drafts else f"{role!r} wrote no draft that stood")


def draft_detail(run: RunRecord, draft: Output) -> dict[str, JSON]:
    """Return which output a draft is, what became of it, and what obliged its writer to write it.

    ``obliged_by`` is the directive's action (``revise``, ``question``, ``reject``), ``anew`` where
    something upstream began anew, "" for a turn that nothing obliged.
    """
    turn: Mapping[str, JSON] = {}
    for event in run.events:
        if event.kind == "turn" and (event.body.get("copy"), event.body.get("visit")) == (
            draft.copy,
            draft.visit,
        ):
            turn = event.body
    directive = turn.get("directive") or {}
    action = directive.get("action") or ("anew" if turn.get("again") else "")
    return {"output": draft.id, "visit": draft.visit, "fate": draft.fate, "obliged_by": action}


@dataclass(frozen=True, kw_only=True)
class TextMeasure(OutputEvaluator):
    """A measure of a text, also of each draft.

    A subclass writes ``measured``. With ``drafts`` every score also comes for each draft of the
    role that is measured, under the name ``NAME@1`` (the first draft), ``NAME@2``, …; at least
    two, of which a missing one says why. ``min`` and ``max`` judge the output alone.

    Attributes:
        drafts: Measure each draft too.
        field: Look at this field of a structured output alone.
    """

    drafts: bool = False
    field: str | None = None

    @abstractmethod
    def measured(self, text: str) -> Sequence[Score]:
        """Return the scores of a text, the measure itself first; always the same names.

        Raises:
            EvaluationError: It cannot be measured.
        """

    async def look(self, output: Output, context: Context) -> Score:
        """Return the measure itself."""
        return self._scores_of(output)[0]

    async def all_scores(self, output: Output, context: Context) -> Sequence[Score]:
        """Return the scores of an output."""
        return self._scores_of(output)

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Return the scores of the output; with ``drafts`` also those of each draft."""
        found = await super().evaluate(run, context)
        return [*found, *self._drafts(run)] if self.drafts else found

    def _scores_of(self, output: Output) -> Sequence[Score]:
        text = text_at(output, self.field)
        return self.missing_scores(no_field(self.field)) if text is None else self.measured(text)

    def _drafts(self, run: RunRecord) -> Iterator[Score]:
        found = drafting(run, self.role)
        for number in range(1, max(2, len(found.drafts)) + 1):
            draft = found.drafts[number - 1] if number <= len(found.drafts) else None
            scores = (
                self.missing_scores(found.missing(number))
                if draft is None
                else self._scores_of(draft)
            )
            origin = {} if draft is None else draft_detail(run, draft)
            for score in scores:
                name = draft_name(score.name, number)
                yield replace(score, name=name, passed=None, detail={**origin, **score.detail})
