"""A sweep as a study: its folder, its runs, its frozen plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from orglab.engine.study.batch.study_folder import (
    changed_files,
    changed_files_notice,
    freeze_plan,
    mixed,
    opened,
)
from orglab.engine.study.sweep.sweep import Sweep
from orglab.results.report.experiment.plan_history import SweepPlan, arm_of, sweep_plan
from orglab.results.store.rename_arms import Renaming
from orglab.results.store.store import Store

__all__ = ["open_sweep"]


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
    with opened(folder) as store:
        last = sweep_plan(store)
        if why := _other_study(store, last, sweep):
            raise mixed(folder, why)
        before = None if last is None else last.normal
        if changed := changed_files(store, before, sweep.read):
            report(changed_files_notice(folder, changed))
        store.rename_arms(_renamings(store, sweep))
        freeze_plan(store, before, sweep.plan())
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
    """Return new names of stored runs: variants are named by what differs, and that may have grown.

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
