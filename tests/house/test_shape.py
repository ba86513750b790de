"""How large a room, a file and a function may be, and what a room says of itself.

The exceptions below are of a change under way; they may only shrink.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("engine", "evaluators", "orglab", "providers", "results")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
ROOMS = sorted({path.parent for path in FILES})

MOST_FILES, MOST_LINES, MOST_FUNCTION_LINES, FEWEST_WORDS = 16, 450, 60, 8


def name_of(path: Path) -> str:
    """Return the path in the repository."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def test_a_room_has_at_most_16_files() -> None:
    """Its `__init__` counts."""
    sizes = {name_of(room): len(list(room.glob("*.py"))) for room in ROOMS}
    assert [room for room, size in sizes.items() if size > MOST_FILES] == []


def test_a_file_has_at_most_450_lines() -> None:
    """Longer ones are split by what they hold."""
    lines = {name_of(path): path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {name for name, number in lines.items() if number > MOST_LINES} == set()


def test_a_function_has_at_most_60_lines() -> None:
    """Docstring included."""
    long = [
        f"{name_of(path)}: {node.name}"
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
    ]
    assert long == []


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_a_room_says_what_belongs_in_it(room: Path) -> None:
    """One paragraph in its `__init__`."""
    said = ast.get_docstring(tree(room / "__init__.py")) or ""
    assert len(said.split()) >= FEWEST_WORDS


def test_a_class_name_has_one_meaning() -> None:
    """No two modules define a public class of the same name."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
