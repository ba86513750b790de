"""Searching records by meaning: embedders, and the vectors that a study keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from orglab.engine.tools.factory import make
from orglab.engine.tools.file_cache import vectors_file
from orglab.engine.tools.records import embedding_cache as vectors
from orglab.engine.tools.records.embedding_cache import kept_vectors, pieces
from orglab.engine.tools.records.search_records import SearchRecords
from orglab.providers.base import JSON, ProviderError, ToolError, Unavailable
from orglab.providers.embedder import Embedder

SENSES = ("loud noise racket", "battery charge power", "screen display picture")
"""What the embedder of these tests knows: a direction for each line of words."""
RECORDS = [
    {"id": "r1", "body": "What a racket!"},
    {"id": "r2", "body": "It loses charge."},
    {"id": "r3", "body": ""},
    {"id": "r4", "kind": "x", "body": "The picture is dim. " + "And so on. " * 120 + "A noise."},
]
EMBED: Mapping[str, JSON] = {"provider": "senses", "model": "m1"}


class Senses(Embedder):
    """Counts the words of each sense: words of one sense lie together, letter for letter or not."""

    asked: list[str]

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = []
        self.fault: Exception | None = None

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> Senses:
        """Any model will do."""
        if options:
            raise ValueError(f"senses know no {', '.join(options)}")
        return cls(model)

    @property
    def identity(self) -> str:
        """The name."""
        return f"senses {self.name}"

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Counts."""
        if self.fault is not None:
            raise self.fault
        self.asked += texts
        return [
            [0.1 + sum(text.count(word) for word in each.split()) for each in SENSES]
            for text in texts
        ]


@pytest.fixture(autouse=True)
def senses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs the embedder, in place of an entry point."""
    monkeypatch.setattr(vectors, "load_plugin", lambda *_: Senses)
    monkeypatch.setattr(vectors, "plugin_names", lambda _: ["senses", "sensors"])
    vectors._embedder.cache_clear()
    vectors._memory.clear()
    yield
    vectors._embedder.cache_clear()
    vectors._memory.clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The records."""
    path = tmp_path / "records.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in RECORDS), encoding="utf-8")
    return path


def embedder(tool: SearchRecords) -> Senses:
    """The one behind a tool."""
    found = tool._embedder
    assert isinstance(found, Senses)
    return found


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_meaning_finds_what_words_do_not(file: Path) -> None:
    """Nearest first by cosine; records without text are none; a long one counts by its best piece."""
    tool = SearchRecords(file=file, text="body", by="meaning", embed=EMBED)
    found = await tool.call({"query": "loud"})
    assert [one["id"] for one in found["records"]] == ["r1", "r4", "r2"]
    assert found["records"][0]["score"] == found["records"][1]["score"] == 1.0
    # The cosine of (1.1, 0.1, 0.1) and (0.1, 1.1, 0.1).
    assert found["records"][2]["score"] == pytest.approx(
        (0.11 + 0.11 + 0.01) / (1.21 + 0.02), abs=1e-6
    )
    assert found["searched"] == 4
    words = SearchRecords(file=file, text="body")
    assert (await words.call({"query": "loud"}))["records"] == []


async def test_where_and_limit_hold(file: Path) -> None:
    """Records that the tool may not see are not found."""
    tool = SearchRecords(
        file=file, text="body", by="meaning", embed=EMBED, where={"kind": "x"}, limit=1
    )
    found = await tool.call({"query": "loud"})
    assert [one["id"] for one in found["records"]] == ["r4"]


async def test_every_text_is_embedded_once_a_study(file: Path, tmp_path: Path) -> None:
    """Vectors lie in the study's DuckDB file by embedder, model and content, not beside the spec."""
    (tmp_path / "study").mkdir()
    token = vectors_file.set(tmp_path / "study/vectors.duckdb")
    try:
        for _ in range(2):
            vectors._embedder.cache_clear()
            tool = SearchRecords(file=file, text="body", by="meaning", embed=EMBED)
            first = await tool.call({"query": "loud"})
        assert embedder(tool).asked == []
        other = SearchRecords(file=file, text="body", by="meaning", embed={**EMBED, "model": "m2"})
        assert await other.call({"query": "loud"}) == first
        assert embedder(other).asked
    finally:
        vectors_file.reset(token)
    with duckdb.connect(tmp_path / "study/vectors.duckdb") as kept:
        sql = "SELECT embedder, COUNT(*) FROM vectors GROUP BY 1 ORDER BY 1"
        assert kept.execute(sql).fetchall() == [("senses m1", 5), ("senses m2", 5)]
    assert _names(tmp_path) == ["records.jsonl", "study"]


async def test_a_model_is_reported_who_compares(file: Path) -> None:
    """The embedder is part of the tool's description, and so of a call's identity."""
    tools = [
        SearchRecords(file=file, text="body", by="meaning", embed={**EMBED, "model": name})
        for name in ("m1", "m2")
    ]
    assert "senses m1" in tools[0].description
    assert tools[0].description != tools[1].description
    assert "meanings" in SearchRecords(file=file, text="body").description


async def test_an_embedder_that_fails_is_reported_to_the_model(file: Path) -> None:
    """A failure is an error of the tool and is not kept; the next call asks again."""
    tool = SearchRecords(file=file, text="body", by="meaning", embed=EMBED)
    embedder(tool).fault = Unavailable("out of reach")
    with pytest.raises(ToolError, match="the embedder gave no answer: out of reach"):
        await tool.call({"query": "loud"})
    embedder(tool).fault = None
    assert (await tool.call({"query": "loud"}))["records"]


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], []])
def test_vectors_without_a_direction_are_refused(vector: list[float]) -> None:
    """Nothing is compared with them."""

    class Broken(Senses):
        def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            return [vector for _ in texts]

    with pytest.raises(ProviderError, match="without a direction"):
        kept_vectors(Broken("b"), ["a"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"by": "meaning"}, r"`by: meaning` needs `embed`, such as \{provider: llama"),
        ({"embed": EMBED}, "write `by: meaning`"),
        ({"by": "meaning", "embed": {"provider": "sense"}}, "did you mean senses"),
        ({"by": "meaning", "embed": {"model": "m1"}}, "`embed` needs `provider`"),
        ({"by": "meaning", "embed": {**EMBED, "x": [1]}}, "'x' must be a text or a number"),
        ({"by": "meaning", "embed": {**EMBED, "size": 3}}, "senses know no size"),
        ({"by": "sense"}, "one of words, meaning"),
    ],
)
def test_wrong_settings_are_reported(file: Path, settings: Mapping[str, JSON], words: str) -> None:
    """Before anything runs, in words."""
    given = {"file": str(file), "text": "body", **settings}
    with pytest.raises(ValueError, match=words):
        make("search_records", given, resolve=Path)


def test_pieces_of_a_long_text() -> None:
    """Cut at blanks, nothing lost, none too long; a word longer than a piece is cut through."""
    text = "one two three four " * 20
    found = pieces(text, 30)
    assert " ".join(found) == text.strip()
    assert max(map(len, found)) <= 30
    assert pieces("x" * 70, 30) == ["x" * 30, "x" * 30, "x" * 10]
    assert pieces("  \n ") == []
