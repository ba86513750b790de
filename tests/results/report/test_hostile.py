"""Case 94: whatever a model writes is shown, never obeyed: pages, Markdown, CSV, terminal."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from case_files import case_folder

from orglab.providers.terminal_safety import visible
from orglab.results.display.transcript import transcript_text
from orglab.results.report.experiment.transcripts import file_names
from orglab.results.report.render.pages import escaped
from orglab.results.report.write import write_report
from orglab.results.store.reader import Reader
from orglab.results.tables.export import export

CASE = case_folder("94-report-html-escape")
VOID = {"meta", "img", "br", "path", "use", "rect", "link", "hr", "input"}
LIVE = {"script", "iframe", "object", "embed", "form", "base", "link"}


class Page(HTMLParser):
    """Reads a page as a browser would: tags, attributes, title, text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.title = ""
        self.headings: list[str] = []
        self.text = ""
        self.attributes: set[str] = set()
        self.tags: set[str] = set()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h1":
            self.headings.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if "title" in self.open:
            self.title += data
        if "h1" in self.open and self.headings:
            self.headings[-1] += data
        if "style" not in self.open:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"comment {data}")


def read(path: Path) -> Page:
    """A page, read to its end."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page


def hostile() -> list[dict[str, Any]]:
    """Return the outputs of case 94."""
    found: list[dict[str, Any]] = json.loads((CASE / "outputs.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def poisoned(study: Path) -> Path:
    """The study with the case's texts as outputs, reasons, roles, arms, units and models."""
    cases = hostile()
    connection = sqlite3.connect(study / "study.sqlite")
    rows = connection.execute("SELECT rowid, kind, body FROM events").fetchall()
    with connection:
        for at, (row, kind, text) in enumerate(rows):
            case, body = cases[at % len(cases)], json.loads(text)
            if kind == "output":
                body |= {"text": case["output"], "value": case["output"]}
            elif kind == "verdict":
                body |= {
                    "reason": case["output"],
                    "superior": cases[2]["role"],
                    "link": case["output"],
                }
            elif kind == "started":
                body["models"] = {case["role"]: case["output"], "writer": case["output"]}
            changed = (json.dumps(body), row)
            connection.execute("UPDATE events SET body=? WHERE rowid=?", changed)
        _rename(connection, cases)
    connection.close()
    return study


def _rename(connection: sqlite3.Connection, cases: list[dict[str, Any]]) -> None:
    """Arms, units, roles, reasons of the store, and of the plan."""
    arm, unit = cases[0]["output"], cases[4]["output"]
    connection.execute("UPDATE runs SET arm=? WHERE arm='bound'", (arm,))
    connection.execute("UPDATE runs SET unit=? WHERE unit='u0'", (unit,))
    failed = (cases[5]["output"], cases[1]["output"])
    connection.execute("UPDATE runs SET status='failed', reason=? WHERE unit='u1'", failed[:1])
    connection.execute(
        "UPDATE scores SET reason=?, value=NULL WHERE name='words' AND run=3", failed[1:]
    )
    connection.execute("UPDATE calls SET role=? WHERE role='editor'", (cases[2]["role"],))
    sql = "SELECT hash, normal FROM specs WHERE kind IN ('experiment', 'comparison')"
    for name, normal in connection.execute(sql).fetchall():
        text = normal.replace('"bound"', json.dumps(arm)).replace('"u0"', json.dumps(unit))
        text = text.replace("bound - free", json.dumps(arm)[1:-1] + " - free")
        text = text.replace("Does sending back help?", json.dumps(cases[1]["output"])[1:-1])
        plan = json.loads(text)
        plan.pop("contents", None)  # runs that were renamed have the ids of their old names
        connection.execute("UPDATE specs SET normal=? WHERE hash=?", (json.dumps(plan), name))
    renamed = (f"{arm} - free",)
    connection.execute("UPDATE specs SET name=? WHERE kind='comparison'", renamed)


def test_pages_show_hostile_texts_and_obey_none(poisoned: Path, tmp_path: Path) -> None:
    """No tag, attribute or comment of theirs; titles unchanged; the page whole; the text as it is."""
    write_report(poisoned, tmp_path / "out")
    pages = {path: read(path) for path in (tmp_path / "out").rglob("*.html")}
    assert len(pages) == 9
    for path, page in pages.items():
        assert page.wrong == [], path
        assert page.open == [], path
        assert not page.tags & LIVE, path
        assert not [name for name in page.attributes if name.startswith("on")], path
        assert "X5" not in page.headings
        assert len(page.headings) == 1, path
    shown = "".join(page.text for page in pages.values())
    for case in hostile():
        assert visible(case["output"]) in shown
        assert visible(case["role"]) in shown
    assert not [page.title for page in pages.values() if page.title in ("X1", "X2", "X3", "X4")]


def test_template_marks_are_not_evaluated(poisoned: Path, tmp_path: Path) -> None:
    """``{{7*7}}`` stays what it is."""
    write_report(poisoned, tmp_path / "out")
    shown = "".join(read(path).text for path in (tmp_path / "out" / "transcripts").iterdir())
    assert "{{7*7}} {% raise %} ${7*7}" in shown


def test_nothing_is_written_beside_the_report(poisoned: Path, tmp_path: Path) -> None:
    """A unit's name is no path."""
    write_report(poisoned, tmp_path / "deep" / "out")
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["out"]
    assert len(list((tmp_path / "deep" / "out" / "transcripts").iterdir())) == 8


def test_units_become_file_names_that_differ() -> None:
    """Whatever they are called, on file systems that do not tell capitals apart too."""
    units = ["../../etc/passwd", "a b", "a_b", "A_B", "", "..", "ü", "x" * 300]
    names = file_names(units)
    assert len({name.lower() for name in names.values()}) == len(units)
    assert all(name == Path(name).name and len(name) < 100 for name in names.values())
    assert not any(name.startswith(".") for name in names.values())


def test_markdown_has_no_live_text(poisoned: Path, tmp_path: Path) -> None:
    """No HTML, no link, no comment out of a text."""
    write_report(poisoned, tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for mark in ("<", "\x1b"):
        assert mark not in text
    assert not re.search(r"(?<!\\)\]\(javascript", text)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("[click](javascript:x)", r"\[click\](javascript:x)"),
        ("a|b `c` *d* _e_", r"a\|b \`c\` \*d\* \_e\_"),
        ("<b> & c", "&lt;b&gt; &amp; c"),
        ("# no heading\n- no list\n1. no list", "\\# no heading\n\\- no list\n1\\. no list"),
        ("see http://x.y and www.z", "see http:&#47;/x.y and www&#46;z"),
    ],
)
def test_markdown_marks_are_escaped(text: str, safe: str) -> None:
    """They show as they are."""
    assert escaped(text) == safe


def test_csv_runs_no_formula(poisoned: Path, tmp_path: Path) -> None:
    """A cell that begins as a formula gets a sign before it."""
    export(poisoned, "csv", tmp_path)
    csv.field_size_limit(10**8)
    with (tmp_path / "outputs.csv").open(encoding="utf-8", newline="") as file:
        shown = {row["text"] for row in csv.DictReader(file)}
    assert "'=1+1" in shown
    assert not [text for text in shown if text.startswith(("=", "+", "-", "@"))]


def test_the_terminal_is_not_steered(poisoned: Path) -> None:
    """Control characters are pictures."""
    with Reader(poisoned) as reader:
        shown = "".join(transcript_text(reader.record(row.id)) for row in reader.runs())
    assert "\x1b" not in shown
    assert "␛[2J" in shown
