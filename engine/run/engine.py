"""One run of a team: tick after tick, until nobody is ready or something ends it.

Given a spec, a unit, a seed and the models' replies, a run is a deterministic function: events are
ordered by tick and declared order, never by which reply came back first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from orglab.engine.run.blackboard import readable
from orglab.engine.run.calls.call_key import CallCounter, digest
from orglab.engine.run.calls.model_call import ModelCalls, SharedResponses
from orglab.engine.run.calls.pool_draws import draw_models
from orglab.engine.run.checks import CheckRunner
from orglab.engine.run.errors import RunFailed, RunStopped, TurnFailed
from orglab.engine.run.limits import LimitReached, NestedLimits, RunLimits, RunUsage
from orglab.engine.run.outcome import Outcome, Unit
from orglab.engine.run.replicas import Replica, output_id
from orglab.engine.run.review import Reviewer
from orglab.engine.run.routing import Delivery, EventDraft, InboxItem, Routing
from orglab.engine.run.run_plan import RunFrame, RunPlan, toolbox_for
from orglab.engine.run.state import RunState
from orglab.engine.run.subrun import (
    SubrunJournal,
    SubrunNames,
    TeamTurn,
    context_for,
    deliver_context,
    outer_events,
    team_inputs,
)
from orglab.engine.run.turn import Turn, TurnRefusal, gather_turns
from orglab.engine.run.turn_preparation import TurnPreparation, count_votes
from orglab.engine.run.turn_runner import TurnRunner
from orglab.providers.base import JSON
from orglab.providers.structured_output.parse import Reading
from orglab.results.records import Output
from orglab.results.store.journal.history import outputs_of, together
from orglab.results.store.journal.journal import Journal


async def run_team(
    plan: RunPlan,
    unit: Unit,
    *,
    seed: int,
    journal: Journal,
    replicate: int = 0,
    arm: str = "",
    sharing: SharedResponses | None = None,
) -> Outcome:
    """Run a team on a unit of work, or resume a run that the journal knows.

    Args:
        plan: The team and its models.
        unit: The unit.
        seed: The root seed.
        journal: Where replies are durable; what it holds is not requested again.
        replicate: The replicate, from 0.
        arm: The arm, where arms share no calls; else "".
        sharing: Replies that arms share, or None.

    Raises:
        NotTheRecordedCall: The journal belongs to another run than this.
    """
    frame = RunFrame(
        seed=seed,
        replicate=replicate,
        scope=digest(str(seed), unit.id, str(replicate), arm),
        sharing=sharing,
        drawn=unit.id,
        tossed=unit.id,
    )
    return await _Run(plan, unit, journal, frame, RunLimits(plan.topology.limits)).play()


_Prepared: TypeAlias = Turn | TeamTurn | Reading | TurnRefusal
"""A turn to take, or its result where no model is called."""
_CALLING = (Turn, TeamTurn)


class _Run:
    def __init__(
        self, plan: RunPlan, unit: Unit, journal: Journal, frame: RunFrame, limits: RunLimits
    ) -> None:
        self.plan, self.unit, self.journal, self.frame = plan, unit, journal, frame
        self.limits, self.of_account = limits, False
        self.replicas = plan.routing.replicas
        self.models = draw_models(
            plan.topology,
            self.replicas,
            seed=frame.seed,
            unit=frame.drawn,
            unit_index=unit.index,
            replicate=frame.replicate,
        )
        self.routing = Routing(plan.routing)
        self.state = RunState(plan.topology, self.replicas, journal)
        self.counter = CallCounter(scope=frame.scope)
        self.names: dict[str, SubrunNames] = {}
        self.error: LimitReached | None = None
        toolbox = toolbox_for(plan, unit)
        self.runner = TurnRunner(
            calls=ModelCalls(
                journal=journal,
                counter=self.counter,
                toolbox=toolbox,
                unit=unit.id,
                replicate=frame.replicate,
                sharing=frame.sharing,
                within=frame.within,
            ),
            limits=self.limits,
            prompter=plan.prompter,
        )
        self.preparation = TurnPreparation(
            runner=self.runner,
            state=self.state,
            replicas=self.replicas,
            inputs=unit.inputs,
            bound_models={
                name: plan.registry.bound_model(alias) for name, alias in self.models.items()
            },
        )
        self.reviewer = Reviewer(
            state=self.state,
            routing=self.routing,
            review_turns=self.preparation,
            checker=CheckRunner(state=self.state, journal=journal, toolbox=toolbox, unit=unit),
            links=plan.reviews,
            seed=frame.seed,
            unit=frame.tossed,
            replicate=frame.replicate,
        )
        self.delivered: list[str] = []
        if frame.context is not None:
            start = self.replicas.of(plan.team.start)
            deliver_context(frame.context, start, self.state, self.routing)

    async def play(self) -> Outcome:
        self.state.emit(
            "started",
            unit=self.unit.id,
            replicate=self.frame.replicate,
            seed=self.frame.seed,
            models=dict(self.models),
            **({"inputs": dict(self.unit.inputs)} if self.frame.within else {}),
        )
        try:
            while ready := self.routing.ready():
                await self._tick(ready)
        except RunStopped as stop:
            self.error = stop.error
            return self._end("stopped", str(stop))
        except RunFailed as failure:
            self.of_account = failure.of_account
            return self._end("failed", str(failure))
        if self._answer() is None:
            return self._end("failed", "no role of `output` delivered an output")
        return self._end("completed", "")

    # --- one tick ---------------------------------------------------------------------------

    async def _tick(self, ready: list[Replica]) -> None:
        allowed = ready[: self.limits.turns_left(len(ready))]
        if not allowed:
            raise self._stopped(LimitReached("turns"))
        self.state.tick += 1
        outputs, skipped = await self._turns(allowed)
        self._look_at_limits()
        accepted = await self._reviews(outputs)
        sent_back = self.reviewer.sent_back
        deliveries = [Delivery(each.copy, each.id, each.value) for each in accepted]
        events = self.routing.barrier(deliveries, sent_back, skipped + self.reviewer.skipped)
        self._note(accepted, events)
        if self.routing.stopped is not None:
            raise RunStopped(f"cap of {self.routing.stopped}")
        if len(allowed) < len(ready):
            raise self._stopped(LimitReached("turns"))

    def _stopped(self, limit: LimitReached) -> RunStopped:
        error = self.limits.outer_error(limit) if isinstance(self.limits, NestedLimits) else None
        return RunStopped(limit.which, error)

    async def _turns(self, allowed: list[Replica]) -> tuple[list[Output], list[str]]:
        """Take the turns of a tick concurrently on one snapshot, and post their outputs."""
        taken = [self._begin(copy) for copy in allowed]
        turns = await gather_turns(
            [self._prepare(copy, inbox, number) for number, (copy, inbox) in enumerate(taken)]
        )
        self._rank(turns)
        self._allow(turns)
        results = await gather_turns([self._take(turn, len(turns)) for turn in turns])
        self.limits.close_tick(_usage_of_turn(turn) for turn in turns)
        self.limits.turns += sum(turn.turns for turn in turns if isinstance(turn, TeamTurn))
        self.counter.close(
            [call for turn in turns if isinstance(turn, _CALLING) for call in turn.calls]
        )
        return self._post(allowed, turns, results)

    def _begin(self, copy: Replica) -> tuple[Replica, tuple[InboxItem, ...]]:
        inbox = self.routing.begin_turn(copy.name)
        directive = self.state.directives.get(copy.name)
        again = directive is not None  # it reads its last inbox again
        visit = self.state.next_visit(copy.name)
        items = [item.body() for item in inbox]
        body: dict[str, JSON] = {"copy": copy.name, "role": copy.role.name, "visit": visit}
        body |= {"inbox": items, "again": again}
        if directive is not None:
            body["directive"] = directive.body()
        self.state.emit("turn", **body)
        return copy, inbox

    async def _prepare(self, copy: Replica, inbox: Sequence[InboxItem], number: int) -> _Prepared:
        """Return a copy's prepared turn, or the failure that prevents it."""
        role = copy.role
        if role.asks:
            return await self.preparation.prepare(copy, inbox, number)
        if role.vote is not None:
            entry = self.state.blackboard.entry
            ballots = [entry(item.output, item.link, item.part) for item in inbox]
            return Reading(value=count_votes(role.vote, ballots))
        return self._team_turn(copy, inbox, f"{self.state.tick}.turn.{number}")

    def _rank(self, turns: Sequence[_Prepared]) -> None:
        """Ranks turns that begin with an equal call, so that none gets another's reply."""
        seen: dict[str, int] = {}
        teams = 0
        for turn in turns:
            if isinstance(turn, TeamTurn):
                turn.rank, teams = teams, teams + 1
            elif isinstance(turn, Turn):
                first = self.runner.first_call(turn)
                turn.rank = seen.get(first, 0)
                seen[first] = turn.rank + 1

    def _allow(self, turns: Sequence[_Prepared]) -> None:
        if not self.limits.limits_cost:
            return
        paid = [turn for turn in turns if isinstance(turn, _CALLING)]
        first = [
            self.runner.next_call_bound(turn) if isinstance(turn, Turn) else 0.0 for turn in paid
        ]
        for turn, allowance in zip(paid, self.limits.allowances(first), strict=True):
            turn.allowance = allowance

    async def _take(self, turn: _Prepared, beside: int) -> Reading | TurnRefusal:
        if isinstance(turn, TeamTurn):
            return await self._play_team(turn, beside)
        return await self.runner.take(turn) if isinstance(turn, Turn) else turn

    # --- roles that are teams ---------------------------------------------------------------

    def _team_turn(self, copy: Replica, inbox: Sequence[InboxItem], position: str) -> TeamTurn:
        variables = self.preparation.variables(copy, inbox)
        inputs = team_inputs(copy.role, variables, self.unit.inputs, self.plan.prompter)
        return TeamTurn(
            copy=copy,
            visit=self.state.visits[copy.name],
            position=position,
            inputs=inputs,
            context=context_for(copy, inbox, self.state),
        )

    async def _play_team(self, turn: TeamTurn, beside: int) -> Reading:
        """Run a team to its answer.

        Raises:
            TurnFailed: The team gave none.
            LimitReached: A limit of this run, or of one around it, is reached.
        """
        names = self.names.setdefault(turn.copy.name, SubrunNames.of(turn.copy))
        inner = self._inner(turn, names, beside)
        outcome = await inner.play()
        turn.usage, turn.turns = inner.limits.usage, outcome.turns
        turn.events = outer_events(outcome.events, names, turn.visit)
        names.close(outcome.events)
        if inner.counter.history:
            turn.calls.append((digest("team", str(turn.rank)), inner.counter.history))
        if inner.error is not None:
            raise inner.error
        if outcome.answer is None:
            words = f"{outcome.status}: {outcome.reason}"
            raise TurnFailed("team", words, of_account=inner.of_account)
        return Reading(value=outcome.answer.value)

    def _inner(self, turn: TeamTurn, names: SubrunNames, beside: int) -> _Run:
        """Return the subrun of a team."""
        plan, frame, copy = self.plan.teams[turn.copy.role.name], self.frame, turn.copy.name
        inner = RunFrame(
            seed=frame.seed,
            replicate=frame.replicate,
            scope=digest(frame.scope, self.counter.history, "team", str(turn.rank)),
            sharing=frame.sharing,
            drawn=f"{frame.drawn}/{copy}",
            tossed=f"{frame.tossed}/{output_id(copy, turn.visit)}",
            within=f"{frame.within}/{output_id(copy, turn.visit)}".lstrip("/"),
            context=turn.context,
        )
        limits = NestedLimits(
            plan.topology.limits, self.limits, beside=beside, allowance=turn.allowance
        )
        journal = SubrunJournal(self.journal, f"{turn.position}.team", names)
        return _Run(plan, replace(self.unit, inputs=turn.inputs), journal, inner, limits)

    # --- what they said ---------------------------------------------------------------------

    def _post(
        self,
        allowed: list[Replica],
        turns: Sequence[_Prepared],
        results: Sequence[Reading | TurnRefusal],
    ) -> tuple[list[Output], list[str]]:
        outputs: list[Output] = []
        skipped: list[str] = []
        failure: RunFailed | None = None
        limit: LimitReached | None = None
        for copy, turn, result in zip(allowed, turns, results, strict=True):
            if isinstance(turn, Turn):
                self.preparation.close(turn)
            elif isinstance(turn, TeamTurn):
                self.state.absorb(turn.events)
            if isinstance(result, Reading):
                outputs.append(self._output(copy, turn, result))
            elif isinstance(result, LimitReached):
                limit = limit or result
            elif isinstance(result, TurnFailed):
                self._failed_turn(copy, result, skipped)
                if result.of_account or copy.role.on_error == "fail":
                    words = f"{copy.name}: {result.kind}: {result}"
                    failure = failure or RunFailed(words, of_account=result.of_account)
        if failure is not None:
            raise failure
        if limit is not None:
            raise self._stopped(limit)
        return outputs, skipped

    def _output(self, copy: Replica, turn: _Prepared, reading: Reading) -> Output:
        visit = self.state.visits[copy.name]
        output = Output(
            id=output_id(copy.name, visit),
            role=copy.role.name,
            copy=copy.name,
            visit=visit,
            tick=self.state.tick,
            value=reading.value,
            text=readable(reading.value),
        )
        self.state.directives.pop(copy.name, None)
        self.state.post(output, turn.exchange if isinstance(turn, Turn) else ())
        return output

    def _failed_turn(self, copy: Replica, failure: TurnFailed, skipped: list[str]) -> None:
        of_account, error = failure.of_account, {"kind": failure.kind, "message": str(failure)}
        self.state.emit(
            "turn_failed", copy=copy.name, visit=self.state.visits[copy.name], error=error
        )
        if copy.role.on_error == "skip" and not of_account:
            self.state.directives.pop(copy.name, None)
            self.state.emit("skipped", copy=copy.name, why="error", error=error)
            skipped.append(copy.name)

    # --- the barrier ------------------------------------------------------------------------

    def _look_at_limits(self) -> None:
        if (over := self.limits.over()) is not None:
            raise RunStopped(over)

    async def _reviews(self, outputs: list[Output]) -> list[Output]:
        try:
            accepted = await self.reviewer.barrier(outputs)
        except LimitReached as limit:
            raise self._stopped(limit) from limit
        except TurnFailed as error:
            words = f"review: {error.kind}: {error}"
            raise RunFailed(words, of_account=error.of_account) from error
        self._look_at_limits()
        return accepted

    def _note(self, accepted: list[Output], events: list[EventDraft]) -> None:
        taken = {each.body["output"] for each in events if each.kind == "delivered"}
        for output in accepted:
            self.state.mark(output.id, "delivered")
            if output.id not in taken:
                self.state.emit("delivered", output=output.id, link="", to=[])
            if output.role in self.plan.topology.output:
                self.delivered.append(output.id)
        for each in events:
            for lapsed in each.body.get("lapsed", ()):
                if lapsed["what"] == "directive":
                    self.state.directives.pop(lapsed["copy"], None)
        self.state.emit_all(events)

    # --- the end ----------------------------------------------------------------------------

    def _answer(self) -> Output | None:
        outputs = self.state.blackboard.outputs
        standing = [name for name in self.delivered if outputs[name].fate != "rejected"]
        if not standing:
            return None
        last = outputs[standing[-1]]
        replicas = self.replicas.by_role[last.role]
        if len(replicas) == 1:
            return last
        newest = {outputs[name].copy: outputs[name] for name in standing}
        return together([newest[copy.name] for copy in replicas if copy.name in newest])

    def _last(self) -> Output | None:
        for output in reversed(self.state.blackboard.outputs.values()):
            if output.role in self.plan.topology.output and output.fate != "rejected":
                return output
        return None

    def _outputs(self) -> Sequence[Output]:
        """Return every output, those of subruns included."""
        outputs = self.state.blackboard.outputs
        return outputs_of(self.state.events) if self.names else list(outputs.values())

    def _end(self, status: Literal["completed", "stopped", "failed"], reason: str) -> Outcome:
        answer = self._answer() if status == "completed" else None
        last = answer or self._last()
        self.state.emit(
            "ended",
            status=status,
            reason=reason,
            answer=answer.id if answer else None,
            last=last.id if last else None,
        )
        return Outcome(
            status=status,
            reason=reason,
            answer=answer,
            last=last,
            outputs=self._outputs(),
            verdicts=self.state.verdicts,
            events=self.state.events,
            turns=self.limits.turns,
            tokens=self.limits.usage.tokens,
            cost_usd=self.limits.usage.cost_usd,
            seconds=self.limits.usage.seconds,
        )


def _usage_of_turn(turn: _Prepared) -> RunUsage:
    return turn.usage if isinstance(turn, _CALLING) else RunUsage()
