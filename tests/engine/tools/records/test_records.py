"""Stores of records, get_record, search_records."""

import json
import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.tools.factory import make
from orglab.engine.tools.records.bm25 import Index, stem, stems
from orglab.engine.tools.records.get_record import GetRecord
from orglab.engine.tools.records.search_records import LONGEST_QUERY, SearchRecords
from orglab.engine.tools.records.store import load_store, same, texts_of
from orglab.providers.base import JSON, ToolError

REVIEWS: Sequence[Mapping[str, JSON]] = [
    {"id": "r1", "product": 1, "stars": 2, "body": "The fans are loud. The battery is weak."},
    {"id": "r2", "product": 1, "stars": 5, "body": "A bright screen and a quiet fan."},
    {"id": "r3", "product": 2, "stars": 4, "body": "The hinge creaks, the fan is quiet."},
    {"id": "r4", "product": 2, "stars": 4, "body": ""},
]


def _file(folder: Path, records: Sequence[Any] = REVIEWS, name: str = "records.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return file


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A file of reviews."""
    return _file(tmp_path)


# -- search


async def test_the_nearest_first(reviews: Path) -> None:
    """Plural endings and capitals do not matter; a record without any of the words is none."""
    found = await SearchRecords(file=reviews, text="body").call({"query": "QUIET fans"})
    assert [one["id"] for one in found["records"]] == ["r2", "r3", "r1"]
    assert found["searched"] == 4
    assert found["records"][0]["body"] == REVIEWS[1]["body"]
    assert found["records"][0]["score"] > found["records"][2]["score"]


def test_scores_are_those_of_the_formula() -> None:
    """BM25 as Lucene has it, worked out by hand."""
    texts = ["fan fan loud", "fan", "screen bright sharp wide"]
    length, mean = (3, 1, 4), 8 / 3
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = [
        rarity * times / (times + 1.5 * (0.25 + 0.75 * size / mean))
        for times, size in zip((2, 1, 0), length, strict=True)
    ]
    assert Index(texts).scores("fan").tolist() == pytest.approx(expected)


async def test_equal_scores_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Ties are settled by place, every time."""
    file = _file(tmp_path, [{"id": f"r{n}", "body": "the same words"} for n in range(30, 0, -1)])
    tool = SearchRecords(file=file, text="body", limit=4)
    found = await tool.call({"query": "words"})
    assert [one["id"] for one in found["records"]] == ["r30", "r29", "r28", "r27"]
    assert await tool.call({"query": "words"}) == found


async def test_where_hides_the_others(reviews: Path) -> None:
    """A rendered text fits a number; scores do not depend on the filter."""
    everywhere = await SearchRecords(file=reviews, text="body").call({"query": "fan"})
    found = await SearchRecords(file=reviews, text="body", where={"product": "2"}).call(
        {"query": "fan"}
    )
    assert [one["id"] for one in found["records"]] == ["r3"]
    assert found["searched"] == 2
    assert found["records"][0] in everywhere["records"]
    none = await SearchRecords(file=reviews, text="body", where={"product": "9"}).call(
        {"query": "fan"}
    )
    assert none["searched"] == 0
    assert none["note"].startswith("no record has any")


async def test_nothing_found(reviews: Path, tmp_path: Path) -> None:
    """Unknown words, words of no weight, an empty store: no results, and a note."""
    tool = SearchRecords(file=reviews, text="body")
    for query in ("touchpad", "the of and", "…"):
        found = await tool.call({"query": query})
        assert (found["records"], found["note"][:9]) == ([], "no record")
    empty = SearchRecords(file=_file(tmp_path, [], "empty.jsonl"), text="body")
    assert (await empty.call({"query": "fan"}))["searched"] == 0


async def test_fields_with_maps_and_lists(tmp_path: Path) -> None:
    """All that a map or list holds is searched; several fields may be."""
    file = _file(
        tmp_path,
        [
            {"id": 1, "specs": {"gpu": "RTX 4060", "ports": ["USB-C", "HDMI"]}, "title": "Falcon"},
            {"id": 2, "specs": {"gpu": "RTX 4070"}, "title": "Heron"},
        ],
    )
    tool = SearchRecords(file=file, text=["specs", "title"], show=["title"])
    for query, number in (("4070", 2), ("hdmi", 1), ("heron", 2)):
        found = await tool.call({"query": query})
        assert [(one["id"], one["title"]) for one in found["records"]] == [
            (number, ["Falcon", "Heron"][number - 1])
        ]
        assert "specs" not in found["records"][0]
    record = {"specs": {"gpu": "RTX", "ports": ["a", 2]}, "none": None}
    places = [("specs.gpu", "RTX"), ("specs.ports", "a"), ("specs.ports", "2")]
    assert list(texts_of(record, ["specs", "none", "absent"])) == places


async def test_long_results_are_bounded(tmp_path: Path) -> None:
    """A text is whole where all fits; else texts are cut, then records, and it is said."""
    file = _file(tmp_path, [{"id": n, "body": "fan " + "x" * 3_000} for n in range(40)])
    one = await SearchRecords(file=file, text="body", limit=1).call({"query": "fan"})
    assert one["records"][0]["body"] == "fan " + "x" * 3_000
    many = await SearchRecords(file=file, text="body", limit=40).call({"query": "fan"})
    assert len(json.dumps(many, ensure_ascii=False)) <= 8_000
    assert "more characters" in many["records"][0]["body"]
    few = await SearchRecords(file=file, text="body", limit=40, characters=500).call(
        {"query": "fan"}
    )
    assert few["cut"]["records"] + len(few["records"]) == 40


@pytest.mark.parametrize(
    ("settings", "arguments", "words"),
    [
        ({"text": "bdy"}, {"query": "fan"}, "`text`: no record has a field `bdy`, did you mean"),
        ({"text": "body", "id": "key"}, {"query": "fan"}, "`id`: no record has a field `key`"),
        ({"text": "body", "where": {"prod": 1}}, {"query": "fan"}, "`where`: no record has"),
        ({"text": "body", "show": ["x"]}, {"query": "fan"}, "`show`: no record has a field `x`"),
        ({"text": "body"}, {"query": "x" * (LONGEST_QUERY + 1)}, "longer than 1000 characters"),
        ({"text": "body"}, {"query": "fan", "limit": 0}, "`limit` must be a whole number"),
        ({"text": "body"}, {}, "`query` is required"),
    ],
)
async def test_refusals(
    settings: Mapping[str, Any], arguments: Mapping[str, JSON], words: str, reviews: Path
) -> None:
    """In words that a model, or the author, can act on."""
    with pytest.raises(ToolError, match=words):
        await SearchRecords(file=reviews, **settings).call(arguments)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "tool `search_records` needs `text`"),
        ({"text": "body", "limit": 0}, "`limit: 0` must be a whole number from 1 to 50"),
        ({"text": "body", "characters": 5}, "`characters: 5` is too small"),
    ],
)
def test_wrong_settings(settings: Mapping[str, JSON], words: str, reviews: Path) -> None:
    """They are refused when the tool is made."""
    with pytest.raises(ValueError, match=words):
        make("search_records", {"file": str(reviews), **settings}, resolve=Path)


# -- get_record


async def test_a_record_by_its_id(reviews: Path) -> None:
    """Whole, or with the fields that are shown."""
    tool = GetRecord(file=reviews)
    assert await tool.call({"id": "r2"}) == {"id": "r2", "record": REVIEWS[1]}
    shown = await GetRecord(file=reviews, show=["stars"]).call({"id": " r2 "})
    assert shown == {"id": "r2", "record": {"stars": 5}}


async def test_the_only_record(reviews: Path) -> None:
    """Without an id, where the filter leaves one."""
    found = await GetRecord(file=reviews, where={"stars": "2"}).call({})
    assert found["id"] == "r1"
    with pytest.raises(ToolError, match=r"`id` is required: there are 4 records. Ids: `r1`, `r2`"):
        await GetRecord(file=reviews).call({})


async def test_an_unknown_record(reviews: Path) -> None:
    """The nearest id is named; one that `where` hides is not there."""
    with pytest.raises(ToolError, match="no record `r22`, did you mean `r2`"):
        await GetRecord(file=reviews).call({"id": "r22"})
    with pytest.raises(ToolError, match=r"no record `r1`.* Ids: `r3`, `r4`"):
        await GetRecord(file=reviews, where={"product": 2}).call({"id": "r1"})


async def test_numbers_are_ids_too(tmp_path: Path) -> None:
    """A model writes them as text."""
    file = _file(tmp_path, [{"n": 7, "a": 1}, {"n": 8, "a": 2}])
    assert (await GetRecord(file=file, id="n").call({"id": "8"}))["record"]["a"] == 2


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([{"id": "a"}, {"id": "a"}], "lines 1 and 2 have one id, `a`"),
        ([{"id": "a"}, {"b": 1}], "line 2: `id` must be a text or a number"),
    ],
)
async def test_ids_must_tell_records_apart(records: Any, words: str, tmp_path: Path) -> None:
    """A file in which they do not is refused, with its lines."""
    with pytest.raises(ToolError, match=words):
        await GetRecord(file=_file(tmp_path, records)).call({"id": "a"})


# -- the store


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.jsonl", '{"id": 1}\n[2]\n', "a.jsonl: line 2: not a JSON object"),
        ("a.jsonl", '{"id": NaN}\n', "line 1: not strict JSON"),
        ("a.jsonl", '{"id": 1, "id": 2}\n', "a key occurs twice"),
        ("a.json", "[]", "records are a .jsonl file"),
        ("absent.jsonl", None, "absent.jsonl: no such file"),
    ],
)
async def test_files_that_are_no_records(
    name: str, text: str | None, words: str, tmp_path: Path
) -> None:
    """They are read rightly or not at all."""
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ToolError, match=words):
        await GetRecord(file=tmp_path / name).call({"id": "1"})


async def test_a_store_is_read_once_and_again_when_it_changes(reviews: Path) -> None:
    """The index too; a changed file gives what it holds now."""
    store = load_store(reviews)
    assert load_store(reviews) is store
    assert store.index(["body"]) is store.index(["body"])
    with reviews.open("a", encoding="utf-8") as file:
        file.write('{"id": "r5", "product": 3, "stars": 1, "body": "touchpad"}\n')
    found = await SearchRecords(file=reviews, text="body").call({"query": "touchpad"})
    assert [one["id"] for one in found["records"]] == ["r5"]


def test_many_threads_share_one_store(reviews: Path) -> None:
    """What is computed from a store is computed once."""
    store, computed, ready = load_store(reviews), [], threading.Barrier(4)

    def compute() -> int:
        computed.append(1)
        return 7

    def ask() -> None:
        ready.wait()
        store.once("number", compute)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert computed == [1]


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [
        (1, "1", True),
        ("1", 1, True),
        (1, 1.0, True),
        ("a", "a", True),
        ("a", "A", False),
        (True, "true", True),
        (True, 1, False),
        (None, "", False),
        (1, "one", False),
    ],
)
def test_what_where_holds_for(value: JSON, wanted: JSON, equal: bool) -> None:
    """Templates give text, so a text may stand for a number or for true and false."""
    assert same(value, wanted) is equal


@pytest.mark.parametrize(
    ("word", "root"),
    [("fans", "fan"), ("batteries", "battery"), ("cases", "case"), ("glass", "glass"),
     ("i5s", "i5s"), ("gas", "gas"), ("bus", "bus"), ("status", "status")],
)  # fmt: skip
def test_plural_endings(word: str, root: str) -> None:
    """The S-stemmer takes no more than a plural's ending."""
    assert stem(word) == root


def test_stems_leave_out_words_of_no_weight() -> None:
    """In order, without capitals; negations stay."""
    assert stems("The Fans do not rattle") == ["fan", "not", "rattle"]
