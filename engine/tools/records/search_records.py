"""The tool `search_records`: the records whose text is nearest to some words, or to their sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from orglab.engine.tools.records.base import RecordsTool
from orglab.engine.tools.records.bm25 import SearchHit
from orglab.engine.tools.records.embedding_cache import Matrix, embedder_of, kept_vectors, pieces
from orglab.engine.tools.records.store import RecordStore, texts_of
from orglab.engine.tools.table.base import arguments_schema, integer, text
from orglab.providers.base import JSON, ProviderError, ToolError
from orglab.providers.embedder import Embedder

LONGEST_QUERY = 1_000  # characters
_MOST = 50
_DIGITS = 6
_WORDS = (
    "Searches the records for words and gives the nearest ones, nearest first. "
    "It compares words, not meanings: try other words where little is found."
)
_MEANING = (
    "Searches the records for what a text means and gives the nearest ones, nearest first, by the "
    "cosine of the vectors that {embedder} gives; also far ones are given, with a low score."
)


class _Pieces(NamedTuple):
    """Vectors of the pieces of all records, and whose each is."""

    record: np.ndarray[Any, np.dtype[np.int64]]
    vectors: Matrix


@dataclass(frozen=True, kw_only=True)
class SearchRecords(RecordsTool):
    """Lexical search by BM25, or search by meaning through an embedder.

    Attributes:
        text: The field, or fields, that are searched; a map or list in it counts with all it holds.
        limit: Results where the call does not say how many.
        by: What is compared: words, or the meaning that an embedder's vectors stand for.
        embed: The embedder, by meaning: ``provider``, ``model`` and its options.
        embed_file: A file of weights for it.
    """

    text: str | Sequence[str]
    limit: int = 5
    by: Literal["words", "meaning"] = "words"
    embed: Mapping[str, JSON] = field(default_factory=dict)
    embed_file: Path | None = None

    description: ClassVar[str] = _WORDS
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["query"],
        query={
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_QUERY,
            "description": "A few words to look for.",
        },
        limit={
            "type": "integer",
            "minimum": 1,
            "maximum": _MOST,
            "description": "How many records, at most.",
        },
    )

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is wrong.
        """
        super().__post_init__()
        if not 1 <= self.limit <= _MOST:
            raise ValueError(f"`limit: {self.limit}` must be a whole number from 1 to {_MOST}")
        if self.by == "words" and (self.embed or self.embed_file):
            raise ValueError(
                "`embed` is for searching by meaning: write `by: meaning`, or leave it"
            )
        if self.by == "meaning":
            if not self.embed:
                raise ValueError(
                    "`by: meaning` needs `embed`, such as {provider: llama, model: smollm2}"
                )
            named = f"{self.embed.get('provider')} {self.embed.get('model') or ''}".rstrip()
            _ = self._embedder  # wrong settings are refused before anything runs
            # The description is the class's where words are compared: this tool alone is another.
            object.__setattr__(self, "description", _MEANING.format(embedder=named))

    @cached_property
    def _embedder(self) -> Embedder:
        return embedder_of(self.embed, self.embed_file)

    def compute(self, store: RecordStore, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the nearest records, each with its score."""
        fields = [self.text] if isinstance(self.text, str) else list(self.text)
        store.need(fields, "text")
        query = text(arguments, "query")
        if len(query) > LONGEST_QUERY:
            raise ToolError(f"`query` is longer than {LONGEST_QUERY} characters: ask for less")
        limit = integer(arguments, "limit", self.limit, _MOST)
        allowed = self.allowed(store)
        if self.by == "meaning":
            found = self._by_meaning(store, fields, query, limit, allowed)
        else:
            found = store.index(fields).search(query, limit, allowed)
        records = [
            {
                "id": store.records[at].get(self.id),
                "score": score,
                **self._other_fields(store.records[at]),
            }
            for at, score in found
        ]
        searched = len(store.records) if allowed is None else sum(allowed)
        why = "any of these words: try others" if self.by == "words" else "any text"
        note = {} if found else {"note": f"no record has {why}"}
        return {"query": query, "searched": searched, "records": records, **note}

    def _by_meaning(
        self,
        store: RecordStore,
        fields: Sequence[str],
        query: str,
        limit: int,
        allowed: Sequence[bool] | None,
    ) -> list[SearchHit]:
        """Return the records with the piece of text nearest to the query, nearest first."""
        embedder = self._embedder
        try:
            key = ("vectors", embedder.identity, *fields)
            of = store.once(key, lambda: _vectors(store, fields, embedder))
            if not of.record.size or not query.strip():
                return []
            asked = kept_vectors(embedder, [query])[0]
        except (ProviderError, ValueError) as error:
            raise ToolError(f"the embedder gave no answer: {error}") from None
        scores = np.full(len(store.records), -np.inf)
        np.maximum.at(scores, of.record, np.round((of.vectors @ asked).astype(float), _DIGITS))
        if allowed is not None:
            scores[~np.asarray(allowed, dtype=bool)] = -np.inf
        order = np.argsort(-scores, kind="stable")[:limit]
        return [SearchHit(int(at), float(scores[at])) for at in order if np.isfinite(scores[at])]

    def _other_fields(self, record: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the record's other fields; ``id`` and ``score`` are prefixed with ``record.``."""
        shown = {name: value for name, value in self.shown(record).items() if name != self.id}
        return {
            f"record.{name}" if name in ("id", "score") else name: value
            for name, value in shown.items()
        }


def _vectors(store: RecordStore, fields: Sequence[str], embedder: Embedder) -> _Pieces:
    found = [
        (at, piece)
        for at, one in enumerate(store.records)
        for piece in pieces("\n".join(text for _, text in texts_of(one, fields)))
    ]
    owners = np.asarray([at for at, _ in found], dtype=np.int64)
    texts = [piece for _, piece in found]
    none = np.zeros((0, 0), dtype=np.float32)
    return _Pieces(owners, kept_vectors(embedder, texts) if texts else none)
