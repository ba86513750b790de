"""What loading an experiment and loading a sweep have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from orglab.engine.graph.check import Checked, check_file
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import Problem, SpecError, SpecIssue
from orglab.engine.spec.model import Topology
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, read_limited
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.reader import Document, read_bytes
from orglab.engine.spec.yaml.source_map import Marks
from orglab.engine.study.batch.units import UnitError, read_units
from orglab.engine.study.experiment.outcomes import outcome_names, outcome_problems
from orglab.providers.base import JSON

Design = TypeVar("Design")


class LoadKeywords(TypedDict, total=False):
    """Keyword arguments of the functions that load a document: the fields of ``LoadOptions``."""

    models: Path | None
    overrides: Mapping[str, JSON] | None
    seed: int | None
    replicates: int | None
    trust: bool


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What the user gave beside the document.

    Attributes:
        models: A catalogue in place of the teams' models.
        overrides: Values by path, set in every team before what the document sets or varies.
        seed: A root seed in place of the document's; units are drawn by it too.
        replicates: Runs of each unit under each team, in place of the document's.
        trust: What the teams name may be run: Python functions, programs.
    """

    models: Path | None = None
    overrides: Mapping[str, JSON] | None = None
    seed: int | None = None
    replicates: int | None = None
    trust: bool = False

    @property
    def sets(self) -> Mapping[str, JSON]:
        """The overrides; empty where none are given."""
        return self.overrides or {}

    def check(self, path: Path, overrides: Mapping[str, JSON]) -> Checked:
        """Check a team's file with overrides."""
        return check_file(path, overrides=overrides, models=self.models, trust=self.trust)


class DocumentLoading(Generic[Design]):
    """One load of a document; parts that an error does not concern are checked all the same.

    Args:
        path: The document.
        options: What the user gave beside it.

    Attributes:
        issues: Errors so far, each once, in the order in which they were found.
        invalid_fields: Top-level fields that break the schema.
        written: Top-level fields that the document has.
    """

    def __init__(self, path: Path, options: LoadOptions) -> None:
        self.path, self.folder, self.options = path, path.parent, options
        self.issues: dict[SpecIssue, None] = {}
        self.invalid_fields: set[str | int] = set()
        self.written: set[str] = set()

    def load(self) -> tuple[Design | None, list[SpecIssue]]:
        """Return what the document declares, or None and every error."""
        raise NotImplementedError

    def loaded(self) -> Design:
        """Return what the document declares.

        Raises:
            SpecError: There are errors; all of them.
        """
        design, issues = self.load()
        if issues or design is None:
            raise SpecError(issues)
        return design

    def open(self) -> Document | None:
        """Return the document with the places of its values; None if it cannot be read."""
        try:
            document = read_bytes(read_limited(self.path), str(self.path))
        except FileRefused as refused:
            problem = Problem(path=(), wrong=str(refused))
            self.issues[SpecIssue(file=str(self.path), line=0, column=0, problem=problem)] = None
            return None
        self.issues |= dict.fromkeys(document.issues)
        self.marks = Marks(document.place)
        return document if document.whole else None

    def read(self, kind: str) -> dict[str, JSON] | None:
        """Return the document without the fields that break its schema; None if it cannot be read."""
        document = self.open()
        if document is None:
            return None
        problems = shape_problems(document.data, kind)
        self.report(*problems)
        if not isinstance(document.data, dict):
            return {}
        self.written = set(document.data)
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

    def declared(self, data: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the fields that experiments and sweeps declare alike, but for units and files."""
        given = self.options.replicates
        return {
            "name": data["name"],
            "question": data.get("question", ""),
            "folder": self.folder.resolve(),
            "replicates": data.get("replicates", 1) if given is None else given,
            "seed": self.seed(data),
            "share_prefix": data.get("pairing", {}).get("share_prefix", False),
            "composites": data.get("composites", {}),
            "analysis": data.get("analysis", {}),
            "document": data,
        }

    def outcomes(
        self, data: Mapping[str, JSON], teams: Sequence[Team], units: Sequence[Unit]
    ) -> None:
        """Report names of outcomes that nothing gives; nothing where teams or units have errors."""
        if teams and units:
            analysis, composites = data.get("analysis", {}), data.get("composites", {})
            names = outcome_names(teams, units, composites)
            problems = outcome_problems(analysis, composites, names)
            self.report(*(problem for problem in problems if problem.path[0] in self.written))

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
