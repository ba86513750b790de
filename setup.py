"""Find the packages: every folder with an `__init__.py` below the five that are installed."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup

FOLDERS = ("orglab", "engine", "evaluators", "providers", "results")


def packages() -> dict[str, str]:
    """Map each package's import name to its folder: `engine/run` is `orglab.engine.run`."""
    inits = [path for folder in FOLDERS for path in sorted(Path(folder).rglob("__init__.py"))]
    folders = [path.parent for path in inits]
    return {".".join((*_prefix(folder), *folder.parts)): folder.as_posix() for folder in folders}


def _prefix(folder: Path) -> tuple[str, ...]:
    return () if folder.parts[0] == "orglab" else ("orglab",)


if __name__ == "__main__":
    setup(packages=sorted(packages()), package_dir=packages())
