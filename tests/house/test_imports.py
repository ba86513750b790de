"""Who may import whom, and what is packaged."""

from __future__ import annotations

import ast
import contextlib
import importlib
import pkgutil
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]
CHAIN = ("providers", "results", "evaluators", "engine", "orglab")
ROOMS = ("spec", "tools", "graph", "run", "study")


def sources() -> Iterator[tuple[str, Path]]:
    """Every module of the product by its import name, with its file."""
    for folder in CHAIN:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts if folder == "orglab" else ("orglab", *parts))
            yield name.removesuffix(".__init__"), path


def imported(path: Path) -> set[str]:
    """The modules of orglab that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return {name for name in found if name == "orglab" or name.startswith("orglab.")}


def folder_of(module: str) -> str:
    """The folder that a module of orglab lies in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in CHAIN else "orglab"


MODULES = dict(sources())


def test_a_folder_imports_only_from_folders_to_its_left() -> None:
    """`providers < results < evaluators < engine < orglab`."""
    wrong = [
        f"{name} imports {other}"
        for name, path in MODULES.items()
        for other in imported(path)
        if CHAIN.index(folder_of(other)) > CHAIN.index(folder_of(name))
    ]
    assert wrong == []


def test_the_rooms_of_the_engine_stand_in_order() -> None:
    """`spec < tools < graph < run < study`."""

    def room(module: str) -> int | None:
        parts = module.split(".")
        inside = parts[1:2] == ["engine"] and len(parts) > 2 and parts[2] in ROOMS
        return ROOMS.index(parts[2]) if inside else None

    wrong = [
        f"{name} imports {other}"
        for name, path in MODULES.items()
        for other in imported(path)
        if (here := room(name)) is not None and (there := room(other)) is not None and there > here
    ]
    assert wrong == []


def test_nobody_imports_the_package_root() -> None:
    """`import orglab` is for users; `__main__` and the lazy root itself aside."""
    allowed = {"orglab", "orglab.__main__"}
    wrong = [
        name for name, path in MODULES.items() if "orglab" in imported(path) and name not in allowed
    ]
    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    """Inside a folder, and anywhere else."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in MODULES.items():
        graph.add_edges_from((name, other) for other in imported(path) if other in MODULES)
    graph.remove_edges_from(nx.selfloop_edges(graph))
    cycles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert cycles == []


def test_every_package_is_installed() -> None:
    """`setup.py` finds each folder with an `__init__`; none is without, and none says nothing."""
    packages = {name: path for name, path in MODULES.items() if path.name == "__init__.py"}
    found = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["packages"]
    with contextlib.chdir(ROOT):
        assert set(found()) == set(packages)
    rooms = {path.parent for path in MODULES.values()}
    assert rooms == {path.parent for path in packages.values()}


@pytest.mark.parametrize("folder", CHAIN[:-1])
def test_a_folder_refuses_to_be_imported_under_the_wrong_name(folder: str) -> None:
    """From the repo root, `import engine` would make a second copy of every class."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import {folder}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"import orglab.{folder}, not {folder}" in ran.stderr


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"orglab.__main__"}))
def test_all_is_for_names_of_other_modules(name: str) -> None:
    """A list of public names stands where names are re-exported, and it is true."""
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", [])
    assert [each for each in listed if not hasattr(module, each)] == []
    if name not in {"orglab.providers.base", "orglab.evaluators.base"}:
        assert not listed or hasattr(module, "__path__")


def test_importing_the_port_does_not_load_the_engine() -> None:
    """A plugin author pays for the port alone."""
    code = "import orglab.providers.base, sys; print('orglab.engine' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_every_module_is_found_by_the_packages() -> None:
    """What pkgutil finds in the installed package is what lies in the tree."""
    import orglab

    found = {module.name for module in pkgutil.walk_packages(orglab.__path__, "orglab.")}
    assert found <= set(MODULES)
