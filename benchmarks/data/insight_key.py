"""What is true of the study's tables, and the planted insights: the answer key.

Every figure is computed from the tables. The words of a planted insight hold places (``{0:.2f}``)
that are filled from its evidence, so that words and figures can't drift apart; what makes it
flawed is its ``kind``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import figure, open_table
from planted import FACTS, PLANTED, Claim, Fact

#: Explorer turns that a run can take at most, over all the study's teams (``evidence-checked``).
MOST_TURNS = 11


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the study: its file, from the study's folder, and whether it is synthetic."""

    file: str
    synthetic: bool


TABLES = {
    "films": Table(file="data/films.csv", synthetic=False),
    "earthquakes": Table(file="data/earthquakes.csv", synthetic=False),
    "network_logs": Table(file="data/synthetic_network_logs.csv", synthetic=True),
    "streaming": Table(file="data/synthetic_streaming.csv", synthetic=True),
}

WHY = {
    "sound": "The figures are the table's own and bear the words out.",
    "foreign": "It speaks of another table: this one has none of its columns.",
    "oversold": "The figure is the table's own, and far too small for the words.",
    "wrong_figure": "One figure is ten times what the table gives.",
    "reversed": "The figures are the table's own; the words say the opposite.",
    "too_few": "The figures are the table's own, and come from a handful of rows.",
}


def rounded(value: float) -> float:
    """As a tool would give it: four decimals, large figures one."""
    return round(value, 1 if abs(value) >= 1000 else 4)


def evidence(database: sqlite3.Connection, claim: Claim) -> list[dict[str, Any]]:
    """The claim's evidence with figures from the table; the first is spoilt where the kind says."""
    entries = []
    for place, (measure, columns, where) in enumerate(claim.evidence):
        value = figure(database, measure, columns, where)
        if claim.kind == "wrong_figure" and place == 0:
            value *= 10
        entries.append(
            {
                "measure": measure,
                "columns": list(columns),
                "where": where,
                "value": rounded(value),
            }
        )
    return entries


def planted(databases: Mapping[str, sqlite3.Connection]) -> Iterator[dict[str, Any]]:
    """The planted insights, whole."""
    for number, claim in enumerate(PLANTED):
        entries = evidence(databases[claim.home or claim.table], claim)
        yield {
            "id": f"{claim.table.replace(chr(95), chr(45))}-truth-{number % 10 + 1:02}",
            "table": claim.table,
            "question": claim.question,
            "reference": "sound" if claim.kind == "sound" else "flawed",
            "kind": claim.kind,
            "why": WHY[claim.kind],
            "insight": claim.insight.format(*(entry["value"] for entry in entries)),
            "columns": list(claim.columns),
            "evidence": entries,
        }


def fact(database: sqlite3.Connection, number: int, given: Fact) -> dict[str, Any]:
    """A planted fact with its figures."""
    found = [
        {"measure": m, "columns": list(c), "where": w, "value": round(figure(database, m, c, w), 6)}
        for m, c, w in given.evidence
    ]
    return {
        "id": f"fact-{number:02}",
        "table": given.table,
        "statement": given.statement,
        "evidence": found,
    }


def answer_key(folders: Mapping[str, Path], seed: int) -> dict[str, Any]:
    """The answer key; ``folders`` tells where the real and the synthetic tables lie."""
    databases = {
        name: open_table(folders["synthetic" if table.synthetic else "real"] / table.file)
        for name, table in TABLES.items()
    }
    return {
        "about": (
            "Computed from the tables by benchmarks/data/generate_insight_tables.py. "
            "network_logs and streaming are SYNTHETIC: their facts were planted."
        ),
        "seed": seed,
        "tables": {
            name: {
                "file": table.file,
                "synthetic": table.synthetic,
                "rows": figure(databases[name], "count", [], ""),
            }
            for name, table in TABLES.items()
        },
        "facts": [fact(databases[given.table], n, given) for n, given in enumerate(FACTS, 1)],
        "planted_insights": list(planted(databases)),
    }


def truth_units(key: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Units for measuring reviewers: a table, a question, and whether the insight is sound."""
    for item in key["planted_insights"]:
        yield {
            "id": item["id"],
            "table": TABLES[item["table"]].file,
            "question": item["question"],
            "reference": item["reference"],
            "kind": item["kind"],
        }


def truth_replies(key: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the scripted Explorer says: the planted insight, and it stands by it ever after."""
    for item in key["planted_insights"]:
        report = {name: item[name] for name in ("insight", "columns", "evidence")}
        again = {**report, "insight": f"I looked again and stand by it. {report['insight']}"}
        for turn in range(MOST_TURNS):
            text = json.dumps(again if turn else report, ensure_ascii=False)
            yield {"unit": item["id"], "role": "explorer", "reply": text}
