"""The page of broken specs says exactly what is printed.

``python tests/docs/test_broken_specs.py`` puts the specs and what is printed into the page anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orglab.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = Path("docs/how-to/broken-specs")
PAGE = ROOT / FOLDER / "README.md"
NAMES = sorted(path.name for path in (ROOT / FOLDER).glob("0*.yaml"))
FENCE = re.compile(r"<!-- (?P<what>\S+) -->\n```(?P<kind>\w*)\n(?P<body>.*?)```\n", re.DOTALL)


def printed(file: Path) -> tuple[int, str]:
    """The exit code and the lines of `orglab check`, run at the root of the repository."""
    result = CliRunner().invoke(app, ["check", str(file)])
    return result.exit_code, result.output


def fences(text: str) -> Mapping[str, str]:
    """The content of each marked fence of the page, by its mark."""
    return {found["what"]: found["body"] for found in FENCE.finditer(text)}


def right(mark: str) -> str:
    """What a fence has to hold: a file, or what is printed for it."""
    name = mark.removeprefix("printed:")
    return printed(FOLDER / name)[1] if name != mark else (ROOT / FOLDER / mark).read_text("utf-8")


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are printed as typed there."""
    monkeypatch.chdir(ROOT)


def test_the_page_shows_every_broken_spec() -> None:
    """Five specs, each with what is printed and with its corrected twin."""
    shown = fences(PAGE.read_text("utf-8"))
    expected = [mark for name in NAMES for mark in (name, f"printed:{name}", f"corrected/{name}")]
    assert len(NAMES) == 5
    assert list(shown) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_is_printed(name: str) -> None:
    """Spec, faults and corrected spec stand on the page word for word."""
    shown = fences(PAGE.read_text("utf-8"))
    for mark in (name, f"printed:{name}", f"corrected/{name}"):
        assert shown[mark] == right(mark)


@pytest.mark.parametrize("name", NAMES)
def test_broken_specs_are_refused_and_corrected_ones_pass(name: str) -> None:
    """Exit code 2 with several faults, one a line; 0 for the corrected twin."""
    code, text = printed(FOLDER / name)
    assert code == 2
    lines = text.splitlines()
    assert len(lines) >= 5
    assert all(re.match(rf"{FOLDER}/{name}:\d+:\d+ \S+: ", line) for line in lines)
    code, text = printed(FOLDER / "corrected" / name)
    assert code == 0, text


def refreshed(text: str) -> str:
    """The page with each fence filled anew."""

    def fill(found: re.Match[str]) -> str:
        return f"<!-- {found['what']} -->\n```{found['kind']}\n{right(found['what'])}```\n"

    return FENCE.sub(fill, text)


if __name__ == "__main__":
    import os

    os.chdir(ROOT)
    PAGE.write_text(refreshed(PAGE.read_text("utf-8")), "utf-8")
