"""The planted facts and insights in words, read from ``planted.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Figure = tuple[str, tuple[str, ...], str]
"""Measure, columns, and the condition that picks the rows ("" for all)."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that is true of a synthetic table because it was planted."""

    table: str
    statement: str
    evidence: tuple[Figure, ...]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """An insight that the scripted Explorer proposes.

    ``home`` is the table that a foreign insight was taken from.
    """

    table: str
    kind: str
    question: str
    insight: str
    columns: tuple[str, ...]
    evidence: tuple[Figure, ...]
    home: str = ""


def figures(entry: dict[str, Any]) -> tuple[Figure, ...]:
    """The evidence of an entry."""
    return tuple((measure, tuple(columns), where) for measure, columns, where in entry["evidence"])


def read() -> tuple[list[Fact], list[Claim]]:
    """All of the file."""
    entries = tomllib.loads(Path(__file__).with_name("planted.toml").read_text(encoding="utf-8"))
    facts = [Fact(**{**entry, "evidence": figures(entry)}) for entry in entries["fact"]]
    claims = [
        Claim(**{**entry, "columns": tuple(entry["columns"]), "evidence": figures(entry)})
        for entry in entries["claim"]
    ]
    return facts, claims


FACTS, PLANTED = read()
