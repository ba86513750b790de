"""The pages on the store and on events name everything there is."""

from __future__ import annotations

import re
from pathlib import Path

from orglab.results.display.event_renderer import (
    ONE_LINE_EVENTS,
    PRINTED_ELSEWHERE,
    EventRenderer,
)
from orglab.results.store.store import Store
from orglab.results.tables.tables import TABLES

DOCS = Path(__file__).parents[2] / "docs/reference"


def test_events_page_names_every_kind_that_a_transcript_tells() -> None:
    """The kinds in the tables are those that the transcript knows, no more and no fewer."""
    page = (DOCS / "events.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    methods = {name.removeprefix("_on_") for name in vars(EventRenderer) if name.startswith("_on_")}
    assert documented == (methods - {"other"}) | ONE_LINE_EVENTS.keys() | PRINTED_ELSEWHERE


def test_store_page_names_every_table_and_column(tmp_path: Path) -> None:
    """No table and no column of the `file` is required from its section."""
    page = (DOCS / "store.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL))
    store = Store(tmp_path)
    tables = "SELECT name FROM sqlite_master WHERE type='table'"
    for (table,) in list(map(tuple, store.rows(tables))):
        for column in store.rows(f"PRAGMA table_info({table})"):
            assert f"`{column['name']}`" in sections[table], f"{table}.{column['name']}"
    store.close()


def test_store_page_names_every_tidy_table() -> None:
    """Each table of an export is listed."""
    page = (DOCS / "store.md").read_text(encoding="utf-8").split("## Tidy tables")[1]
    for table in TABLES:
        assert f"**{table}**" in page
