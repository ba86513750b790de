"""How reviews went: first-try approval, questions, rejects, forced accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orglab.evaluators.base import Context, Evaluator, Output, RunRecord, Score
from orglab.results.records import Verdict

_COUNTED: Final = {
    "questions": "question",
    "rejects": "reject",
    "revisions": "revise",
    "comments": "comment",
}
_SPOILS: Final = {"reject": {"reject"}, "obliging": {"question", "revise", "reject"}}


@dataclass(frozen=True, kw_only=True)
class Approvals(Evaluator):
    """What reviewers said.

    *First-try approval*: the output was accepted without any reject. A question or a revision
    does not spoil it, unless ``counts: obliging`` says so; a forced accept of a rejected output
    does. A coin's verdict is no review.

    Attributes:
        role: Whose outputs; default: all of the link's subordinates where ``link`` is given, else
            for first-try approval the role that wrote the answer and for the counts all roles.
        link: Reviews by this authority link alone.
        counts: What spoils first-try approval: a reject, or anything that obliges.
    """

    role: str | None = None
    link: str | None = None
    counts: Literal["reject", "obliging"] = "reject"

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Return first-try approval and the counts; missing where they cannot be known."""
        verdicts = self._verdicts(run, self.role)
        return [self._first_try(run), *self._counts(run, verdicts), *self._reviews(run, verdicts)]

    def _verdicts(self, run: RunRecord, role: str | None) -> list[Verdict]:
        wrote = _writers(run)
        return [
            verdict
            for verdict in run.verdicts
            if self.link in (None, verdict.link)
            and (role is None or role in wrote.get(verdict.output, {verdict.copy}))
        ]

    def _looked_at(self, run: RunRecord, kind: str, role: str | None) -> list[str]:
        """Return outputs that events of a kind (``check``, ``unreviewed``) name."""
        wrote = _writers(run)
        outputs = [
            str(event.body.get("output"))
            for event in run.events
            if event.kind == kind and self.link in (None, event.body.get("link"))
        ]
        return [each for each in outputs if role is None or role in wrote.get(each, ())]

    def _first_try(self, run: RunRecord) -> Score:
        value = self._accepted(run)
        if isinstance(value, str):
            return Score(name="first_try_approval", value=None, scale="binary", reason=value)
        return Score(name="first_try_approval", value=value, scale="binary", passed=value)

    def _accepted(self, run: RunRecord) -> bool | str:
        """Return whether it was accepted at the first try, or why that is unknown."""
        if run.status != "completed":
            return f"{run.status}: nothing was accepted for good"
        role = self.role or (None if self.link else run.answer.role if run.answer else None)
        verdicts = [verdict for verdict in self._verdicts(run, role) if verdict.by != "coin"]
        if any(verdict.action in _SPOILS[self.counts] for verdict in verdicts):
            return False
        checked = self._looked_at(run, "check", role)  # one that passes leaves no verdict
        reviewed = {*checked, *(verdict.output for verdict in verdicts)}
        outputs = [each for each in run.outputs if role is None or role in (each.role, each.copy)]
        outputs = outputs if role else [each for each in outputs if each.id in reviewed]
        return self._delivered(outputs, reviewed)

    def _delivered(self, outputs: Sequence[Output], reviewed: set[str]) -> bool | str:
        if not any(output.id in reviewed for output in outputs):
            skipped = sum(output.unreviewed for output in outputs)
            return f"no review took place ({skipped} failed)" if skipped else "no review took place"
        delivered = [output for output in outputs if output.fate == "delivered"]
        if not delivered:
            return "no reviewed output was delivered"
        last = delivered[-1]
        if last.unreviewed and last.id not in reviewed:
            return "the delivered output was not reviewed: its review failed"
        return True

    def _counts(self, run: RunRecord, verdicts: Sequence[Verdict]) -> Iterator[Score]:
        missing = self._uncounted(run, verdicts)
        forced = [verdict for verdict in verdicts if verdict.forced]
        outputs = {verdict.output for verdict in forced}
        yield _count_score("forced_accepts", forced, missing, value=len(outputs))
        for name, action in _COUNTED.items():
            yield _count_score(name, [each for each in verdicts if each.action == action], missing)

    def _uncounted(self, run: RunRecord, verdicts: Sequence[Verdict]) -> str:
        """Return why counts are missing, or ""."""
        if run.status in ("failed", "running"):
            return f"{run.status}: not all reviews took place"
        looked_at = verdicts or self._looked_at(run, "check", self.role)
        return "" if looked_at else "no review took place"

    def _reviews(self, run: RunRecord, verdicts: Sequence[Verdict]) -> Iterator[Score]:
        reviews = [verdict for verdict in verdicts if verdict.by != "coin"]
        yield _count_score("reviews", reviews, "")
        skipped = self._looked_at(run, "unreviewed", self.role)
        yield Score(name="unreviewed", value=len(skipped), scale="count")


def _writers(run: RunRecord) -> dict[str, set[str]]:
    """Return role and copy that wrote each output."""
    return {output.id: {output.role, output.copy} for output in run.outputs}


def _count_score(
    name: str, verdicts: Sequence[Verdict], missing: str, *, value: int | None = None
) -> Score:
    if missing:
        return Score(name=name, value=None, scale="count", reason=missing)
    detail = {
        "by_link": dict(sorted(Counter(verdict.link for verdict in verdicts).items())),
        "by_source": dict(sorted(Counter(verdict.by for verdict in verdicts).items())),
    }
    return Score(
        name=name,
        value=len(verdicts) if value is None else value,
        scale="count",
        detail=detail,
    )
