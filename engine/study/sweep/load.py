"""Sweeps from files: whatever is varied in a team or an experiment, every variant run once.

Loading tells every error of the document and of its variants together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import Problem, SpecIssue
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file
from orglab.engine.study.experiment.document_loading import (
    DocumentLoading,
    LoadKeywords,
    LoadOptions,
)
from orglab.engine.study.experiment.load import kind_of
from orglab.engine.study.sweep.designs import Point, design_problems, draws_of, points_of
from orglab.engine.study.sweep.factors import Factor, factors_of, level_problems
from orglab.engine.study.sweep.paths import path_problems, places, reach_problems
from orglab.engine.study.sweep.sweep import Cell, Sweep
from orglab.engine.study.sweep.variants import (
    Bases,
    VariantCompiler,
    experiment_bases,
    topology_bases,
)
from orglab.providers.base import JSON

_OF_EXPERIMENT = ("units", "replicates", "seed", "pairing", "evaluators", "composites")
"""Fields that an experiment brings itself."""
_SHARED = ("replicates", "seed", "share_prefix", "composites")
"""Fields of a sweep over an experiment that are the experiment's."""


def load_sweep(path: Path, **given: Unpack[LoadKeywords]) -> Sweep:
    """Load a sweep with its variants and units; ``given`` are fields of ``LoadOptions``.

    Raises:
        SpecError: There are errors; all of them.
    """
    return _Loading(path, LoadOptions(**given)).loaded()


class _Loading(DocumentLoading[Sweep]):
    def load(self) -> tuple[Sweep | None, list[SpecIssue]]:
        data = self.read("sweep")
        if data is None:
            return None, list(self.issues)
        bases = self._bases(data) if "base" in data else None
        factors = self._factors(data, bases) if "vary" in data else []
        points = self._points(data, factors) if factors else []
        units = self._units(data, bases) if bases is not None else []
        if bases and not any(path.startswith("evaluators") for path in data.get("vary", {})):
            shared = {"composites": bases.experiment.composites} if bases.experiment else {}
            self.outcomes({**data, **shared}, list(bases.teams.values()), units)
        cells = self._cells(bases, factors, points) if bases is not None else []
        if self.issues or bases is None or not cells:
            return None, self.sorted_issues()
        return self._made(data, bases, (factors, points), units, cells), []

    # -- the base

    def _bases(self, data: Mapping[str, JSON]) -> Bases | None:
        try:
            file = confined_file(data["base"], folder=self.folder, root=self.folder)
        except FileRefused as refused:
            self.report(Problem(path=("base",), wrong=f"{data['base']}: {refused}"))
            return None
        kind = kind_of(file)
        if kind == "sweep":
            wrong = "a sweep of a sweep: expected a topology or an experiment"
            self.report(Problem(path=("base",), wrong=wrong))
            return None
        found, issues = self._load_bases(data, kind)
        self.issues |= dict.fromkeys(issues)
        return found

    def _load_bases(
        self, data: Mapping[str, JSON], kind: str
    ) -> tuple[Bases | None, Sequence[SpecIssue]]:
        shown = self.folder / data["base"]
        if kind == "experiment":
            self.report(*_brought(data))
            return experiment_bases(shown, self.options)
        return topology_bases(
            shown,
            self.options,
            evaluators=data.get("evaluators"),
            marks=self.marks,
            report=self.report,
        )

    # -- factors, points, units

    def _factors(self, data: Mapping[str, JSON], bases: Bases | None) -> list[Factor]:
        vary = data["vary"]
        name, _ = draws_of(data.get("design", "grid"))
        draws = "design" in self.invalid_fields or name in ("random", "latin")
        self.report(*level_problems(vary, draws=draws))
        normals = [team.topology.normal for team in bases.teams.values()] if bases else []
        self.report(*path_problems(vary, normals))
        reach = {
            path: list(dict.fromkeys(at for normal in normals for at in places(path, normal)))
            for path in vary
        }
        self.report(*reach_problems(reach))
        factors = factors_of(vary)
        self.report(*_analysis_problems(data, factors))
        return factors if len(factors) == len(vary) else []

    def _points(self, data: Mapping[str, JSON], factors: Sequence[Factor]) -> list[Point]:
        design = data.get("design", "grid")
        ranges = draws_of(design)[0] in ("grid", "zip") and any(f.span for f in factors)
        if ranges or "design" in self.invalid_fields:
            return []
        problems = list(design_problems(design, factors))
        self.report(*problems)
        return [] if problems else points_of(design, factors, self.seed(data))

    def _units(self, data: Mapping[str, JSON], bases: Bases) -> Sequence[Unit]:
        if bases.experiment is not None:
            return bases.experiment.units
        if "units" in data:
            return self.units(data, next(iter(bases.teams.values())).topology)
        if not any(issue.problem.path[:1] == ("units",) for issue in self.issues):
            hint = "write `units: {file: units.csv}`"
            self.report(Problem(path=("units",), wrong="units is missing", hint=hint))
        return []

    # -- variants

    def _cells(
        self, bases: Bases, factors: Sequence[Factor], points: Sequence[Point]
    ) -> list[Cell]:
        """Return the teams that are run; [] where what they hang on has errors."""
        if not points or any(issue.problem.path[:1] == ("vary",) for issue in self.issues):
            return []
        maker = VariantCompiler(bases, factors, self.marks, self.options)
        cells = maker.cells(points)
        self.issues |= dict.fromkeys(maker.issues)
        return cells

    def _made(
        self,
        data: Mapping[str, JSON],
        bases: Bases,
        design: tuple[Sequence[Factor], Sequence[Point]],
        units: Sequence[Unit],
        cells: Sequence[Cell],
    ) -> Sweep:
        declared = self.declared(data)
        if bases.experiment is not None:
            declared |= {field: getattr(bases.experiment, field) for field in _SHARED}
        return Sweep(
            **declared,
            base=data["base"],
            experiment=bases.experiment,
            bases={arm: team.topology.hash for arm, team in bases.teams.items()},
            factors=design[0],
            design=data.get("design", "grid"),
            points=design[1],
            cells=cells,
            units=units,
            read=bases.read,
        )


def _brought(data: Mapping[str, JSON]) -> Iterator[Problem]:
    """Yield what a sweep over an experiment may not say itself."""
    for field in _OF_EXPERIMENT:
        if field in data:
            wrong = "the base is an experiment, which brings its own"
            yield Problem(path=(field,), wrong=wrong, hint="leave it out", at_key=True)


def _analysis_problems(data: Mapping[str, JSON], factors: Sequence[Factor]) -> Iterator[Problem]:
    """Return references of factors or values that there are not."""
    by_path = {factor.path: factor for factor in factors}
    for path, value in data.get("analysis", {}).get("reference", {}).items():
        at = ("analysis", "reference", path)
        factor = by_path.get(path)
        if factor is None:
            if path not in data["vary"]:
                hint = did_you_mean(path, data["vary"])
                yield Problem(path=at, wrong=f"`{path}` does not vary", hint=hint, at_key=True)
        elif factor.span is not None:
            yield Problem(path=at, wrong="a range has no level to compare with", at_key=True)
        elif not any(value in (level.value, level.label) for level in factor.levels):
            known = [level.label for level in factor.levels]
            yield Problem(path=at, wrong="no such value", hint=did_you_mean(str(value), known))
