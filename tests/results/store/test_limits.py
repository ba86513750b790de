"""The history of accounts' limits in a study's file."""

from __future__ import annotations

from pathlib import Path

from orglab.providers.client.request_queue import LimitChange
from orglab.results.store.reader import LimitRow, Reader
from orglab.results.store.store import Store


def test_limits_are_kept(tmp_path: Path) -> None:
    """Each change is kept with the process that learned it, in order."""
    for limit, why in ((8, "start"), (5, "cut")):
        store = Store(tmp_path)
        store.add_limit_change(
            LimitChange(account="https://host KEY", limit=limit, why=why, at=1.5)
        )
        store.close()
    with Reader(tmp_path) as reader:
        found = reader.limit_changes()
    at, account = "1970-01-01T00:00:01.500Z", "https://host KEY"
    assert found == [
        LimitRow(session=1, at=at, account=account, limit=8, why="start"),
        LimitRow(session=2, at=at, account=account, limit=5, why="cut"),
    ]
