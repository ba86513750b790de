"""A file checked whole: what the loader finds and what the compiler finds, in order of place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.checks.warnings import remarks
from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem, SpecIssue
from orglab.engine.spec.load import Loaded, load
from orglab.providers.base import JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A checked file.

    Attributes:
        loaded: What the loader made of it.
        team: The compiled team, or None where there is any fault.
        errors: All errors, in order of place.
        warnings: What is no error and seldom meant, of a team without faults.
    """

    loaded: Loaded
    team: Team | None
    issues: tuple[SpecIssue, ...]
    warnings: tuple[SpecIssue, ...] = ()


def check_file(
    path: Path,
    *,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | None = None,
    trust: bool = False,
) -> Checked:
    """Load and compile a topology, and report all its errors together.

    Where the loader finds errors, the sound parts are compiled all the same; what could merely
    follow from the parts left out is then not known.

    Args:
        path: The file.
        overrides: Values by path (``roles.writer.vars.persona``), set before checking.
        models: A file whose models stand in place of the spec's.
        trust: What the spec names may be run: Python functions, programs.
    """
    loaded = load(path, overrides=overrides, models=models, trust=trust)
    team, found = None, list[Problem]()
    if loaded.topology is not None:
        blamed = [problem.path for problem in loaded.problems] if loaded.partial else None
        team, found = compile_topology(loaded.topology, blamed=blamed)
    issues = loaded.issues
    known = {issue.problem.path for issue in issues}
    issues += [issue for issue in map(loaded.locate, found) if issue.problem.path not in known]
    issues.sort(key=lambda issue: _place(issue, loaded.file))
    if issues or team is None:
        return Checked(loaded=loaded, team=None, issues=tuple(issues))
    warnings = tuple(map(loaded.locate, remarks(team)))
    return Checked(loaded=loaded, team=team, issues=(), warnings=warnings)


def _place(issue: SpecIssue, file: str) -> tuple[bool, str, int, int]:
    """Return a sort key: the checked file's own errors come first."""
    return issue.file != file, issue.file, issue.line, issue.column
