"""Measuring ended runs with the evaluators of a spec; what was measured before stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.engine import Unit, resolver
from orglab.engine.spec.model import EvaluatorUse
from orglab.engine.study.batch.preflight import asks_models
from orglab.engine.study.batch.run_gate import Interrupted
from orglab.engine.study.evaluate.judging import Judging
from orglab.evaluators.base import Evaluator
from orglab.evaluators.evaluate import evaluate_run
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.store.store import Store

__all__ = ["RunEvaluator"]


class RunEvaluator:
    """Measures runs, each evaluator once a run.

    Attributes:
        judging: Lets evaluators ask models.
        store: Holds the runs and takes the scores.
        uses: What is measured.
        anew: What was measured before is measured again.
        retry: Where a judge could not be asked, who asks judges measures again.
    """

    def __init__(
        self,
        judging: Judging,
        uses: Sequence[EvaluatorUse],
        *,
        anew: bool = False,
        retry: bool = False,
    ) -> None:
        self.judging = judging
        self.anew = anew
        self.retry = retry
        self.store: Store = judging.store
        self.uses = uses
        self._keys = [_key(use) for use in uses]

    async def evaluate(
        self, run_id: str, unit: Unit, replicate: int, stopping: Callable[[], bool]
    ) -> None:
        """Measure an ended run with what has not measured it yet.

        A failing evaluator leaves its error in the store; nothing crashes. Where the user says
        stop, what is not measured yet is left for the next time.
        """
        uses = self._missing(run_id)
        if not uses:
            return
        folder = self.judging.topology.folder
        toolbox = Toolbox(uses={}, inputs=unit.inputs, resolve=resolver(folder, unit))
        made: list[tuple[str, Evaluator]] = []
        for number, use in enumerate(uses):
            try:
                made.append((str(number), make_evaluator(use, toolbox)))
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                reason = f"{type(error).__name__}: {error}"
                await self.store.add_scores(run_id, *_key(use), [], reason)
        asker = self.judging.asker(run_id, unit.id, replicate, stopping)
        context = EvaluationContext(inputs=unit.inputs, extra=unit.extra, ask=asker.ask)
        try:
            results = await evaluate_run(self.store.record(run_id), made, context)
        except Interrupted:
            await asker.settle()
            return
        for result in results:
            use = uses[int(result.key)]
            await self.store.add_scores(run_id, *_key(use), result.scores, result.error)

    def _missing(self, run_id: str) -> list[EvaluatorUse]:
        if not self.uses or self.anew:
            return list(self.uses)
        known = self.store.measured(run_id)
        if self.retry and self.store.judges_failed(run_id):
            known -= {_key(use) for use in self.uses if asks_models(use)}
        return [use for use, key in zip(self.uses, self._keys, strict=True) if key not in known]


def _key(use: EvaluatorUse) -> tuple[str, str]:
    return use.use, canonical(dict(use.arguments))
