"""A file checked whole: what the loader finds and what the compiler finds, in order of place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Team
from orglab.engine.spec.fault import Fault, Problem
from orglab.engine.spec.load import Loaded, load

__all__ = ["Checked", "check_file"]

JSON: TypeAlias = Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A checked file.

    Attributes:
        loaded: What the loader made of it.
        team: The compiled team, or None where there is any fault.
        faults: All faults, in order of place.
    """

    loaded: Loaded
    team: Team | None
    faults: tuple[Fault, ...]


def check_file(
    path: Path, *, overrides: Mapping[str, JSON] | None = None, models: Path | None = None
) -> Checked:
    """Loads and compiles a topology, and tells all its faults in one go.

    Where the loader finds faults, the sound parts are compiled all the same; what could merely
    follow from the parts left out is then not told.

    Args:
        path: The file.
        overrides: Values by path (``roles.writer.vars.persona``), set before checking.
        models: A file whose models stand in place of the spec's.
    """
    loaded = load(path, overrides=overrides, models=models)
    team, found = None, list[Problem]()
    if loaded.topology is not None:
        team, found = compile_topology(loaded.topology, partial=loaded.partial)
    told = {problem.path for problem in loaded.problems}
    problems = [*loaded.problems, *(one for one in found if one.path not in told)]
    faults = tuple(sorted(map(loaded.locate, problems), key=_place))
    return Checked(loaded=loaded, team=None if faults else team, faults=faults)


def _place(fault: Fault) -> tuple[str, int, int]:
    return fault.file, fault.line, fault.column
