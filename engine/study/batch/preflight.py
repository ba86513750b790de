"""Whether evaluators could do their work, looked at before anything is run or paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.checks.cost_limit import lacking
from orglab.engine.graph.team import Team
from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.outcome import Unit
from orglab.engine.run.run_plan import resolver
from orglab.engine.spec.compose.model_entry import model_of_entry
from orglab.engine.spec.errors import Problem
from orglab.engine.spec.model import EvaluatorUse, Model
from orglab.engine.spec.plugin_settings import is_template
from orglab.engine.study.experiment.comparison import sample_unit
from orglab.evaluators.base import EvaluationError, Evaluator, RunRecord, Score
from orglab.providers.base import JSON
from orglab.providers.registry import load_plugin


def evaluator_problems(team: Team) -> Iterator[Problem]:
    """Yield what keeps a team's evaluators, and the models that they would ask, from their work.

    An evaluator of which an argument is a template is looked at when there is a unit to fill it in.
    """
    topology = team.topology
    unit = sample_unit(topology)
    yield from preflight_problems(
        topology.evaluators, unit, topology.folder, trust=topology.trusted
    )


def preflight_problems(
    uses: Sequence[EvaluatorUse], unit: Unit, folder: Path, *, trust: bool = False
) -> Iterator[Problem]:
    """Yield the same for evaluators whose files lie in ``folder``, on a unit."""
    for index, made in enumerate(_made(uses, unit, folder)):
        path = ("evaluators", index, made.use.use)
        try:
            made.prepare(trust)
        except (EvaluationError, ValueError) as wrong:
            yield Problem(path=path, wrong=str(wrong))


def asked_models(team: Team) -> list[Mapping[str, JSON]]:
    """Return the entries of the models that a team's evaluators ask.

    Raises:
        EvaluationError: An evaluator could not do its work.
    """
    return [entry for made in _made_of(team) for entry in made.asks()]


def asks_models(use: EvaluatorUse) -> bool:
    """Return whether an evaluator asks models."""
    kind: type[Evaluator] = load_plugin("orglab.evaluators", use.use)
    return kind.asks is not Evaluator.asks


def judge_models(team: Team) -> list[Model]:
    """Return the models that a team's evaluators ask, one for each judge; the alias is ``judge MODEL``.

    Raises:
        EvaluationError: An evaluator could not do its work.
        ValueError: A model's entry is wrong.
    """
    return _judges(asked_models(team), team.topology.folder)


def unbounded_judges(team: Team) -> list[str]:
    """Judges that bill and of which a call has no largest cost: see ``unbounded_models``."""
    return _unbounded(judge_models(team))


def unbounded_uses(uses: Sequence[EvaluatorUse], unit: Unit, folder: Path) -> list[str]:
    """Return the same of evaluators whose files lie in ``folder``."""
    entries = [entry for made in _made(uses, unit, folder) for entry in made.asks()]
    return _unbounded(_judges(entries, folder))


def _judges(entries: Sequence[Mapping[str, JSON]], folder: Path) -> list[Model]:
    names = [f"judge {entry.get('model') or entry['provider']}" for entry in entries]
    pairs = zip(entries, names, strict=True)
    return [model_of_entry(entry, folder, name, trust=True) for entry, name in pairs]


def _unbounded(judges: Sequence[Model]) -> list[str]:
    return list(dict.fromkeys(each.alias for each in judges if lacking(each, [])))


def blank_scores(team: Team) -> list[tuple[EvaluatorUse, Sequence[Score] | None]]:
    """Return the scores that each evaluator gives of a run without any output: their names and scales.

    None where that is not known: a plugin, or an argument that a unit must fill in, may need more.
    """
    blank = RunRecord(id="", arm="", unit="", inputs={}, status="failed", reason="blank")
    return [(made.use, made.scores(blank)) for made in _made_of(team)]


def files_read(team: Team) -> list[str]:
    """Files that a team's evaluators read, relative to its folder: named, or named by such a file."""
    known = team.topology.normal["files"]
    found: dict[str, None] = {}
    for made in _made_of(team):
        found.update(dict.fromkeys(name for name in texts_in(made.use.arguments) if name in known))
        try:
            made.prepare()
        except (EvaluationError, ValueError):
            continue  # reported by `evaluator_problems`
        folder = team.topology.folder
        found.update((path.relative_to(folder).as_posix(), None) for path in made.context.read)
    return sorted(found)


def texts_in(value: JSON) -> Iterator[str]:
    """Yield the strings in a value, at any depth."""
    if isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(part)
    elif isinstance(value, str):
        yield value


@dataclass(frozen=True, kw_only=True)
class _Made:
    """An evaluator on a sample unit."""

    use: EvaluatorUse
    toolbox: Toolbox
    context: EvaluationContext
    folder: Path

    def prepare(self, trust: bool = True) -> None:
        if (evaluator := self._evaluator()) is not None:
            evaluator.prepare(self.context)
            for entry in evaluator.asks(self.context):
                model_of_entry(entry, self.folder, trust=trust)

    def scores(self, run: RunRecord) -> Sequence[Score] | None:
        try:
            if (evaluator := self._evaluator()) is None:
                return None
        except (EvaluationError, ValueError):
            return None  # reported by `evaluator_problems`
        try:
            evaluator.evaluate(run, self.context).send(None)
        except StopIteration as ended:
            found: Sequence[Score] = ended.value
            later = [Score(name=name, value=None, scale="count") for name in evaluator.beside]
            return [*found, *later]
        except Exception:  # noqa: BLE001 - a plugin may need more than a blank run
            return None
        return None

    def asks(self) -> list[Mapping[str, JSON]]:
        evaluator = self._evaluator()
        return list(evaluator.asks(self.context)) if evaluator is not None else []

    def _evaluator(self) -> Evaluator | None:
        if any(is_template(text) for text in texts_in(self.use.arguments)):
            try:
                return make_evaluator(self.use, self.toolbox)
            except ValueError:
                return None
        return make_evaluator(self.use, self.toolbox)


def _made_of(team: Team) -> Iterator[_Made]:
    topology = team.topology
    return _made(topology.evaluators, sample_unit(topology), topology.folder)


def _made(uses: Sequence[EvaluatorUse], unit: Unit, folder: Path) -> Iterator[_Made]:
    toolbox = Toolbox(uses={}, inputs=unit.inputs, resolve=resolver(folder, unit))
    for use in uses:
        context = EvaluationContext(inputs=unit.inputs, extra=unit.extra)
        yield _Made(use=use, toolbox=toolbox, context=context, folder=folder)
