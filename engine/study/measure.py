"""Measuring ended runs with the evaluators of a spec; what was measured before stays."""

from __future__ import annotations

from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.identity import canonical
from orglab.engine.run.run import Unit, resolver
from orglab.engine.run.toolbox import Toolbox
from orglab.engine.spec.model import EvaluatorUse, Topology
from orglab.evaluators.base import Evaluator
from orglab.evaluators.evaluate import evaluate_run
from orglab.results.store import Store

__all__ = ["Measurer"]


class Measurer:
    """Measures runs, each evaluator once a run.

    Attributes:
        topology: Its ``evaluators`` are what is measured.
        store: Holds the runs and takes the scores.
    """

    def __init__(self, topology: Topology, store: Store) -> None:
        self.topology = topology
        self.store = store

    async def measure(self, run_id: str, unit: Unit) -> None:
        """Measures an ended run with what has not measured it yet.

        A failing evaluator leaves its words in the store; nothing crashes.
        """
        known = {(each.evaluator, each.arguments) for each in self.store.evaluations(run_id)}
        uses = [use for use in self.topology.evaluators if _key(use) not in known]
        if not uses:
            return
        toolbox = Toolbox(uses={}, inputs=unit.inputs, resolve=resolver(self.topology.folder, unit))
        made: list[tuple[str, Evaluator]] = []
        for number, use in enumerate(uses):
            try:
                made.append((str(number), make_evaluator(use, toolbox)))
            except Exception as fault:  # noqa: BLE001 - a plugin may raise anything
                words = f"{type(fault).__name__}: {fault}"
                await self.store.add_scores(run_id, *_key(use), [], words)
        context = EvaluationContext(inputs=unit.inputs, extra=unit.extra)
        for result in await evaluate_run(self.store.record(run_id), made, context):
            use = uses[int(result.key)]
            await self.store.add_scores(run_id, *_key(use), result.scores, result.error)


def _key(use: EvaluatorUse) -> tuple[str, str]:
    return use.use, canonical(dict(use.arguments))
