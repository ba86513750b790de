"""From what a user types to a study: load, find its folder, run, look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from orglab.engine.graph.check import check_file
from orglab.engine.graph.team import Team
from orglab.engine.run.calls.call_key import digest
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import SpecError
from orglab.engine.spec.model import Topology
from orglab.engine.study.batch.preflight import evaluator_problems
from orglab.engine.study.batch.units import read_units, typed_unit
from orglab.engine.study.experiment.comparison import frozen_comparison
from orglab.engine.study.experiment.diff import differences
from orglab.engine.study.experiment.experiment import Experiment, StudyDesign
from orglab.engine.study.experiment.tool_drift import changed_tools
from orglab.engine.study.sweep.sweep import Sweep
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.report.experiment.plan_history import SweepPlan, arm_of, sweep_plan
from orglab.results.store.group_commit import StoreError
from orglab.results.store.rename_arms import Renaming
from orglab.results.store.store import Store

MOST_NAMED = 5
"""So many changed fields are named where a study is refused."""
_OTHER_FOLDER = "use another folder with --out, or a new one with --fresh"


def load_team(
    path: Path,
    *,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | None = None,
    trust: bool = False,
) -> Team:
    """Load, check and compile a topology.

    Args:
        path: The spec.
        overrides: Values by path (``roles.writer.vars.persona``), set before checking.
        models: A catalogue to use in place of the spec's models.
        trust: What the spec names may be run: Python functions, programs.

    Raises:
        SpecError: The spec has errors; all of them.
    """
    checked = check_file(path, overrides=overrides, models=models, trust=trust)
    if checked.issues or checked.team is None:
        raise SpecError(checked.issues)
    if wrong := [checked.loaded.locate(each) for each in evaluator_problems(checked.team)]:
        raise SpecError(wrong)
    return checked.team


def open_design(
    folder: Path, design: Experiment | Sweep, report: Callable[[str], object] = str
) -> Store:
    """Return the study of an experiment or a sweep: see ``open_experiment`` and ``open_sweep``."""
    if isinstance(design, Experiment):
        return open_experiment(folder, design, report)
    return open_sweep(folder, design, report)


def open_experiment(
    folder: Path, experiment: Experiment, report: Callable[[str], object] = str
) -> Store:
    """Return the study of an experiment in ``folder``, its plan frozen, open for writing.

    Args:
        folder: The study's folder.
        experiment: The experiment.
        report: Called with what a user should know of the plan before anything runs.

    Raises:
        StoreError: The folder holds runs of other arms than these; or it cannot be written.
    """
    comparisons = _comparisons(experiment)
    with _opened(folder) as store:
        if why := _other_runs(store, experiment):
            raise _mixed(folder, f"runs {why}")
        _freeze_plan(store, _last_plan(store), experiment, report)
        for (arm, reference), comparison in comparisons.items():
            name = f"{arm} - {reference}"
            key = digest(name, canonical(comparison))
            store.add_spec(key, kind="comparison", name=name, normal=comparison)
    return store


def _other_runs(store: Store, experiment: Experiment) -> str:
    """In what way runs of the store are not this experiment's; "" where they may be."""
    arms = {(name, team.topology.hash) for name, team in experiment.arms.items()}
    held = list(store.rows("SELECT DISTINCT arm, spec, seed FROM runs"))
    if not {(row["arm"], row["spec"]) for row in held} <= arms:
        return "of other teams than this experiment's arms"
    if other := {row["seed"] for row in held} - {experiment.seed}:
        return f"with the seed {min(other)}, not {experiment.seed}"
    plan = _last_plan(store)
    if held and plan is not None and plan["share_prefix"] != experiment.share_prefix:
        how = "share no calls" if experiment.share_prefix else "share calls"
        return f"of arms that {how}"
    return ""


def _last_plan(store: Store) -> JSON | None:
    rows = store.rows("SELECT hash FROM specs WHERE kind='experiment' ORDER BY added DESC LIMIT 1")
    return next((store.spec(row["hash"]) for row in rows), None)


def _freeze_plan(
    store: Store,
    last: JSON | None,
    design: Experiment | Sweep,
    report: Callable[[str], object],
) -> None:
    """Store a plan unless it equals the last one; a plan that comes back is stored once more.

    Files of evaluators that changed since runs were scored are reported.
    """
    before = last["read"] if last is not None and any(True for _ in store.evaluations()) else {}
    now = design.read
    changed = [name for name in before if name in now and before[name] != now[name]]
    if changed:
        report(
            f"{', '.join(changed)} changed since runs were scored: their scores stay as they are. "
            f"`orglab evaluate {store.path.parent} --with FILE --anew` scores them again."
        )
    plan = design.plan()
    if last == plan:
        return
    kind, key = plan["kind"], digest(canonical(plan))
    if store.spec(key) is not None:
        (row,) = store.rows("SELECT COUNT(*) AS plans FROM specs WHERE kind=?", (kind,))
        key = digest(key, str(row["plans"]))
    store.add_spec(key, kind=kind, name=plan["name"], normal=plan)


def open_sweep(folder: Path, sweep: Sweep, report: Callable[[str], object] = str) -> Store:
    """Return the study of a sweep in ``folder``, its plan frozen, open for writing.

    Runs of an earlier plan that belong to this one too are taken over under their new names.

    Args:
        folder: The study's folder.
        sweep: The sweep.
        report: Called with what a user should know before anything runs.

    Raises:
        StoreError: The folder holds another study; or it cannot be written.
    """
    with _opened(folder) as store:
        last = sweep_plan(store)
        if why := _other_study(store, last, sweep):
            raise _mixed(folder, why)
        store.rename_arms(_renamings(store, sweep))
        _freeze_plan(store, None if last is None else last.normal, sweep, report)
    return store


def _other_study(store: Store, last: SweepPlan | None, sweep: Sweep) -> str:
    """Return what else the folder holds; "" where it is this sweep's."""
    if last is None:
        has_runs = any(True for _ in store.rows("SELECT 1 FROM runs LIMIT 1"))
        return "runs of another study" if has_runs else ""
    if last.normal["base"]["arms"] != dict(sweep.bases):
        return "a sweep over another base, or over an earlier form of this one"
    if last.normal["seed"] != sweep.seed:
        return f"runs with the seed {last.normal['seed']}, not {sweep.seed}"
    if last.normal["share_prefix"] != sweep.share_prefix:
        return "runs of variants that " + (
            "share calls" if last.normal["share_prefix"] else "share no calls"
        )
    return "" if last.name == sweep.name else f"the sweep {last.name}"


def _renamings(store: Store, sweep: Sweep) -> Iterator[Renaming]:
    """Yield new names of stored runs: variants are named by what differs, and that may have grown.

    A name whose team was replaced by another keeps a mark of the old one.
    """
    names = {(cell.arm, cell.team.topology.hash): cell.name for cell in sweep.cells}
    taken = set(names.values())
    for row in list(store.rows("SELECT DISTINCT arm, spec FROM runs")):
        old, spec = row["arm"], row["spec"]
        name = names.get((arm_of(old) if sweep.experiment is not None else "", spec))
        if name is None:
            name = f"{old} (spec {spec[:8]})" if old in taken else old
        if name != old:
            yield Renaming(old, spec, name)


@contextmanager
def _opened(folder: Path) -> Iterator[Store]:
    """Open a store for writing; flush it, or close it after an error."""
    store = Store(folder)
    try:
        yield store
        store.flush()
    except BaseException:
        store.close()
        raise


def _mixed(folder: Path, held: str) -> StoreError:
    """Return the error that a folder holds another study."""
    return StoreError(
        f"{folder} holds {held}, which cannot be mixed with this study: {_OTHER_FOLDER}"
    )


def _comparisons(experiment: Experiment) -> dict[tuple[str, str], dict[str, JSON]]:
    async def compared() -> dict[tuple[str, str], dict[str, JSON]]:
        return {
            (arm, reference): await frozen_comparison(
                experiment.arms[reference],
                experiment.arms[arm],
                names=(reference, arm),
                unit=experiment.units[0],
                treatment=paths,
                seed=experiment.seed,
            )
            for (arm, reference), paths in experiment.treatments.items()
        }

    return asyncio.run(compared())


def study_folder(design: Topology | StudyDesign, runs: Path = Path("runs")) -> Path:
    """Return where a study is kept unless the user says otherwise: ``runs/NAME-HASH``."""
    return runs / f"{design.name}-{design.hash[:8]}"


def in_here(folder: Path) -> Path:
    """Return a default folder, unless links lead it elsewhere: an untrusted author's may hold such a ``runs``.

    Raises:
        StoreError: It leads out of the working folder.
    """
    if not folder.is_absolute() and not folder.resolve().is_relative_to(Path.cwd().resolve()):
        raise StoreError(
            f"{folder} is a link to {folder.resolve()}: name that folder with --out to use it"
        )
    return folder


def open_study(folder: Path, team: Team) -> Store:
    """Return the study of a team in ``folder``, open for writing.

    Raises:
        StoreError: The folder holds runs of another spec, whose figures must not be mixed with
            this one's; or it cannot be written.
    """
    store = Store(folder)
    sql = "SELECT spec FROM runs WHERE spec!=? ORDER BY run LIMIT 1"
    other = next(store.rows(sql, (team.topology.hash,)), None)
    if other is not None:
        before, now = store.spec(other["spec"]), team.topology.normal
        changed, edited = changed_tools(before or {}, now), _changed(before, now)
        store.close()
        if changed:
            raise StoreError(
                f"{folder} holds runs of this spec with other tools: {changed}. They must not be "
                f"mixed: {_OTHER_FOLDER}"
            )
        held = (
            f"runs of another spec (hash {other['spec'][:8]}; this one has "
            f"{team.topology.hash[:8]}{edited})"
        )
        raise _mixed(folder, held)
    return store


def _changed(before: JSON | None, now: Mapping[str, JSON]) -> str:
    """Return which fields of a spec were edited since, as text; "" where its old form is not kept."""
    paths = list(dict.fromkeys(each.where for each in differences(before or now, now)))
    if not paths:
        return ""
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"; changed since: {', '.join(paths[:MOST_NAMED])}{more}"


def fresh_folder(folder: Path) -> Path:
    """``folder``, or the first of ``folder-2``, ``folder-3``, … that is not there yet.

    Nothing that was paid for is ever overwritten.
    """
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate


def units_of(team: Team, *, inputs: Sequence[str] = (), units: Path | None = None) -> list[Unit]:
    """Return the units that a user named: a file, or ``name=value`` pairs that make one unit.

    Raises:
        UnitError: They do not fit the team's inputs.
    """
    if units is not None:
        return read_units(units, team.topology)
    return [typed_unit(inputs, team.topology)]
