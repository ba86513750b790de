"""Writes the synthetic laptops and reviews of ``specs/loop-back-authority``, and their answer key.

    python benchmarks/data/generate_laptops.py [--out DIR]

Standard library only, seeded, and the same byte for byte on every machine: it draws with
``Random.random`` alone, whose sequence Python keeps. No such laptop, brand or customer exists.

Each product has planted strengths, weaknesses and one contested theme, and for each weakness a cause
that few of its reviewers found out: something to find for whoever analyses the reviews.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from laptop_listing import below, choice, listing, shuffled

SEED = 40600043
HERE = Path(__file__).parent
STUDY = HERE.parents[1] / "specs" / "loop-back-authority"
TEXTS: dict[str, Any] = tomllib.loads((HERE / "laptop_reviews.toml").read_text(encoding="utf-8"))
THEMES: dict[str, dict[str, list[str]]] = TEXTS["themes"]

REVIEWED = 43
"""Products with at least ``ENOUGH`` reviews, which have ``REVIEWS`` among them."""
ENOUGH = 5
REVIEWS = 540
SPARSE = (0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4)
"""Numbers of reviews of the other products."""
WORDS = (30, 90)
"""The shortest and the longest body of a review."""
STARS = {5: 0.35, 4: 0.24, 3: 0.15, 2: 0.11, 1: 0.15}

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(kw_only=True)
class Product:
    """A listing and what was planted in its reviews."""

    row: Row
    strengths: Sequence[str]
    weaknesses: Sequence[str]
    contested: str
    causes: Mapping[str, str]
    mentions: Counter[tuple[str, str]] = field(default_factory=Counter)

    def slots(self) -> dict[str, str]:
        """What a sentence may say of the product itself."""
        specs = self.row["specs"]
        return {
            "cpu": specs["cpu"].removeprefix("Intel Core ").removeprefix("AMD "),
            "watts": specs["gpu"].split()[-2],
            "ram": specs["ram"],
            "storage": " ".join(specs["storage"].split()[:2]) + " drive",
            "refresh": specs["refresh_rate"],
            "panel": specs["display"].split()[-1],
            "price": f"{self.row['price'] + 0.01:,.0f}",
        }


def weighted(rng: Random, weights: Mapping[T, float]) -> T:
    """One of the keys, by weight."""
    rest = rng.random() * sum(weights.values())
    for key, weight in weights.items():
        rest -= weight
        if rest < 0:
            return key
    return next(reversed(list(weights)))


# --- how many reviews, and how many stars -------------------------------------------------------


def counts(rng: Random) -> list[int]:
    """Reviews of each product in a drawn order: uneven, as such counts are, and exact in sum."""
    many = [ENOUGH] * REVIEWED
    weights = {n: 1 / (1 + n) for n in range(REVIEWED)}
    for _ in range(REVIEWS - ENOUGH * REVIEWED):
        many[weighted(rng, {n: w for n, w in weights.items() if many[n] < 38})] += 1
    return shuffled(rng, [*many, *SPARSE])


def star_weights(quality: float) -> dict[int, float]:
    """Shares of the stars for a product: ``quality`` 0 leans to one star, 1 to five."""
    return {stars: share * (1 + (stars - 3) * (quality - 0.5)) for stars, share in STARS.items()}


# --- what reviewers say -------------------------------------------------------------------------


def plant(rng: Random, row: Row) -> Product:
    """A product with planted themes."""
    themes = shuffled(rng, THEMES)
    strong, weak = 2 + below(rng, 2), 2 + below(rng, 2)
    weaknesses = themes[strong : strong + weak]
    product = Product(
        row=row,
        strengths=themes[:strong],
        weaknesses=weaknesses,
        contested=themes[strong + weak],
        causes={},
    )
    product.causes = {
        theme: capital(filled(rng, choice(rng, THEMES[theme]["cause"]), product))
        for theme in weaknesses
    }
    return product


def filled(rng: Random, text: str, product: Product) -> str:
    """The text with its slots filled, from the product or by draw."""
    own = product.slots()

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return own[name] if name in own else choice(rng, TEXTS["slots"][name])

    return re.sub(r"\{(\w+)\}", value, text)


def sides(rng: Random, stars: int) -> list[str]:
    """Good and bad mentions of a review with so many stars, in the order they are told."""
    plans = {
        5: [["good"] * 2, ["good"] * 3, ["good", "good", "bad"]],
        4: [["good", "good", "bad"], ["good", "bad", "good"], ["good", "good"]],
        3: [["good", "bad"], ["bad", "good", "bad"], ["good", "bad", "good"]],
        2: [["bad", "bad", "good"], ["bad", "bad"], ["good", "bad", "bad"]],
        1: [["bad"] * 2, ["bad"] * 3, ["bad", "bad", "bad"]],
    }
    return choice(rng, plans[stars])


def theme_for(rng: Random, side: str, product: Product, used: set[str]) -> str:
    """A theme that this review has not spoken of; mostly a planted one."""
    planted = product.strengths if side == "good" else product.weaknesses
    weights = dict.fromkeys(THEMES, 0.25)
    weights |= dict.fromkeys(planted, 6.0) | {product.contested: 3.0}
    against = product.weaknesses if side == "good" else product.strengths
    weights |= dict.fromkeys(against, 0.15)
    return weighted(rng, {theme: w for theme, w in weights.items() if theme not in used})


@dataclass(frozen=True, kw_only=True)
class Said:
    """A part of a review: good or bad, the theme, the words."""

    side: str
    theme: str
    text: str


def mention(rng: Random, side: str, product: Product, said: Sequence[Said]) -> Said:
    """What a review says of a theme; now and then, once, the cause of a weakness."""
    theme = theme_for(rng, side, product, {each.theme for each in said})
    product.mentions[theme, side] += 1
    text = filled(rng, choice(rng, THEMES[theme][side]), product)
    found = product.mentions[theme, side] == 2 or rng.random() < 0.12
    told = any(product.causes.get(each.theme, "\n") in each.text for each in said)
    if side == "bad" and theme in product.causes and found and not told:
        product.mentions[theme, "cause"] += 1
        text = f"{text} {product.causes[theme]}"
    return Said(side=side, theme=theme, text=text)


def joined(rng: Random, said: Sequence[Said]) -> list[str]:
    """The parts with words that join them: good after bad is told as a turn."""
    told: list[str] = []
    last = ""
    for each in said:
        kind = "same" if each.side == last else "lift" if each.side == "good" else "turn"
        before = choice(rng, TEXTS["joiners"][kind]) if last else ""
        told.append(capital(before + each.text))
        last = each.side
    return told


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[0].upper() + text[1:]


def body(rng: Random, stars: int, product: Product) -> tuple[str, list[Said]]:
    """A review's text, not shorter than the bound, and what it says."""
    said: list[Said] = []
    for side in sides(rng, stars):
        said.append(mention(rng, side, product, said))
    opener = filled(rng, choice(rng, TEXTS["openers"][str(stars)]), product)
    closer = choice(rng, TEXTS["closers"][str(stars)])
    while length([opener, *(each.text for each in said), closer]) < WORDS[0]:
        said.append(mention(rng, "good" if stars >= 4 else "bad", product, said))
    return " ".join([opener, *joined(rng, said), closer]), said


def length(parts: Iterable[str]) -> int:
    """Words of a text in parts."""
    return sum(len(part.split()) for part in parts)


def title(rng: Random, stars: int, said: Sequence[Said]) -> str:
    """A title: of the stars, or of the first thing that the review says in their spirit."""
    side = "good" if stars > 3 else "bad"
    fitting = [each.theme for each in said if each.side == side]
    if stars != 3 and fitting and rng.random() < 0.35:
        return THEMES[fitting[0]]["words"][1 if side == "good" else 0]
    return choice(rng, TEXTS["titles"][str(stars)])


def reviews(rng: Random, product: Product, count: int) -> list[Row]:
    """The reviews of a product, no two alike."""
    weights = star_weights(rng.random())
    rows: list[Row] = []
    for _ in range(count):
        stars = weighted(rng, weights)
        text, said = body(rng, stars, product)
        name = title(rng, stars, said)
        rows.append(
            {"product": product.row["product"], "stars": stars, "title": name, "body": text}
        )
    assert len({row["body"] for row in rows}) == len(rows)
    assert all(WORDS[0] <= length([row["body"]]) <= WORDS[1] for row in rows)
    return rows


# --- all of it ----------------------------------------------------------------------------------


def rating(rows: Sequence[Row]) -> float | None:
    """The mean of the stars to one decimal, halves up; None without reviews."""
    if not rows:
        return None
    total, n = sum(row["stars"] for row in rows), len(rows)
    return (20 * total + n) // (2 * n) / 10


def answer(product: Product, count: int) -> Row:
    """What was planted in a product's reviews, and how often it was said."""
    told = {
        theme: {
            side: product.mentions[theme, side]
            for side in ("good", "bad", "cause")
            if product.mentions[theme, side]
        }
        for theme in THEMES
    }
    return {
        "product": product.row["product"],
        "reviews": count,
        "strengths": list(product.strengths),
        "weaknesses": list(product.weaknesses),
        "contested": product.contested,
        "causes": dict(product.causes),
        "mentions": {theme: sides for theme, sides in told.items() if sides},
    }


def everything() -> tuple[list[Row], list[Row], list[Row]]:
    """Listings, reviews and the answer key."""
    rng = Random(f"{SEED} laptops")
    laptops, said, key = [], [], []
    taken: set[str] = set()
    for count in counts(rng):
        product = plant(rng, listing(rng, taken))
        rows = reviews(rng, product, count)
        laptops.append({**product.row, "rating": rating(rows), "review_count": count})
        said += rows
        key.append(answer(product, count))
    numbered = [{"id": f"R{n:04}", **row} for n, row in enumerate(shuffled(rng, said), start=1)]
    return laptops, numbered, key


def store(laptops: Sequence[Row], said: Sequence[Row]) -> list[Row]:
    """What claims are checked against: a record a listing and a record a review, in words."""
    listed = [
        {
            "id": row["product"],
            "product": row["product"],
            "source": "listing",
            "says": {
                "title": row["title"],
                **row["specs"],
                "price": f"{row['price']:,.2f} US dollars",
                "rating": "no rating" if row["rating"] is None else f"{row['rating']} stars of 5",
                "customers": f"{row['review_count']} customer reviews",
            },
        }
        for row in laptops
    ]
    reviewed = [
        {
            "id": row["id"],
            "product": row["product"],
            "source": "review",
            "says": {"stars": f"{row['stars']} stars", "title": row["title"], "body": row["body"]},
        }
        for row in said
    ]
    return [*listed, *reviewed]


def lines(rows: Iterable[Row]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def write(folder: Path) -> None:
    """Writes the four files."""
    laptops, said, key = everything()
    texts = {
        "data/synthetic_laptops.jsonl": lines(laptops),
        "data/synthetic_reviews.jsonl": lines(said),
        "data/synthetic_store.jsonl": lines(store(laptops, said)),
        "answers/answer_key.json": json.dumps(
            {"synthetic": True, "products": key}, indent=1, ensure_ascii=False, allow_nan=False
        )
        + "\n",
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=STUDY, help="the study's folder")
    write(parser.parse_args().out)
