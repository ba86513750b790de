"""Does an output name the specifications of a listing, exactly?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from orglab.evaluators.structured.field_path import nearest, no_field, text_at
from orglab.evaluators.text.normalize import find_phrase, fold, fold_case
from orglab.evaluators.text.pattern import compile_pattern, find_all
from orglab.evaluators.text.variants import Variant, Vocabulary, read_vocabulary

_SHOWN = 10


class _Checked(NamedTuple):
    """What a text says of a listing.

    Attributes:
        claims: How many variants it names.
        wrong: Those that the listing has not, in words.
        named: The specifications that it names exactly.
        left_out: The others.
        loose: The loose form: each part of it, and whether it was found.
    """

    claims: int
    wrong: Sequence[str]
    named: Sequence[str]
    left_out: Sequence[str]
    loose: Mapping[str, bool]


@dataclass(frozen=True, kw_only=True)
class SpecCheck(OutputEvaluator):
    """Exact variants in the output that the listing has not; passes with none.

    Attributes:
        file: The listings, JSON lines.
        id: The listing's id.
        key: The field of listings that holds their ids.
        specs: The field that holds the specifications by name.
        vocabulary: YAML file that declares parts: how their variants are written.
        parts: Look at these parts only; default: all of the vocabulary and of ``patterns``.
        patterns: More parts: a regular expression that finds each part's variants.
        field: Look at this field of a structured output alone.
    """

    scale: ClassVar[Scale] = "count"

    file: Path
    id: str
    key: str = "id"
    specs: str = "specs"
    vocabulary: Path | None = None
    parts: Sequence[str] = ()
    patterns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    field: str | None = None

    def __post_init__(self) -> None:
        for pattern in self.patterns.values():
            compile_pattern(pattern, ignore_case=True)

    def prepare(self, context: Context) -> None:
        """Read the vocabulary.

        Raises:
            EvaluationError: It cannot be read, or has not the parts that are asked for.
        """
        self._vocabulary(context)

    def _vocabulary(self, context: Context) -> Vocabulary:
        vocabulary = Vocabulary()
        if self.vocabulary is not None:
            document = context.document(self.vocabulary)
            vocabulary = read_vocabulary(document, self.vocabulary.name)
        known = [*vocabulary.parts, *self.patterns]
        for part in self.parts:
            if part not in known:
                close = nearest(part, known)
                hint = f"did you mean {close!r}?" if close else f"known are: {', '.join(known)}"
                raise EvaluationError(f"parts: {part!r} is not known; {hint}")
        return vocabulary

    async def look(self, output: Output, context: Context) -> Score:
        """Count the variants that the listing has not."""
        return (await self.all_scores(output, context))[0]

    def missing_scores(self, reason: str) -> Sequence[Score]:
        """Return all scores, missing."""
        shares = [
            Score(name=f"spec_check.{name}", value=None, scale="ratio", reason=reason)
            for name in ("precision", "recall", "pattern")
        ]
        return [self.score(None, reason), *shares]

    async def all_scores(self, output: Output, context: Context) -> Sequence[Score]:
        """Return that count, precision, recall, and the loose form."""
        text = text_at(output, self.field)
        if text is None:
            return self.missing_scores(no_field(self.field))
        checked = await self._checked(text, await self._listing(context), self._vocabulary(context))
        right, specs = (
            checked.claims - len(checked.wrong),
            len(checked.named) + len(checked.left_out),
        )
        found = [part for part, there in checked.loose.items() if there]
        detail = {"claims": checked.claims, "wrong": list(checked.wrong)}
        return [
            self.score(
                len(checked.wrong),
                "; ".join(checked.wrong[:_SHOWN]),
                passed=not checked.wrong,
                detail=detail,
            ),
            _share_score("precision", right, checked.claims, "it names no specification", **detail),
            _share_score(
                "recall",
                len(checked.named),
                specs,
                "the listing has no specifications",
                left_out=list(checked.left_out),
            ),
            _share_score(
                "pattern",
                len(found),
                len(checked.loose),
                "the listing has none of the loose parts",
                not_found=[part for part in checked.loose if part not in found],
            ),
        ]

    async def _listing(self, context: Context) -> dict[str, str]:
        """Return the specifications of the listing by name.

        Raises:
            EvaluationError: There is no such listing, or it has no specifications.
        """
        settings = {"file": str(self.file), "id": self.key, "show": [self.specs]}
        found = await context.tool("get_record", settings)(id=self.id)
        specs = found["record"].get(self.specs)
        if not isinstance(specs, Mapping):
            raise EvaluationError(f"{self.id}: the field {self.specs!r} holds no specifications")
        return {
            str(name): ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            for name, value in specs.items()
            if value is not None
        }

    async def _checked(
        self, text: str, specs: Mapping[str, str], vocabulary: Vocabulary
    ) -> _Checked:
        wrong: list[str] = []
        claims, read = 0, dict.fromkeys(specs, False)
        named = dict.fromkeys(specs, True)
        lines = {name: f"{name.replace('_', ' ')}: {value}" for name, value in specs.items()}
        for part in self.parts or (*vocabulary.parts, *self.patterns):
            known = vocabulary.parts.get(part) if part not in self.patterns else None
            if known is None:
                said = await self._matches(part, text)
                listed = {name: await self._matches(part, line) for name, line in lines.items()}
            else:
                said = known.variants(text)
                listed = {name: known.variants(line, listing=True) for name, line in lines.items()}
            have = [each for held in listed.values() for each in held]
            claims += len(said)
            wrong += [_wrong_phrase(part, each, have) for each in said if not _fits_any(each, have)]
            if known is None or known.required:
                for name, held in listed.items():
                    read[name] = read[name] or bool(held)
                    named[name] = named[name] and all(_fits_any(each, said) for each in held)
        for name, value in specs.items():
            if not read[name]:
                named[name] = _stands_literally(value, text)
        return _Checked(
            claims=claims,
            wrong=wrong,
            named=[name for name in specs if named[name]],
            left_out=[name for name in specs if not named[name]],
            loose=dict(vocabulary.loosely_named(text, "\n".join(lines.values()))),
        )

    async def _matches(self, part: str, text: str) -> list[Variant]:
        found = await find_all(self.patterns[part], text, ignore_case=True)
        names = dict.fromkeys(fold_case(fold(each)) for each in found)
        return [Variant(name=name) for name in names]


def _fits_any(variant: Variant, others: Sequence[Variant]) -> bool:
    return any(variant.fits(other) for other in others)


def _wrong_phrase(part: str, variant: Variant, have: Sequence[Variant]) -> str:
    listed = ", ".join(each.name for each in have) or "the listing tells none"
    return f"{part}: {variant.name} is not in the listing ({listed})"


def _stands_literally(value: str, text: str) -> bool:
    """Return whether a specification that no pattern reads stands as the listing gives it."""
    phrase, held = fold_case(fold(value)), fold_case(fold(text))
    return find_phrase(held, phrase, whole_words=True) > 0


def _share_score(name: str, part: int, whole: int, missing: str, **detail: JSON) -> Score:
    value = part / whole if whole else None
    reason = "" if whole else missing
    return Score(
        name=f"spec_check.{name}", value=value, scale="ratio", reason=reason, detail=detail
    )
