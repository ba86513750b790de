"""A laboratory for organisations of language-model agents.

Four functions do from Python what the command line does::

    team = orglab.load("team.yaml")
    study = orglab.run(team, inputs={"topic": "small teams"}, seed=1)
    for record in study.records():
        print(record.status, record.answer)
    orglab.run_experiment("experiment.yaml")  # or a sweep; its report lies in the study's folder

The object model:

* ``Team`` (`orglab.engine.graph.team`): one spec, checked and compiled. It has no runs.
* ``Experiment`` (`orglab.engine.study.experiment`): teams as arms, which differ in a declared
  treatment, on the same units.
* ``Sweep`` (`orglab.engine.study.sweep`): a team or an experiment under every combination of levels.
* ``Study``: the folder of stored runs that running any of these three makes or resumes; reports and
  exports read it.

Names are loaded when first used, so that a plugin which imports ``orglab.providers.base`` does not
load the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orglab.api import Study, check, load, run, run_async, run_experiment

__all__ = ["Study", "check", "load", "run", "run_async", "run_experiment"]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("orglab")
    if name not in __all__:
        raise AttributeError(f"module 'orglab' has no attribute {name!r}")
    from orglab import api

    return getattr(api, name)
