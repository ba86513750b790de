"""Pages name files and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = "engine|evaluators|orglab|providers|results|specs|tests|docs|benchmarks"
PAGES = [
    "CONTRIBUTING.md",
    "README.md",
    *(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
]
PATH = re.compile(rf"(?<![\w./-])(?:{TOPS})/[\w./-]*[\w/]")


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page: str) -> None:
    """Those in backticks or blocks that begin with a top folder; NAME and <kind> stand for any."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = set(PATH.findall(text))
    missing = sorted(path for path in found if not any(ROOT.glob(path.replace("NAME", "*"))))
    assert missing == []
