"""The synthetic laptops of study 2: made again byte for byte, and true to what is said of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orglab.engine.tools.records.verify_claim import VerifyClaim
from orglab.evaluators.text.variants import read_vocabulary

REPO = Path(__file__).parents[2]
STUDY = REPO / "specs" / "loop-back-authority"
SCRIPT = REPO / "benchmarks" / "data" / "generate_laptops.py"
GENERATED = (
    "data/synthetic_laptops.jsonl",
    "data/synthetic_reviews.jsonl",
    "data/synthetic_store.jsonl",
    "answers/answer_key.json",
)
PARTS = read_vocabulary(
    yaml.safe_load((STUDY / "data" / "laptop_parts.yaml").read_text(encoding="utf-8")), "parts"
).parts
EXACT = ("cpu", "gpu", "ram", "storage", "screen", "resolution", "refresh_rate")

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """The rows of a data file."""
    text = (STUDY / "data" / f"synthetic_{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes when it is run again."""
    out = tmp_path_factory.mktemp("laptops")
    subprocess.run([sys.executable, SCRIPT, "--out", out], check=True)
    return out


@pytest.fixture(scope="module")
def laptops() -> dict[str, Row]:
    """The listings by product."""
    return {row["product"]: row for row in rows("laptops")}


@pytest.fixture(scope="module")
def reviews() -> list[Row]:
    """The reviews."""
    return rows("reviews")


@pytest.fixture(scope="module")
def key() -> list[Row]:
    """What was planted, a product an item."""
    text = (STUDY / "answers" / "answer_key.json").read_text(encoding="utf-8")
    return list(json.loads(text)["products"])


def of(reviews: list[Row], product: str) -> list[Row]:
    """The reviews of a product."""
    return [row for row in reviews if row["product"] == product]


@pytest.mark.parametrize("name", GENERATED)
def test_the_script_gives_the_committed_file_again_byte_for_byte(made: Path, name: str) -> None:
    """Whoever doubts the data can make them."""
    assert (made / name).read_bytes() == (STUDY / name).read_bytes()


def test_43_products_have_five_reviews_or_more_540_among_them(
    laptops: dict[str, Row], reviews: list[Row]
) -> None:
    """As published; others have fewer, so that `where` leaves something out."""
    counts = Counter(row["product"] for row in reviews)
    enough = [n for n in counts.values() if n >= 5]
    assert (len(enough), sum(enough)) == (43, 540)
    assert len(laptops) == 61
    assert set(counts) <= set(laptops)
    assert {product: row["review_count"] for product, row in laptops.items()} == {
        product: counts[product] for product in laptops
    }


def test_reviews_spread_over_the_stars(reviews: list[Row]) -> None:
    """No star is rare, so that satisfied and dissatisfied customers are there to be found."""
    shares = Counter(row["stars"] for row in reviews)
    assert sorted(shares) == [1, 2, 3, 4, 5]
    assert min(shares.values()) > 0.1 * len(reviews)


def test_a_rating_is_the_mean_of_the_stars(laptops: dict[str, Row], reviews: list[Row]) -> None:
    """To one decimal; without reviews there is none."""
    for product, row in laptops.items():
        stars = [review["stars"] for review in of(reviews, product)]
        if stars:
            assert abs(row["rating"] - sum(stars) / len(stars)) <= 0.05 + 1e-9
        else:
            assert row["rating"] is None


def test_bodies_have_30_to_90_words_and_none_is_said_twice(reviews: list[Row]) -> None:
    """Short enough for a search result, and every one its own."""
    assert all(30 <= len(row["body"].split()) <= 90 for row in reviews)
    assert len({row["body"] for row in reviews}) == len(reviews)
    assert len({row["id"] for row in reviews}) == len(reviews)


def test_texts_are_whole_sentences(reviews: list[Row]) -> None:
    """No slot is left open, no sentence begins small, and none lacks its point."""
    for row in reviews:
        assert not re.search(r"[{}]|  |\.\.", row["body"])
        assert re.fullmatch(r"[A-Z0-9].*\.", row["body"])
        assert not re.search(r"\. [a-z]", row["body"])


def test_listings_name_seven_to_nine_specifications_exactly(laptops: dict[str, Row]) -> None:
    """Each is read as one exact variant, which titles do not contradict."""
    assert {len(row["specs"]) for row in laptops.values()} == {7, 8, 9}
    for row in laptops.values():
        text = "\n".join(f"{name}: {value}" for name, value in row["specs"].items())
        for part in EXACT:
            found = [each.name for each in PARTS[part].variants(text)]
            assert len(found) == 1, (row["product"], part, found)
            titled = [each.name for each in PARTS[part].variants(row["title"])]
            assert set(titled) <= set(found)


def test_close_variants_are_among_the_processors(laptops: dict[str, Row]) -> None:
    """A check that takes an i7-13620H for an i7-13650HX has something to be caught by."""
    names = {row["specs"]["cpu"] for row in laptops.values()}
    assert {"Intel Core i7-13620H", "Intel Core i7-13650HX"} <= names
    assert len(names) >= 20


def test_reviews_speak_of_their_own_product(laptops: dict[str, Row], reviews: list[Row]) -> None:
    """Processors, refresh rates and prices in a review are those of its listing."""
    processors = {row["specs"]["cpu"].rpartition(" ")[2] for row in laptops.values()}
    spoken = 0
    for review in reviews:
        row = laptops[review["product"]]
        rates = set(re.findall(r"\b\d+ Hz", review["body"])) - {"60 Hz"}
        assert rates <= {row["specs"]["refresh_rate"]}
        named = {cpu for cpu in processors if cpu in review["body"].replace(",", " ").split()}
        assert named <= {row["specs"]["cpu"].rpartition(" ")[2]}
        spoken += len(named)
    assert spoken > 10


def test_every_name_of_a_product_says_that_it_is_synthetic(laptops: dict[str, Row]) -> None:
    """No number is one that a shop gives."""
    assert all(re.fullmatch(r"SYN[0-9B-Z]{7}", product) for product in laptops)
    assert all("synthetic" in name for name in GENERATED if name.startswith("data/"))


def planted(key: list[Row], reviews: list[Row]) -> Iterator[tuple[str, str, int]]:
    """Each planted cause: theme, words, and in how many reviews of the product it stands."""
    for item in key:
        told = " ".join(row["body"] for row in of(reviews, item["product"]))
        for theme, words in item["causes"].items():
            yield theme, words, told.count(words)


def test_the_answer_key_counts_how_often_a_cause_was_reported(
    key: list[Row], reviews: list[Row]
) -> None:
    """Most causes can be found, each by few reviewers."""
    told = Counter[str]()
    for item in key:
        for theme, words in item["causes"].items():
            said = " ".join(row["body"] for row in of(reviews, item["product"])).count(words)
            assert said == item["mentions"].get(theme, {}).get("cause", 0)
            told["found" if said else "not found"] += 1
    assert told["found"] > told["not found"]
    assert sum(count for *_, count in planted(key, reviews)) < len(reviews)


def test_reviewers_contradict_each_other(key: list[Row]) -> None:
    """Many a contested theme is praised by some and blamed by others of the same product."""
    both = [
        {"good", "bad"} <= set(item["mentions"].get(item["contested"], {}))
        for item in key
        if item["reviews"] >= 5
    ]
    assert sum(both) >= 10


def test_the_store_holds_every_listing_and_review(
    laptops: dict[str, Row], reviews: list[Row]
) -> None:
    """What claims are checked against says what the two other files say."""
    store = {row["id"]: row for row in rows("store")}
    assert set(store) == {*laptops, *(row["id"] for row in reviews)}
    for row in laptops.values():
        assert row["specs"].items() <= store[row["product"]]["says"].items()
    for row in reviews:
        assert store[row["id"]]["product"] == row["product"]
        assert store[row["id"]]["says"]["body"] == row["body"]


async def test_a_claim_of_the_exact_processor_is_reported_from_a_close_one(
    laptops: dict[str, Row],
) -> None:
    """The tool of the Critic on this store: supported by the listing, or contradicted."""
    for row in list(laptops.values())[:5]:
        tool = VerifyClaim(
            file=STUDY / "data" / "synthetic_store.jsonl",
            text="says",
            where={"product": row["product"]},
            synonyms={"cpu": ["processor"]},
        )
        cpu = row["specs"]["cpu"]
        close = re.sub(r"(\d)([A-Z]+)$", lambda end: f"{(int(end[1]) + 1) % 10}{end[2]}", cpu)
        right = await tool.call({"claim": f"The processor is the {cpu}."})
        wrong = await tool.call({"claim": f"The processor is the {close}."})
        assert (right["verdict"], wrong["verdict"]) == ("supported", "contradicted")
