"""The page on statistics: its example runs, and it names what there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from orglab.results.statistics.data.dataset import RUN_COLUMNS, SCORE_COLUMNS
from orglab.results.statistics.models.draft_comparison import DRAFT_COLUMNS

PAGE = (Path(__file__).parents[3] / "docs/reference/statistics.md").read_text(encoding="utf-8")


def test_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The fence runs, and its last comment is what it prints."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/reference/statistics.md", "exec"), {})
    assert f"# {capsys.readouterr().out.strip()}" == code.strip().splitlines()[-1]


@pytest.mark.parametrize("column", sorted({*SCORE_COLUMNS, *RUN_COLUMNS, *DRAFT_COLUMNS}))
def test_columns_are_documented(column: str) -> None:
    """Every column of the three tables stands on the page."""
    assert re.search(rf"\b{column}\b", PAGE.split("## Tables")[1].split("## The plan")[0])


def _defines(module: ModuleType, name: str) -> bool:
    return getattr(getattr(module, name, None), "__module__", None) == module.__name__


def modules() -> list[tuple[ModuleType, str]]:
    """Modules of the table, and the functions that their rows name."""
    found = []
    for row in re.findall(
        r"^\| (`[\w.]+`.*?) \| (.*?) \|$", PAGE.split("## Where")[1], re.MULTILINE
    ):
        names = re.findall(r"`([\w.]+)`", row[0])
        loaded = [import_module(f"orglab.results.statistics.{name}") for name in names]
        for function in re.findall(r"`(\w+)`", row[1]):
            owner = next((one for one in loaded if _defines(one, function)), loaded[0])
            found.append((owner, function))
    return found


@pytest.mark.parametrize(("module", "name"), modules())
def test_functions_of_the_page_exist(module: ModuleType, name: str) -> None:
    """Each function that the page names is public in a module of its row."""
    assert _defines(module, name)
    assert isinstance(getattr(module, name), Callable)  # type: ignore[arg-type]
