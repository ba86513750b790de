"""Writes what is synthetic in the study ``specs/insight-review``: tables, answer key, truth units.

    python benchmarks/data/generate_insight_tables.py [--out DIR]

Standard library only, seeded, and the same byte for byte on every machine: it draws with
``Random.random`` alone (whose sequence Python keeps), and normal deviates are sums of uniform ones,
so no function of the platform's mathematics library has a say.

The planted correlations are exact, not drawn: the noise is made orthogonal to what it shall
correlate with, so the sample's own figure is the planted one but for rounding.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import insight_key

SEED = 20180131
STUDY = Path(__file__).parents[2] / "specs" / "insight-review"

Row = dict[str, Any]
T = TypeVar("T")

# --- draws ------------------------------------------------------------------------------------


def normal(rng: Random) -> float:
    """A deviate of mean 0 and deviation 1: the sum of twelve uniform ones, less 6."""
    return math.fsum(rng.random() for _ in range(12)) - 6.0


def below(rng: Random, n: int) -> int:
    """A whole number from 0 to n - 1."""
    return int(rng.random() * n)


def shuffled(rng: Random, items: Iterable[T]) -> list[T]:
    """The items in a drawn order (Fisher and Yates)."""
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = below(rng, last + 1)
        result[last], result[other] = result[other], result[last]
    return result


def spread(shares: dict[T, float], n: int) -> list[T]:
    """``n`` items in these shares; what rounding leaves over goes to the first."""
    counts = {item: int(share * n) for item, share in shares.items()}
    counts[next(iter(counts))] += n - sum(counts.values())
    return [item for item, count in counts.items() for _ in range(count)]


def standardised(values: Sequence[float]) -> list[float]:
    """The values with mean 0 and mean square 1."""
    mean = math.fsum(values) / len(values)
    scale = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    return [(v - mean) / scale for v in values]


def correlated(x: Sequence[float], noise: Sequence[float], r: float) -> list[float]:
    """Values of mean 0 and deviation 1 whose correlation with ``x`` is ``r``, whatever the noise."""
    zx, zn = standardised(x), standardised(noise)
    slope = math.fsum(a * b for a, b in zip(zx, zn, strict=True)) / len(zx)
    rest = standardised([b - slope * a for a, b in zip(zx, zn, strict=True)])
    return [r * a + math.sqrt(1 - r * r) * b for a, b in zip(zx, rest, strict=True)]


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


# --- network logs -----------------------------------------------------------------------------

FIRST_DAY = datetime(2025, 3, 3)  # noqa: DTZ001 - a Monday; the log's clock has no zone
WEEKS = 8
HOT_PORTS = (80, 443, 3389)
HOT_DAYS = (1, 3)  # Tuesday and Thursday, Monday being 0
HOT_HOURS = (*range(6), *range(16, 20))
WORST_SOURCE = "203.0.113.77"

CALM_PORTS = {443: 0.30, 80: 0.20, 22: 0.12, 53: 0.12, 3389: 0.08, 25: 0.08, 8080: 0.06, 21: 0.04}
CALM_SCANS = {"Regular": 0.55, "SYN": 0.15, "Connect": 0.15, "UDP": 0.10, "FIN": 0.05}
HOSTILE_SCANS = {"SYN": 0.45, "Connect": 0.20, "UDP": 0.15, "FIN": 0.10, "Regular": 0.10}


def is_hot(moment: datetime) -> bool:
    """The moment lies in the hours at which the planted intrusions cluster."""
    return moment.weekday() in HOT_DAYS and moment.hour in HOT_HOURS


def some_moment(rng: Random, taken: set[datetime], hot: bool | None) -> datetime:
    """A moment of the eight weeks that no row has yet; in or out of the hot hours, or any."""
    while True:
        moment = FIRST_DAY + timedelta(seconds=below(rng, WEEKS * 7 * 24 * 3600))
        if moment not in taken and hot in (None, is_hot(moment)):
            taken.add(moment)
            return moment


def hostile_rows(rng: Random, taken: set[datetime]) -> list[Row]:
    """240 intrusions: 150 on the hot ports in the hot hours, 30 there at others, 60 elsewhere."""
    hot = [(port, True) for port in HOT_PORTS for _ in range(50)]
    off = [(port, False) for port in HOT_PORTS for _ in range(10)]
    other = [(port, None) for port in spread({22: 0.5, 53: 0.2, 8080: 0.2, 21: 0.1}, 60)]
    scans = shuffled(rng, spread(HOSTILE_SCANS, 240))
    sources = shuffled(
        rng, [WORST_SOURCE] * 60 + [f"203.0.113.{10 + below(rng, 60)}" for _ in range(180)]
    )
    return [
        {
            "Scan_Type": scan,
            "Port": port,
            "Intrusion": 1,
            "Source_IP": source,
            "Timestamp": some_moment(rng, taken, when),
        }
        for (port, when), scan, source in zip([*hot, *off, *other], scans, sources, strict=True)
    ]


def calm_rows(rng: Random, taken: set[datetime]) -> list[Row]:
    """1,760 rows without an intrusion, spread evenly over the eight weeks."""
    ports = shuffled(rng, spread(CALM_PORTS, 1760))
    scans = shuffled(rng, spread(CALM_SCANS, 1760))
    networks = shuffled(rng, spread({"192.0.2": 0.9, "203.0.113": 0.1}, 1760))
    return [
        {
            "Scan_Type": scan,
            "Port": port,
            "Intrusion": 0,
            "Source_IP": f"{network}.{10 + below(rng, 60)}",
            "Timestamp": some_moment(rng, taken, None),
        }
        for port, scan, network in zip(ports, scans, networks, strict=True)
    ]


def network_logs() -> list[Row]:
    """The log: 2,000 rows in order of time, payload and intrusion correlated at 0.07."""
    rng, taken = Random(f"{SEED} network"), set[datetime]()
    rows = [*hostile_rows(rng, taken), *calm_rows(rng, taken)]
    rows.sort(key=lambda row: row["Timestamp"])
    noise = [normal(rng) + (2.0 if row["Scan_Type"] == "UDP" else 0.0) for row in rows]
    payload = correlated([row["Intrusion"] for row in rows], noise, 0.07)
    return [
        {
            "Scan_Type": row["Scan_Type"],
            "Port": row["Port"],
            "Payload_Size": max(40, round(700 + 180 * size)),
            "Intrusion": row["Intrusion"],
            "Source_IP": row["Source_IP"],
            "Destination_IP": f"198.51.100.{10 + below(rng, 20)}",
            "Timestamp": row["Timestamp"].isoformat(sep=" "),
        }
        for row, size in zip(rows, payload, strict=True)
    ]


# --- streaming catalogue ----------------------------------------------------------------------

GENRES = {  # titles, mean rating, mean minutes of an episode
    "Drama": (180, 7.2, 52),
    "Crime": (120, 7.2, 54),
    "Comedy": (180, 6.6, 27),
    "Reality": (120, 6.6, 43),
    "Documentary": (130, 7.6, 49),
    "Science Fiction": (100, 6.9, 50),
    "Animation": (90, 6.9, 24),
    "Thriller": (80, 6.9, 51),
}
#: Genres whose ratings are drawn together, with the planted correlation of rating and seasons.
PLANTED = (
    (("Drama", "Crime"), 0.22),
    (("Comedy", "Reality"), -0.23),
    (("Documentary", "Science Fiction", "Animation", "Thriller"), 0.0),
)
#: Titles with 1, 2, … seasons among any ten tens of a genre.
SEASONS = {1: 0.27, 2: 0.23, 3: 0.16, 4: 0.12, 5: 0.08, 6: 0.05, 7: 0.04, 8: 0.03, 10: 0.02}
COUNTRIES = {
    "United States": 0.44,
    "United Kingdom": 0.18,
    "South Korea": 0.12,
    "Spain": 0.10,
    "India": 0.09,
    "Denmark": 0.07,
}
FIRST_WORDS = words(
    "Amber Bitter Borrowed Broken Carved Cold Crooked Distant Dusty Eastern Empty Faded Famous "
    "Final Gentle Golden Hidden Hollow Iron Last Little Lonely Lost Midnight Narrow Northern Open "
    "Painted Paper Patient Quiet Restless Salted Second Silver Sleeping Southern Stolen Sudden "
    "Velvet"
)
SECOND_WORDS = words(
    "Anchor Bakery Bridge Canal Chapel Circuit Cousins District Embassy Ferry Garden Harbour "
    "Hotel Island Jury Kitchen Ledger Letters Lighthouse Market Meridian Mirror Orchard Parade "
    "Quarry Railway Season Station Tenants Witness"
)


def group_rows(rng: Random, genres: Sequence[str], r: float) -> list[Row]:
    """Titles of some genres, rating and season count correlated at ``r`` over all of them.

    Each genre has the same share of each season count, and genres drawn with a planted correlation
    have one mean: so the group's figure isn't made by differences between its genres.
    """
    rows: list[Row] = []
    for genre in genres:
        seasons = shuffled(rng, spread(SEASONS, GENRES[genre][0]))
        rows.extend({"Genre": genre, "Season_Count": count} for count in seasons)
    ratings = correlated([row["Season_Count"] for row in rows], [normal(rng) for _ in rows], r)
    for row, z in zip(rows, ratings, strict=True):
        row["Rating"] = round(min(10.0, GENRES[row["Genre"]][1] + 0.8 * z), 1)
    return rows


def episodes(rng: Random, row: Row) -> int:
    """Episodes in all: shorter ones come in longer seasons."""
    usual = 18 if GENRES[row["Genre"]][2] < 30 else 9
    return int(sum(max(3, round(usual + 2.5 * normal(rng))) for _ in range(row["Season_Count"])))


def streaming() -> list[Row]:
    """The catalogue: 1,000 titles in a drawn order, rating and episode length correlated at 0.07."""
    rng = Random(f"{SEED} streaming")
    rows = [row for genres, r in PLANTED for row in group_rows(rng, genres, r)]
    titles = shuffled(rng, [f"The {a} {b}" for a in FIRST_WORDS for b in SECOND_WORDS])
    countries = shuffled(rng, spread(COUNTRIES, len(rows)))
    rough = [GENRES[row["Genre"]][2] / 11 + 0.5 * normal(rng) for row in rows]
    minutes = correlated([row["Rating"] for row in rows], rough, 0.07)
    blank = set(shuffled(rng, range(len(rows)))[:25])  # votes that nobody counted
    made = [
        {
            "Title": titles[i],
            "Genre": row["Genre"],
            "Rating": row["Rating"],
            "Votes": "" if i in blank else 200 + int(60000 * rng.random() ** 4),
            "Season_Count": row["Season_Count"],
            "Episode_Count": episodes(rng, row),
            "Episode_Minutes": round(44 + 13 * minutes[i]),
            "Release_Year": min(
                2024, round(2022.5 - 1.3 * row["Season_Count"] + 3.0 * normal(rng))
            ),
            "Country": countries[i],
        }
        for i, row in enumerate(rows)
    ]
    return shuffled(rng, made)


# --- files ------------------------------------------------------------------------------------


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Writes CSV: UTF-8, comma, a line feed after each row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_lines(path: Path, lines: Iterable[Row]) -> None:
    """Writes JSON Lines."""
    text = "".join(json.dumps(x, allow_nan=False, ensure_ascii=False) + "\n" for x in lines)
    path.write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """Writes everything below ``--out``."""
    parser = argparse.ArgumentParser(description="Writes the synthetic part of insight-review.")
    parser.add_argument("--out", type=Path, default=STUDY, help="the study's folder")
    out = parser.parse_args().out
    write_table(out / insight_key.TABLES["network_logs"].file, network_logs())
    write_table(out / insight_key.TABLES["streaming"].file, streaming())
    key = insight_key.answer_key({"real": STUDY, "synthetic": out}, SEED)
    (out / "answers").mkdir(exist_ok=True)
    text = json.dumps(key, allow_nan=False, ensure_ascii=False, indent=2) + "\n"
    (out / "answers" / "answer_key.json").write_text(text, encoding="utf-8", newline="\n")
    write_lines(out / "units-truth.jsonl", insight_key.truth_units(key))
    write_lines(out / "replies-truth.jsonl", insight_key.truth_replies(key))


if __name__ == "__main__":
    main()
