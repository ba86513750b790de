"""The tables of study 1: made again byte for byte, and true to their answer key."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

REPO = Path(__file__).parents[2]
STUDY = REPO / "specs" / "insight-review"
SCRIPT = REPO / "benchmarks" / "data" / "generate_insight_tables.py"
PUBLISHED = {
    "films": "5a602658d8dc913372382255e7b50ec7bb6d50b12fdec04a498d5b3faa31c16c",
    "earthquakes": "19e1090a762f36d71ce6d1e0bf758532911a6ca68b13c65dae5e01647ee750a9",
}
"""SHA-256 of the tables as their publishers gave them."""
GENERATED = (
    "data/synthetic_network_logs.csv",
    "data/synthetic_streaming.csv",
    "answers/answer_key.json",
    "units-truth.jsonl",
    "replies-truth.jsonl",
)
DOCUMENTATION = [
    ipaddress.ip_network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes when it is run again."""
    out = tmp_path_factory.mktemp("insight")
    subprocess.run([sys.executable, SCRIPT, "--out", out], check=True)
    return out


@pytest.fixture(scope="module")
def key() -> dict[str, Any]:
    """The answer key."""
    text = (STUDY / "answers" / "answer_key.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@pytest.fixture(scope="module")
def logs() -> pd.DataFrame:
    """The network logs."""
    return pd.read_csv(STUDY / "data/synthetic_network_logs.csv", parse_dates=["Timestamp"])


@pytest.fixture(scope="module")
def shows() -> pd.DataFrame:
    """The streaming catalogue."""
    return pd.read_csv(STUDY / "data/synthetic_streaming.csv")


@pytest.mark.parametrize("name", GENERATED)
def test_the_script_gives_the_committed_file_again_byte_for_byte(made: Path, name: str) -> None:
    """Seeded means: the same bytes, not merely the same figures."""
    assert (made / name).read_bytes() == (STUDY / name).read_bytes()


def test_the_script_writes_nothing_else(made: Path) -> None:
    """Every generated file is compared above."""
    written = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert written == set(GENERATED)


@pytest.mark.parametrize(("name", "digest"), PUBLISHED.items())
def test_the_real_tables_are_copied_unchanged(name: str, digest: str) -> None:
    """Errors in the real data are kept."""
    data = (STUDY / "data" / f"{name}.csv").read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest


def test_every_table_is_named_in_the_sources_and_synthetic_ones_say_so() -> None:
    """A synthetic file says that it is one by its name too."""
    sources = (STUDY / "data" / "SOURCES.md").read_text(encoding="utf-8")
    for path in (STUDY / "data").glob("*.csv"):
        line = next(line for line in sources.splitlines() if f"`{path.name}`" in line)
        assert ("**synthetic**" in line) == path.name.startswith("synthetic_")


def test_addresses_are_from_the_ranges_for_documentation(logs: pd.DataFrame) -> None:
    """No address of anyone stands in the logs."""
    for column in ("Source_IP", "Destination_IP"):
        for address in logs[column].unique():
            assert any(ipaddress.ip_address(address) in network for network in DOCUMENTATION)


def test_network_logs_have_the_columns_of_the_study(logs: pd.DataFrame) -> None:
    """Two thousand rows, seven columns, in order of time."""
    assert list(logs.columns) == [
        "Scan_Type",
        "Port",
        "Payload_Size",
        "Intrusion",
        "Source_IP",
        "Destination_IP",
        "Timestamp",
    ]
    assert len(logs) == 2000
    assert logs.Timestamp.is_monotonic_increasing
    assert logs.Timestamp.is_unique
    assert not logs.isna().any().any()


def test_intrusions_cluster_where_they_were_planted(logs: pd.DataFrame) -> None:
    """Ports 80, 443, 3389; Tuesdays and Thursdays; 0-6 and 16-20 h."""
    hot_port = logs.Port.isin([80, 443, 3389])
    hour = logs.Timestamp.dt.hour
    hot_time = logs.Timestamp.dt.day_of_week.isin([1, 3]) & ((hour < 6) | hour.between(16, 19))
    bad = logs.Intrusion == 1
    assert bad.sum() == 240
    assert (bad & hot_port).sum() == 180
    assert (bad & hot_port & hot_time).sum() == 150
    assert logs.Intrusion[hot_port & hot_time].mean() > 0.5
    assert logs.Intrusion[~(hot_port & hot_time)].mean() < 0.06


@pytest.mark.parametrize(
    ("genres", "planted"), [(["Drama", "Crime"], 0.22), (["Comedy", "Reality"], -0.23)]
)
def test_rating_and_seasons_correlate_as_planted(
    shows: pd.DataFrame, genres: list[str], planted: float
) -> None:
    """The sample's own correlation is the planted one, to 0.005."""
    part = shows[shows.Genre.isin(genres)]
    assert part.Rating.corr(part.Season_Count) == pytest.approx(planted, abs=0.005)


def test_over_all_genres_rating_and_seasons_hardly_correlate(shows: pd.DataFrame) -> None:
    """The two planted relations cancel, so only a look within genres finds them."""
    assert abs(shows.Rating.corr(shows.Season_Count)) < 0.05


def test_the_weak_relations_that_are_oversold_are_at_seven_hundredths(
    logs: pd.DataFrame, shows: pd.DataFrame
) -> None:
    """A correlation of 0.07 is there to be sold as a strong one."""
    assert logs.Payload_Size.corr(logs.Intrusion) == pytest.approx(0.07, abs=0.005)
    assert shows.Rating.corr(shows.Episode_Minutes) == pytest.approx(0.07, abs=0.005)


def test_the_catalogue_holds_plausible_titles(shows: pd.DataFrame) -> None:
    """A thousand different titles within sensible bounds; only votes have gaps."""
    assert len(shows) == 1000
    assert shows.Title.is_unique
    assert shows.Rating.between(1, 10).all()
    assert shows.Season_Count.between(1, 10).all()
    assert shows.Episode_Minutes.between(5, 120).all()
    assert shows.Release_Year.between(1990, 2024).all()
    assert list(shows.columns[shows.isna().any()]) == ["Votes"]


def figure(table: pd.DataFrame, entry: dict[str, Any]) -> float:
    """A figure computed with pandas, from rows that an SQL engine of its own picked."""
    with duckdb.connect() as database:
        database.register("data", table)
        rows = database.execute(f"SELECT * FROM data WHERE {entry['where'] or 'true'}").df()
    columns, measure = entry["columns"], entry["measure"]
    kept = rows.dropna(subset=columns)
    if measure == "count":
        return len(kept)
    if measure == "share":
        return len(rows) / len(table)
    if measure in ("pearson", "spearman"):
        pair = kept[columns].rank() if measure == "spearman" else kept[columns]
        return float(pair.corr().iloc[0, 1])
    return float(getattr(kept[columns[0]], "nunique" if measure == "distinct" else measure)())


def read(key: dict[str, Any], name: str) -> pd.DataFrame:
    """A table of the key."""
    dates = ["Timestamp"] if name == "network_logs" else []
    return pd.read_csv(STUDY / key["tables"][name]["file"], parse_dates=dates)


def test_every_fact_of_the_key_holds(key: dict[str, Any]) -> None:
    """Its figures are recomputed with other code than that which wrote it."""
    for fact in key["facts"]:
        table = read(key, fact["table"])
        for entry in fact["evidence"]:
            assert figure(table, entry) == pytest.approx(entry["value"], abs=2e-6), fact


def test_planted_insights_are_wrong_in_exactly_the_way_they_say(key: dict[str, Any]) -> None:
    """One figure of a `wrong_figure` is ten times the true one; all others are true."""
    for item in key["planted_insights"]:
        table = read(key, item["table"])
        if item["kind"] == "foreign":
            assert not set(item["columns"]) & set(table.columns), item["id"]
            continue
        assert set(item["columns"]) <= set(table.columns), item["id"]
        for number, entry in enumerate(item["evidence"]):
            spoilt = item["kind"] == "wrong_figure" and number == 0
            true = figure(table, entry) * (10 if spoilt else 1)
            rounding = 0.06 if true >= 1000 else 6e-5
            assert true == pytest.approx(entry["value"], rel=0, abs=rounding), item["id"]


def test_each_table_has_five_sound_and_five_flawed_insights(key: dict[str, Any]) -> None:
    """The flaws are of five kinds, each once a table."""
    flaws = ["foreign", "oversold", "reversed", "too_few", "wrong_figure"]
    for name in key["tables"]:
        items = [item for item in key["planted_insights"] if item["table"] == name]
        assert sorted(item["kind"] for item in items) == sorted([*flaws, *["sound"] * 5])
        assert all((item["reference"] == "sound") == (item["kind"] == "sound") for item in items)
