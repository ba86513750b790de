"""What judges would be asked of an dry run: their prompts, before any call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.engine import Unit, resolver
from orglab.engine.spec.compose.model_entry import model_of_entry
from orglab.engine.spec.model import Model
from orglab.engine.study.batch.preflight import asks_models
from orglab.engine.study.plan.dry_run import DryRun
from orglab.evaluators.base import EvaluationError
from orglab.evaluators.evaluate import evaluate_run
from orglab.providers.base import JSON
from orglab.providers.pricing.token_estimate import text_tokens
from orglab.results.store.journal.history import run_record

__all__ = ["Question", "dry_run_questions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question to a judge.

    Attributes:
        model: The judge's model; its alias is the judge's name.
        tokens: About how many tokens the question has.
    """

    model: Model
    tokens: int


async def dry_run_questions(team: Team, unit: Unit, run: DryRun) -> list[Question] | None:
    """Return what judges would be asked; None where the dry run came to no answer to judge."""
    uses = [use for use in team.topology.evaluators if asks_models(use)]
    if not uses:
        return []
    if run.outcome.status != "completed":
        return None
    folder = team.topology.folder
    toolbox = Toolbox(uses={}, inputs=unit.inputs, resolve=resolver(folder, unit))
    asked = _Asked()
    context = EvaluationContext(inputs=unit.inputs, extra=unit.extra, ask=asked)
    made = [(str(number), make_evaluator(use, toolbox)) for number, use in enumerate(uses)]
    about = {"id": "dry run", "arm": "", "unit": unit.id, "inputs": unit.inputs}
    record = run_record(about, list(run.journal.events.values()), run.journal.entries.values())
    await evaluate_run(record, made, context)
    return asked.questions


@dataclass
class _Asked:
    """Notes every question, and answer none."""

    questions: list[Question] = field(default_factory=list)

    async def __call__(
        self,
        model: Mapping[str, JSON],
        *,
        folder: Path,
        system: str,
        prompt: str,
        schema: Mapping[str, JSON] | None,  # noqa: ARG002 - the port's
        name: str,
        repeat: int = 0,  # noqa: ARG002 - the port's
    ) -> JSON:
        asked = model_of_entry(model, folder, name, trust=True)  # nothing is sent
        self.questions.append(Question(model=asked, tokens=text_tokens(system + prompt)))
        raise EvaluationError("dry run")
