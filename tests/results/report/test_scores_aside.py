"""Reading scores: expected what is put aside is not read, unless it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from matplotlib.figure import Figure

from orglab.engine.graph.check import check_file
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.executor import run_batch
from orglab.results.report.experiment.scores import read_scored
from orglab.results.report.render.canvas import canvas
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

TEAM = """\
kind: topology
version: 1
name: alone
models: {worker: {provider: simulated}}
roles: {writer: {prompt: Write.}}
output: writer
evaluators: [usage, words]
"""


def test_scores_put_aside_are_read_only_where_wanted(tmp_path: Path) -> None:
    """Of `usage`, which has many names, a sweep's report reads what its analysis names."""
    (tmp_path / "team.yaml").write_text(TEAM, encoding="utf-8")
    team = check_file(tmp_path / "team.yaml").team
    assert team is not None
    with Store(tmp_path) as store:
        batch = Batch(arms=[Arm.alone(team)], units=[Unit(id="u", inputs={})])
        asyncio.run(run_batch(batch, store))
    with Reader(tmp_path) as reader:
        every = {row.outcome for row in read_scored(reader).values}
        found = read_scored(reader, aside=["usage"], wanted=["tokens.total"])
    assert {row.outcome for row in found.values} == {"tokens.total", "words"} < every


def test_letters_that_a_font_lacks_warn_nobody() -> None:
    """Texts are texts in the SVG; a warning is an error here."""

    def draw(figure: Figure) -> None:
        figure.text(0, 0, "日本語")

    assert "日本語" in canvas("x", 1.0, draw)
