"""What is to be run: the runs, the study's default folder, and how that study is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.budget import refuse_unbounded
from orglab.engine.study.batch.study_folder import (
    fresh_folder,
    in_here,
    open_design,
    open_study,
    study_folder,
)
from orglab.engine.study.experiment.document_loading import LoadKeywords
from orglab.engine.study.experiment.experiment import Experiment, guard
from orglab.engine.study.experiment.load import kind_of, load_experiment
from orglab.engine.study.experiment.tool_drift import refuse_changed_tools
from orglab.engine.study.sweep.load import load_sweep
from orglab.engine.study.sweep.sweep import Sweep
from orglab.results.store.response_cache import response_cache_file
from orglab.results.store.store import Store


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What is to be run.

    Attributes:
        name: The name of the team, experiment or sweep.
        batch: The runs.
        folder: The study's default folder.
        open: Opens the study in a folder.
        design: The experiment or the sweep; None for a team.
        made_up_unit: The only unit is a sample, since none was named.
    """

    name: str
    batch: Batch
    folder: Path
    open: Callable[[Path], Store]
    design: Experiment | Sweep | None = None
    made_up_unit: bool = False

    def prepared(
        self,
        out: Path | None,
        *,
        fresh: bool = False,
        cache: bool = True,
        **options: Any,  # noqa: ANN401 - Batch's own fields
    ) -> tuple[Path, Batch]:
        """Return the study's folder and the batch with ``options``.

        Args:
            out: The folder that the user named; None: the default one, where changed tools are refused.
            fresh: Take a new folder beside the old one.
            cache: Use the response cache beside the study.
            options: Fields of ``Batch``.

        Raises:
            ValueError: Money is limited and a model has no largest cost.
        """
        folder = out or in_here(self.folder)
        if fresh:
            folder = fresh_folder(folder)
        elif out is None:
            refuse_changed_tools(folder, self.batch.teams)
        kept = response_cache_file(folder) if cache else None
        batch = replace(self.batch, kept=kept, **options)
        refuse_unbounded(batch.max_cost, batch.teams)
        return folder, batch


def team_request(
    team: Team,
    units: Sequence[Unit],
    *,
    replicates: int = 1,
    seed: int = 0,
    made_up_unit: bool = False,
) -> RunRequest:
    """Return the request to run a team on units."""
    return RunRequest(
        name=team.topology.name,
        batch=Batch(arms=[Arm.alone(team)], units=units, replicates=replicates, seed=seed),
        folder=study_folder(team.topology),
        open=lambda folder: open_study(folder, team),
        made_up_unit=made_up_unit,
    )


def design_request(design: Experiment | Sweep, report: Callable[[str], object] = str) -> RunRequest:
    """Return the request to run an experiment or a sweep; ``report`` takes notices about its stored plan.

    Raises:
        UndeclaredDifference: Arms differ beyond the treatment, also as a sweep's base.
    """
    experiment = design if isinstance(design, Experiment) else design.experiment
    if experiment is not None:
        guard(experiment)
    return RunRequest(
        name=design.name,
        batch=design.batch(),
        folder=study_folder(design),
        open=lambda folder: open_design(folder, design, report),
        design=design,
    )


def document_request(
    path: Path,
    report: Callable[[str], object] = str,
    **options: Unpack[LoadKeywords],
) -> RunRequest:
    """Return the request to run an experiment or a sweep, also a sweep of an experiment.

    Raises:
        SpecError: A document has errors; all of them.
        UndeclaredDifference: Arms differ beyond the treatment.
        ValueError: The document is a team.
    """
    kind = kind_of(path)
    if kind == "experiment":
        return design_request(load_experiment(path, **options), report)
    if kind != "sweep":
        raise ValueError(f"{path} is no experiment and no sweep: orglab.run plays a team")
    return design_request(load_sweep(path, **options), report)
