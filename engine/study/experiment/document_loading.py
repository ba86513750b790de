"""What loading an experiment and loading a sweep have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orglab.engine.graph.check import Checked, check_file
from orglab.engine.run.engine import Unit
from orglab.engine.spec.errors import Problem, SpecIssue
from orglab.engine.spec.model import Topology
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, read_limited
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.reader import read_bytes
from orglab.engine.spec.yaml.source_map import Marks
from orglab.engine.study.batch.units import UnitError, read_units
from orglab.providers.base import JSON

__all__ = ["DocumentLoading", "LoadOptions"]


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What the user gave beside the document.

    Attributes:
        models: A catalogue in place of the teams' models.
        overrides: Values by path, set in every team before what the document sets or varies.
        seed: A root seed in place of the document's.
        trust: What the teams name may be run: Python functions, programs.
    """

    models: Path | None = None
    overrides: Mapping[str, JSON] = field(default_factory=dict)
    seed: int | None = None
    trust: bool = False

    def check(self, path: Path, overrides: Mapping[str, JSON]) -> Checked:
        """Check a team's file with overrides."""
        return check_file(path, overrides=overrides, models=self.models, trust=self.trust)


class DocumentLoading:
    """One load of a document; parts that an error does not concern are checked all the same.

    Args:
        path: The document.
        options: What the user gave beside it.

    Attributes:
        issues: Errors so far, each once, in the order in which they were found.
        invalid_fields: Top-level fields that break the schema.
    """

    def __init__(self, path: Path, options: LoadOptions) -> None:
        self.path, self.folder, self.options = path, path.parent, options
        self.issues: dict[SpecIssue, None] = {}
        self.invalid_fields: set[str | int] = set()

    def read(self, kind: str) -> dict[str, JSON] | None:
        """Return the document without the fields that break its schema; None if it cannot be read."""
        try:
            document = read_bytes(read_limited(self.path), str(self.path))
        except FileRefused as refused:
            problem = Problem(path=(), wrong=str(refused))
            self.issues[SpecIssue(file=str(self.path), line=0, column=0, problem=problem)] = None
            return None
        self.issues |= dict.fromkeys(document.issues)
        self.marks = Marks(document.place)
        if not document.whole:
            return None
        problems = shape_problems(document.data, kind)
        self.report(*problems)
        if not isinstance(document.data, dict):
            return {}
        self.invalid_fields = {problem.path[0] for problem in problems if problem.path}
        return {key: part for key, part in document.data.items() if key not in self.invalid_fields}

    def report(self, *problems: Problem) -> None:
        """Add problems of the document as issues."""
        for problem in problems:
            at = self.marks.key if problem.at_key else self.marks.value
            mark = at(problem.path)
            issue = SpecIssue(file=mark.file, line=mark.line, column=mark.column, problem=problem)
            self.issues[issue] = None

    def sorted_issues(self) -> list[SpecIssue]:
        """Return the issues by place, the document's own first."""
        own = str(self.path)
        return sorted(
            self.issues, key=lambda issue: (issue.file != own, issue.file, issue.line, issue.column)
        )

    def seed(self, data: Mapping[str, JSON]) -> int:
        """Return the root seed: the user's, else the document's, else 0."""
        return int(data.get("seed", 0)) if self.options.seed is None else self.options.seed

    def units(self, data: Mapping[str, JSON], topology: Topology) -> Sequence[Unit]:
        """Return the units of the document's file; [] after an error."""
        written = data["units"]
        try:
            confined_file(written["file"], folder=self.folder, root=self.folder)
            return read_units(
                self.folder / written["file"],
                topology,
                id_column=written.get("id"),
                where=written.get("where"),
                sample=written.get("sample"),
                seed=self.seed(data),
            )
        except FileRefused as refused:
            wrong = f"{written['file']}: {refused}"
            self.report(Problem(path=("units", "file"), wrong=wrong))
        except UnitError as error:
            path = ("units", error.field or "file")
            self.report(*(Problem(path=path, wrong=line) for line in error.issues))
        return []
