"""Writing a report: ``report.html``, ``report.md``, ``report.json``, transcripts, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.report.experiment.report import Report, report_of
from orglab.results.report.experiment.transcripts import transcript_pages
from orglab.results.report.page import Page
from orglab.results.report.render.blocks import Block, Figure, Fold
from orglab.results.report.render.canvas import standalone
from orglab.results.report.render.html import html_page
from orglab.results.report.render.markdown import markdown_page
from orglab.results.report.to_json import json_form
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
    """Analyses a study and writes its report; files that stand there are replaced.

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
        return _write_sweep(place, folder)
    report = report_of(place)
    links = []
    if transcripts:
        for unit, name, text in _pages(place, report):
            _write(folder / "transcripts" / name, text)
            links.append((unit, f"transcripts/{quote(name)}"))
    return _write_pages(folder, report, json_form(report), report.findings.simulated, links)


def _write_sweep(place: Path, folder: Path) -> Written:
    # Here, so that the report of an experiment does not load it.
    from orglab.results.report.sweep.report import sweep_report_of
    from orglab.results.report.sweep.sweep_json import sweep_json_form

    report = sweep_report_of(place)
    form = sweep_json_form(report)
    written = _write_pages(folder, report, form, report.findings.simulated, [])
    shown = ("Best", "To decide")
    lines = [
        f"{lead.title}: {line}"
        for lead in report.leads
        for line in lead.lines
        if lead.title in shown
    ]
    return written._replace(lines=lines)


def _write_pages(
    folder: Path, report: Page, form: JSON, simulated: bool, links: list[tuple[str, str]]
) -> Written:
    figures = list(_figures(block for section in report.sections for block in section.blocks))
    for figure in figures:
        _write(folder / "figures" / f"{figure.name}.svg", standalone(figure.svg))
    _write(folder / "report.json", dumps(form) + "\n")
    _write(folder / "report.md", markdown_page(report, links))
    _write(folder / "report.html", html_page(report, links))
    return Written(
        answer=report.answer,
        simulated=simulated,
        page=folder / "report.html",
        files=3 + len(links) + len(figures),
    )


def _pages(place: Path, report: Report) -> Iterator[tuple[str, str, str]]:
    with Reader(place) as reader:
        yield from transcript_pages(reader, report.findings)


def _figures(blocks: Iterable[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Fold):
            yield from _figures(block.blocks)


def _write(path: Path, text: str) -> None:
    """Whole or not at all; a lone surrogate that a model wrote is written out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
