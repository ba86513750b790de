"""The tool `verify_claim`: does the store of records bear a claim out?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from orglab.engine.tools.records.base import RecordsTool
from orglab.engine.tools.records.bm25 import Index, stem
from orglab.engine.tools.records.claim_parser import (
    REPORTING,
    Quantity,
    Statement,
    agree,
    read_statement,
)
from orglab.engine.tools.records.store import Passage, RecordStore, texts_of
from orglab.engine.tools.table.base import arguments_schema, text
from orglab.evaluators.text.normalize import sentences
from orglab.providers.base import JSON, ToolError

LONGEST_CLAIM = 500  # characters
_LOOKED_AT = 100  # passages
_TOGETHER = 3  # passages of one record that may bear a claim out together


class _ReadPassage(NamedTuple):
    passage: Passage
    states: Statement


class _PassageIndex(NamedTuple):
    """The passages of a store, read; ``rare`` is how much a stem weighs."""

    passages: Sequence[_ReadPassage]
    nearest: Index
    rare: Mapping[str, float]
    unknown: float


class _RecordCase(NamedTuple):
    """What the passages of one record say to a claim.

    Attributes:
        passages: The passages.
        covered: The share of the claim's words, by weight, that stand in them, from 0 to 1.
        lacking: Figures of the claim that do not stand in them.
        against: What they say where the claim says another figure.
        denial: The claim denies and they do not, or the other way round.
    """

    passages: Sequence[_ReadPassage]
    covered: float
    lacking: Sequence[Quantity]
    against: Sequence[tuple[Quantity, Quantity]]
    denial: bool


@dataclass(frozen=True, kw_only=True)
class VerifyClaim(RecordsTool):
    """Compares a claim with the store by words and figures alone; it understands nothing.

    Attributes:
        text: The field, or fields, that hold what is known; a map or list in it counts with all it
            holds. Default: all fields but the id.
        threshold: The share of the claim's words, by weight, that must stand in one record.
        synonyms: For a word, other words that mean the same here: ``{gpu: [graphics]}``.
        ignore: Words of claims that do not count.
        limit: Most pieces of evidence.
    """

    text: str | Sequence[str] = ()
    threshold: float = 0.6
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    limit: int = 3

    description: ClassVar[str] = (
        "Compares one claim with the stored records, by its words and figures. The verdict is "
        "supported, contradicted (a record gives another figure) or unsupported (no record says "
        "so). Give one plain statement at a time."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["claim"],
        claim={
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_CLAIM,
            "description": "One statement, in plain words, with its figures and units.",
        },
    )

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is wrong.
        """
        super().__post_init__()
        if not 0 < self.threshold <= 1:
            raise ValueError(f"`threshold: {self.threshold}` must be above 0 and at most 1")
        if not 1 <= self.limit <= 20:
            raise ValueError(f"`limit: {self.limit}` must be a whole number from 1 to 20")

    def compute(self, store: RecordStore, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the verdict, with what it rests on."""
        fields = [self.text] if isinstance(self.text, str) else list(self.text)
        fields = fields or [name for name in store.fields if name != self.id]
        store.need(fields, "text")
        claim = text(arguments, "claim")
        if len(claim) > LONGEST_CLAIM:
            raise ToolError(f"`claim` is longer than {LONGEST_CLAIM} characters: split it")
        states = self._parse_claim(claim)
        if not states.stems and not states.figures:
            raise ToolError("the claim has no word to look for: say what is claimed of what")
        read = store.once(
            ("passages", *fields, *self._synonym_stems().items()),
            lambda: self._read_passages(store, fields),
        )
        cases = self._record_cases(store, read, states)
        best = min(cases, key=self._rank, default=None)
        verdict, reason = self._verdict(best)
        return {
            "claim": claim,
            "verdict": verdict,
            "score": 0.0 if best is None else round(_claim_score(best, states), 3),
            "reason": reason,
            "evidence": self._evidence(store, read, states, cases),
            "searched": len(store.records) if (seen := self.allowed(store)) is None else sum(seen),
        }

    # -- reading

    def _synonym_stems(self) -> dict[str, str]:
        return {
            stem(other.casefold()): stem(word.casefold())
            for word, others in sorted(self.synonyms.items())
            for other in others
        }

    def _parse_claim(self, text: str) -> Statement:
        """Parse the claim; reporting words count only where there are no others."""
        ignored = frozenset(word.casefold() for word in self.ignore)
        states = read_statement(text, self._synonym_stems(), ignored | REPORTING)
        return states if states.stems else read_statement(text, self._synonym_stems(), ignored)

    def _read_passages(self, store: RecordStore, fields: Sequence[str]) -> _PassageIndex:
        same = self._synonym_stems()
        passages = [
            _ReadPassage(passage, read_statement(_with_name(passage), same))
            for passage in _passages(store, fields)
        ]
        index = Index([_index_text(read.states) for read in passages])
        often = Counter(each for read in passages for each in read.states.stems)
        count = len(passages)
        rare = {each: math.log(1 + count / times) for each, times in often.items()}
        return _PassageIndex(passages, index, rare, math.log(1 + count))

    # -- comparing

    def _record_cases(
        self, store: RecordStore, read: _PassageIndex, states: Statement
    ) -> list[_RecordCase]:
        allowed = self.allowed(store)
        seen = None if allowed is None else [allowed[one.passage.record] for one in read.passages]
        by_record: dict[int, list[_ReadPassage]] = {}
        for found in read.nearest.search(_index_text(states), _LOOKED_AT, seen):
            one = read.passages[found.position]
            by_record.setdefault(one.passage.record, []).append(one)
        return [self._record_case(read, states, passages) for passages in by_record.values()]

    def _record_case(
        self, read: _PassageIndex, claim: Statement, passages: Sequence[_ReadPassage]
    ) -> _RecordCase:
        """Choose the passages of one record that together say most of the claim."""
        chosen: list[_ReadPassage] = []
        strength = -math.inf
        for _ in range(_TOGETHER):
            ranked = [
                (_match_strength(read, claim, [*chosen, one]), one)
                for one in passages
                if one not in chosen
            ]
            best, one = max(ranked, key=lambda pair: pair[0], default=(-math.inf, None))
            if one is None or best <= strength:
                break
            chosen.append(one)
            strength = best
        lacking = _missing_quantities(claim, chosen)
        return _RecordCase(
            passages=chosen,
            covered=_word_coverage(read, claim, chosen),
            lacking=lacking,
            against=list(self._contradictions(read, claim, lacking, passages)),
            denial=claim.denies is not chosen[0].states.denies,
        )

    def _contradictions(
        self,
        read: _PassageIndex,
        claim: Statement,
        lacking: Sequence[Quantity],
        passages: Sequence[_ReadPassage],
    ) -> Iterator[tuple[Quantity, Quantity]]:
        """Yield figures of the same kind with another value, in passages about the same."""
        for one in passages:
            if _word_coverage(read, claim, [one]) < self.threshold:
                continue
            for figure in lacking:
                others = [each for each in one.states.figures if each.kind == figure.kind != ""]
                yield from ((figure, other) for other in others)

    # -- telling

    def _is_supported(self, case: _RecordCase) -> bool:
        return case.covered >= self.threshold and not case.lacking and not case.denial

    def _rank(self, case: _RecordCase) -> tuple[bool, bool, float, int, int]:
        """Return a sort key: supporting records first, then contradicting ones."""
        first = case.passages[0].passage.record
        against = bool(case.against)
        return not self._is_supported(case), not against, -case.covered, len(case.lacking), first

    def _verdict(self, case: _RecordCase | None) -> tuple[str, str]:
        if case is None:
            return "unsupported", "no record has any word of the claim"
        if self._is_supported(case):
            return "supported", ""
        if case.against:
            claimed, found = case.against[0]
            return "contradicted", f"a record says {found.written!r}, the claim {claimed.written!r}"
        if case.covered < self.threshold:
            share = f"{case.covered:.0%} of its words by weight, {self.threshold:.0%} asked for"
            return "unsupported", f"the nearest record has {share}"
        if case.lacking:
            missing = ", ".join(repr(figure.written) for figure in case.lacking)
            return "unsupported", f"the nearest record does not say {missing}"
        return "unsupported", "one denies what the other says: the claim or the nearest record"

    def _evidence(
        self,
        store: RecordStore,
        read: _PassageIndex,
        claim: Statement,
        cases: Sequence[_RecordCase],
    ) -> list[dict[str, JSON]]:
        ranked = [one for case in sorted(cases, key=self._rank) for one in case.passages]
        return [
            {
                "id": store.records[one.passage.record].get(self.id),
                "field": one.passage.field,
                "text": one.passage.text,
                "score": round(_word_coverage(read, claim, [one]), 3),
            }
            for one in ranked[: self.limit]
        ]


def _passages(store: RecordStore, fields: Sequence[str]) -> Iterator[Passage]:
    for at, record in enumerate(store.records):
        for place, held in texts_of(record, fields):
            for sentence in sentences(held):
                yield Passage(at, place, sentence)


def _with_name(passage: Passage) -> str:
    """Return the text, headed by its key where it stands in a map: ``gpu: RTX 4060``."""
    _, dot, name = passage.field.rpartition(".")
    return f"{name.replace('_', ' ')}: {passage.text}" if dot else passage.text


def _index_text(states: Statement) -> str:
    """Return what the index holds of a passage: its stems, and each quantity as one word."""
    figures = (
        f"{kind}{value:g}" if isinstance(value, float) else f"{kind}{value}"
        for kind, value, *_ in states.figures
    )
    return " ".join([*sorted(states.stems), *figures])


def _missing_quantities(claim: Statement, passages: Sequence[_ReadPassage]) -> list[Quantity]:
    given = [figure for one in passages for figure in one.states.figures]
    return [each for each in claim.figures if not any(agree(each, other) for other in given)]


def _word_coverage(
    read: _PassageIndex, claim: Statement, passages: Sequence[_ReadPassage]
) -> float:
    """Return the share of the claim's words, by weight, in the passages; of its figures if it has no words."""
    if not claim.stems:
        return 1 - len(_missing_quantities(claim, passages)) / len(claim.figures)
    said = frozenset[str]().union(*(one.states.stems for one in passages))
    weights = {each: read.rare.get(each, read.unknown) for each in sorted(claim.stems)}
    return sum(weight for each, weight in weights.items() if each in said) / sum(weights.values())


def _match_strength(
    read: _PassageIndex, claim: Statement, passages: Sequence[_ReadPassage]
) -> float:
    lacking = len(_missing_quantities(claim, passages))
    return _word_coverage(read, claim, passages) - lacking / max(1, len(claim.figures))


def _claim_score(case: _RecordCase, claim: Statement) -> float:
    """Return how much of the claim is supported, 0 to 1: by words, times the share of its figures."""
    figures = len(claim.figures)
    return case.covered * (1 - len(case.lacking) / figures if figures else 1.0)
