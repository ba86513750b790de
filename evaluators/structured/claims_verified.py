"""Are the claims that an output lists supported?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
)
from orglab.evaluators.structured.field_path import ABSENT, look_up
from orglab.evaluators.structured.table import listed, structured, with_least

_SHOWN = 10


class _Claim(NamedTuple):
    text: str
    verdict: JSON
    supported: bool
    why: str


@dataclass(frozen=True, kw_only=True)
class ClaimsVerified(OutputEvaluator):
    """The share of an output's claims that it calls supported; passes where all are.

    It reads verdicts that a role wrote down, such as a critic's, and does not verify again. The
    reason lists the claims that are not supported, for whoever must mend them.

    Attributes:
        field: The field with the list of claims.
        claim: Where a claim's text stands in an item.
        verdict: Where its verdict stands in an item.
        supported: Verdicts that mean supported, whatever their capitals; true does too.
        because: Where the reason of a verdict stands, if it does.
        at_least: Claims there must be; with fewer it does not pass. With 0 an empty list passes.
    """

    scale: ClassVar[Scale] = "ratio"

    field: str = "claims"
    claim: str = "claim"
    verdict: str = "verdict"
    supported: Sequence[str] = ("supported",)
    because: str = "reason"
    at_least: int = 1

    def __post_init__(self) -> None:
        if self.at_least < 0:
            raise ValueError("at_least must not be negative")

    async def look(self, output: Output, context: Context) -> Score:
        """Count the verdicts."""
        items = listed(structured(output, self.field), self.field)
        claims = [self._parse_claim(number, item) for number, item in enumerate(items)]
        open_claims = [each for each in claims if not each.supported]
        wrong = [_claim_phrase(each) for each in open_claims[:_SHOWN]]
        if len(open_claims) > _SHOWN:
            wrong.append(f"and {len(open_claims) - _SHOWN} more")
        if len(claims) < self.at_least:
            wrong.append(f"{len(claims)} claims, at least {self.at_least} asked for")
        value = 1 - len(open_claims) / len(claims) if claims else None
        reason = "; ".join(wrong) or ("" if claims else "the output lists no claims")
        detail = {
            "claims": len(claims),
            "unsupported": [{"claim": each.text, "verdict": each.verdict} for each in open_claims],
        }
        return self.score(value, reason, passed=not wrong, detail=detail)

    async def check(self, output: Output, context: Context) -> Score:
        """Check as any evaluator; too few claims never pass, and none pass where none are required."""
        score = await super().check(output, context)
        return with_least(score, score.detail["claims"], self.at_least)

    async def all_scores(self, output: Output, context: Context) -> Sequence[Score]:
        """Return the share, and how many claims are not supported."""
        score = await self.look(output, context)
        return [score, self._unsupported(len(score.detail["unsupported"]))]

    def missing_scores(self, reason: str) -> Sequence[Score]:
        """Return both scores, missing."""
        return [self.score(None, reason), self._unsupported(None, reason)]

    def _unsupported(self, count: int | None, reason: str = "") -> Score:
        name = f"{self.score_name()}.unsupported"
        return Score(name=name, value=count, scale="count", reason=reason)

    def _parse_claim(self, number: int, item: JSON) -> _Claim:
        place = f"{self.field}[{number}]"
        if not isinstance(item, Mapping):
            raise EvaluationError(f"{place} is no item with {self.claim!r} and {self.verdict!r}")
        verdict = look_up(item, self.verdict)
        if verdict is ABSENT:
            raise EvaluationError(f"{place} has no {self.verdict!r}: ask for it in the schema")
        text, why = (look_up(item, path) for path in (self.claim, self.because))
        return _Claim(
            text=text if isinstance(text, str) else place,
            verdict=verdict,
            supported=verdict is True
            or _folded_verdict(verdict) in map(_folded_verdict, self.supported),
            why=why if isinstance(why, str) else "",
        )


def _folded_verdict(verdict: JSON) -> str:
    return verdict.strip().casefold() if isinstance(verdict, str) else ""


def _claim_phrase(claim: _Claim) -> str:
    verdict = claim.verdict if isinstance(claim.verdict, str) else "not supported"
    return f"{verdict}: {claim.text!r}" + (f" ({claim.why})" if claim.why else "")
