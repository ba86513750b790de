"""The report's table of loops: uses of closing links are counted as runs count them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple, cast

from orglab.results.records import Event
from orglab.results.report.experiment.data import Tables
from orglab.results.report.experiment.findings import LoopRow, read_loops
from orglab.results.store.reader import Reader, RunRow
from orglab.results.store.store import Store

USES = [
    ("w#1@1", "w>c", 1),
    ("w#2@1", "w>c", 1),
    ("w#1@2", "w>c", 2),
    ("lead#1/w@1", "lead/w>w", 1),
    ("lead#2/w@1", "lead/w>w", 1),
]


class FewTables(NamedTuple):
    """What the count of loops reads of a report's tables."""

    numbers: dict[int, RunRow]


def test_copies_share_a_use_and_copies_of_a_team_do_not(tmp_path: Path) -> None:
    """Two copies that deliver together loop once; the teams of two copies loop by themselves."""
    with Store(tmp_path) as store:
        journal = store.open_run(
            "r", arm="flat", unit="u", inputs={}, extra={}, replicate=0, seed=0, spec_hash="s", order=0
        )  # fmt: skip
        bodies = [
            {"output": output, "link": link, "use": use, "to": []} for output, link, use in USES
        ]
        journal.emit(
            [Event(seq=at, tick=1, kind="delivered", body=body) for at, body in enumerate(bodies)]
        )
        asyncio.run(store.finish("r", status="completed", answer=None, last=None, seconds=1.0))
    with Reader(tmp_path) as reader:
        runs = {row.run: row for row in reader.runs()}
        found = read_loops(reader, cast("Tables", FewTables(runs)))
    (run,) = runs.values()
    assert run.loops == 4
    assert found == [
        LoopRow("flat", "lead/w>w", "forward", "passed on", 2, 2, 0, 1),
        LoopRow("flat", "w>c", "forward", "passed on", 2, 2, 0, 1),
    ]
