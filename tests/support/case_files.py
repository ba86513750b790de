"""Where the tests find their stored inputs; a missing one is an error, never a skip."""

from __future__ import annotations

from pathlib import Path

__all__ = ["case_folder"]

CASES = Path(__file__).parents[1] / "data/cases"


def case_folder(case: str) -> Path:
    """Return the folder of a case, given its name (`66-text-mtld`) or its number (`66`)."""
    found = [path for path in CASES.iterdir() if case in (path.name, path.name.partition("-")[0])]
    if len(found) != 1:
        raise LookupError(f"{len(found)} folders for case {case!r} in {CASES}")
    return found[0]
