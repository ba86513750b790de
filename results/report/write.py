"""Writes a report: ``report.html``, ``report.md``, ``report.json``, transcripts, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.report.experiment.report import report_of
from orglab.results.report.experiment.transcripts import transcript_pages
from orglab.results.report.findings import StudyFindings
from orglab.results.report.page import Report
from orglab.results.report.render.blocks import Block, FigureBlock, Fold
from orglab.results.report.render.canvas import standalone
from orglab.results.report.render.html import html_page
from orglab.results.report.render.markdown import markdown_page
from orglab.results.report.to_json import experiment_json, sweep_json
from orglab.results.store.reader import Reader
from orglab.results.tables.sweep_plan import is_sweep

__all__ = ["Written", "write_report"]


class Written(NamedTuple):
    """What was written.

    Attributes:
        answer: The answer in one sentence.
        simulated: A reply was written by no language model.
        page: The page to open.
        files: How many files were written.
        lines: What else a terminal shows: of a sweep the best variants.
    """

    answer: str
    simulated: bool
    page: Path
    files: int
    lines: Sequence[str] = ()


def write_report(place: Path, out: Path | None = None, *, transcripts: bool = True) -> Written:
    """Analyse a study and write its report; existing files are replaced.

    Args:
        place: The study's folder or file.
        out: The folder to write to; default: the study's own.
        transcripts: Write the pages of transcripts too, one a unit.

    Raises:
        StoreError: There is no study, or it is no experiment and no sweep.
        OSError: A file cannot be written.
    """
    folder = out or (place if place.is_dir() else place.parent)
    with Reader(place) as reader:
        of_sweep = is_sweep(reader)
    if of_sweep:
        # Imported here: the report of an experiment does not need it.
        from orglab.results.report.sweep.report import sweep_report_of

        sweep = sweep_report_of(place)
        lines = [
            f"{lead.title}: {line}"
            for lead in sweep.leads
            if lead.title in ("Best", "To decide")
            for line in lead.lines
        ]
        return _write_pages(folder, sweep, sweep_json(sweep), [])._replace(lines=lines)
    report = report_of(place)
    links = []
    if transcripts:
        with Reader(place) as reader:
            for unit, name, text in transcript_pages(reader, report.findings):
                _write_file(folder / "transcripts" / name, text)
                links.append((unit, f"transcripts/{quote(name)}"))
    return _write_pages(folder, report, experiment_json(report), links)


def _write_pages(
    folder: Path, report: Report[StudyFindings], form: JSON, links: list[tuple[str, str]]
) -> Written:
    figures = list(_figures(block for section in report.sections for block in section.blocks))
    for figure in figures:
        _write_file(folder / "figures" / f"{figure.name}.svg", standalone(figure.svg))
    _write_file(folder / "report.json", dumps(form) + "\n")
    _write_file(folder / "report.md", markdown_page(report, links))
    _write_file(folder / "report.html", html_page(report, links))
    return Written(
        answer=report.answer,
        simulated=report.findings.simulated,
        page=folder / "report.html",
        files=3 + len(links) + len(figures),
    )


def _figures(blocks: Iterable[Block]) -> Iterator[FigureBlock]:
    for block in blocks:
        if isinstance(block, FigureBlock):
            yield block
        elif isinstance(block, Fold):
            yield from _figures(block.blocks)


def _write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all; lone surrogates are escaped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
