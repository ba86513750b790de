"""Names of outcomes, resolved before anything is run: what the evaluators give, and what runs and units hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

from orglab.engine.graph.output_fields import fields_of
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.run.replicas import Replicas
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.model import EvaluatorUse, Topology
from orglab.engine.study.batch.preflight import blank_scores
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.records import Score
from orglab.results.store.reader import RUN_FIGURES

Use: TypeAlias = Literal["numbers", "drafts", "any"]
"""What an analysis needs of a name: numbers, numbers of each draft, or anything to group by."""

_DRAFT = re.compile(r"(.+)@[1-9]\d*\Z")


@dataclass(frozen=True, kw_only=True)
class OutcomeNames:
    """What an analysis may name.

    Attributes:
        scales: Scale by outcome, composites among them.
        several: Plain name -> the full names of the evaluators that all give it.
        columns: Columns of runs and units, and whether they hold numbers.
        complete: Every evaluator said what it gives; else an unknown name may be a score.
    """

    scales: Mapping[str, str]
    several: Mapping[str, Sequence[str]]
    columns: Mapping[str, bool]
    complete: bool

    def problem(self, path: SpecPath, name: str, use: Use, *, scores_only: bool) -> Problem | None:
        """Return what is wrong with a name; None where it is right or cannot be known."""
        draft = _DRAFT.match(name)
        plain = f"{draft[1] if draft else name}@2" if draft or use == "drafts" else name
        columns = {} if scores_only or use == "drafts" else self.columns
        if name in self.several:
            given = self.several[name]
            wrong = f"{len(given)} evaluators give `{name}`"
            return Problem(path=path, wrong=wrong, hint=f"write `{given[0]}` or `{given[1]}`")
        if plain in self.scales:
            if self.scales[plain] == "nominal" and use != "any":
                hint = "compare it with `equals` or `field`, which give true or false, or use it under `by`"
                return Problem(path=path, wrong=f"`{name}` is text, not a number", hint=hint)
            return None
        if name in columns:
            if use == "numbers" and not columns[name]:
                hint = "use it under `by`, which splits the effect by its values"
                return Problem(path=path, wrong=f"the column `{name}` holds text", hint=hint)
            return None
        if not self.complete:
            return None
        if use == "drafts":
            known = [each.removesuffix("@2") for each in self.scales if each.endswith("@2")]
            wrong = f"no evaluator gives `{name}` of drafts"
        else:
            known = [*self.scales, *self.several, *columns]
            wrong = f"`{name}` is neither a score of the evaluators nor a composite"
            wrong += "" if scores_only else ", nor a column of runs and units"
        hint = did_you_mean(name, known) or f"there are {', '.join(sorted(known)[:20])}"
        return Problem(path=path, wrong=wrong, hint=hint)


def outcome_names(
    teams: Sequence[Team], units: Sequence[Unit], composites: Mapping[str, Sequence[str]]
) -> OutcomeNames:
    """Return what an analysis of these teams on these units may name."""
    given = blank_scores(teams[0])
    scores = [(use, score) for use, found in given for score in found or ()]
    often = Counter(score.name for _, score in scores)
    own = Counter(score.name for use, score in scores if _measure_of(score.name) == use.use)
    scales: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    for use, score in scores:
        name = score.name
        if often[name] > 1 and (own[name] != 1 or _measure_of(name) != use.use):
            name = f"{name} ({use.use} {canonical(dict(use.arguments))})"
            several.setdefault(score.name, []).append(name)
        scales[name] = _scale(teams[0].topology, use, score)
    return OutcomeNames(
        scales=scales | dict.fromkeys(composites, "interval"),
        several={name: full for name, full in several.items() if name not in scales},
        columns=_columns(teams, units),
        complete=all(found is not None for _, found in given),
    )


def _scale(topology: Topology, use: EvaluatorUse, score: Score) -> str:
    """Return the scale of a score; a field whose schema takes text alone is nominal."""
    if use.use != "field" or score.scale != "interval" or "measured" in use.arguments:
        return score.scale
    role = topology.roles.get(str(use.arguments.get("role") or topology.output[-1]))
    found = (fields_of(topology, role) or {}) if role is not None else {}
    schemas = [field.schema for field in found.get(str(use.arguments.get("path")), ())]
    texts = [isinstance(each, Mapping) and _takes_text_alone(each) for each in schemas]
    return "nominal" if texts and all(texts) else score.scale


def _takes_text_alone(schema: Mapping[str, JSON]) -> bool:
    values = schema.get("enum") or [schema.get("const")]
    return schema.get("type") == "string" or all(isinstance(value, str) for value in values)


def _columns(teams: Sequence[Team], units: Sequence[Unit]) -> dict[str, bool]:
    """Return the columns of runs and units, and whether each holds numbers alone."""
    columns = dict.fromkeys(RUN_FIGURES, True) | dict.fromkeys(("arm", "unit", "status"), False)
    for unit in units:
        for name, value in (*unit.inputs.items(), *unit.extra.items()):
            if isinstance(value, str | int | float):
                column = f"unit.{name}" if name in RUN_FIGURES else name
                columns[column] = columns.get(column, True) and _is_number(value)
    copies = {copy for team in teams for copy in Replicas(team.topology.roles).by_name}
    return columns | dict.fromkeys((f"model.{copy}" for copy in copies), False)


def _is_number(value: str | float) -> bool:
    """Return whether a cell counts as a number: those of a CSV file are texts; empty ones are missing."""
    try:
        return value == "" or isfinite(float(value))
    except ValueError:
        return False


def _measure_of(name: str) -> str:
    """Return the measure of a name: ``hedges`` of ``hedges.modal@2``."""
    return re.split(r"[.@]", name, maxsplit=1)[0]


def outcome_problems(
    analysis: Mapping[str, JSON], composites: Mapping[str, Sequence[str]], names: OutcomeNames
) -> Iterator[Problem]:
    """Yield what is wrong with the names that an analysis and composites use."""
    for path, name, use in _named(analysis, composites):
        problem = names.problem(path, name, use, scores_only=path[0] == "composites")
        if problem is not None:
            yield problem
    for subset, written in (analysis.get("subsets") or {}).items():
        where = written.get("where") if isinstance(written, Mapping) else None
        if isinstance(where, str):
            yield from _condition_problems(("analysis", "subsets", subset, "where"), where, names)


def _condition_problems(path: SpecPath, where: str, names: OutcomeNames) -> Iterator[Problem]:
    # Here, so that only an analysis with subsets pays for DuckDB's parser.
    from orglab.results.statistics.errors import PlanError
    from orglab.results.statistics.row_filter import condition_columns

    try:
        columns = condition_columns(where)
    except PlanError as error:
        yield Problem(path=path, wrong=str(error))
        return
    problems = (names.problem(path, name, "any", scores_only=False) for name in columns)
    yield from (problem for problem in problems if problem is not None)


def _named(
    analysis: Mapping[str, JSON], composites: Mapping[str, Sequence[str]]
) -> Iterator[tuple[SpecPath, str, Use]]:
    """Yield each name with its place and what is needed of it."""
    for field in ("primary", "covariates", "lower_is_better"):
        yield from _texts(("analysis", field), analysis.get(field), "numbers")
    followups = analysis.get("followups") or {}
    yield from _texts(("analysis", "followups", "outcomes"), followups.get("outcomes"), "numbers")
    yield from _texts(("analysis", "by"), analysis.get("by"), "any")
    for field in ("mixed", "dose"):
        for path, part in _parts(("analysis", field), analysis.get(field)):
            for key in ("outcome", "dose", "covariates"):
                yield from _texts((*path, key), part.get(key), "numbers")
    for path, part in _parts(("analysis", "drafts"), analysis.get("drafts")):
        yield from _texts((*path, "measures"), part.get("measures"), "drafts")
    for name in analysis.get("bounds") or {}:
        yield ("analysis", "bounds", name), name, "numbers"
    for composite, parts in composites.items():
        yield from _texts(("composites", composite), parts, "numbers")


def _texts(path: SpecPath, written: JSON, use: Use) -> Iterator[tuple[SpecPath, str, Use]]:
    if isinstance(written, str):
        yield path, written, use
    for at, name in enumerate(written if isinstance(written, list | tuple) else ()):
        if isinstance(name, str):
            yield (*path, at), name, use


def _parts(path: SpecPath, written: JSON) -> Iterable[tuple[SpecPath, Mapping[str, JSON]]]:
    if isinstance(written, Mapping):
        return [(path, written)]
    listed = written if isinstance(written, list | tuple) else ()
    return [((*path, at), part) for at, part in enumerate(listed) if isinstance(part, Mapping)]
