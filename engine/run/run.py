"""One run of a team: tick after tick, until nobody is ready or something ends it.

Given a spec, a unit, a seed and the models' replies, a run is a deterministic function: events are
ordered by tick and declared order, never by which reply came back first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from orglab.engine.graph.team import Team
from orglab.engine.run.checks import CheckRunner
from orglab.engine.run.copies import Copy, output_id
from orglab.engine.run.desk import Desk
from orglab.engine.run.draws import draw_models
from orglab.engine.run.fault import TurnFailed
from orglab.engine.run.flow import Delivery, Emit, Flow, FlowPlan, InboxItem
from orglab.engine.run.identity import CallCounter, digest
from orglab.engine.run.meter import LimitReached, Meter, Spent
from orglab.engine.run.prompts import Prompter
from orglab.engine.run.review import Reviewer
from orglab.engine.run.speaking import Speaking, readable
from orglab.engine.run.state import RunState
from orglab.engine.run.toolbox import Toolbox
from orglab.engine.run.turn import Sharing, Turn, TurnRunner
from orglab.engine.spec.confine import confined_file
from orglab.engine.spec.model import AuthorityLink
from orglab.engine.tools.sources import Sources
from orglab.providers.reply import Reading
from orglab.results.history import closing_uses, together
from orglab.results.journal import Journal
from orglab.results.records import Event, Output, Verdict

__all__ = ["Outcome", "RunPlan", "Unit", "resolver", "run_team"]

JSON: TypeAlias = Any
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One unit of work.

    Attributes:
        id: Its id.
        inputs: Its inputs by name; an optional one left out is None.
        extra: Its other columns.
        index: Its place in the study, from 0.
        files: For each path text of an input that is a file: the file.
    """

    id: str
    inputs: Mapping[str, JSON]
    extra: Mapping[str, JSON] = field(default_factory=dict)
    index: int = 0
    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: ``completed``, ``stopped`` or ``failed``.
        reason: What stopped or failed it; "" when completed.
        answer: The answer, None unless completed.
        last: The last output of an output role, answer or not.
        outputs: Every output, in order.
        verdicts: Every verdict, in order.
        events: Every event, in order.
        turns: Turns taken.
        tokens: Tokens used.
        cost_usd: US dollars of calls whose price is known.
        seconds: Seconds on the critical path.
    """

    status: Literal["completed", "stopped", "failed"]
    reason: str
    answer: Output | None
    last: Output | None
    outputs: Sequence[Output]
    verdicts: Sequence[Verdict]
    events: Sequence[Event]
    turns: int
    tokens: int
    cost_usd: float
    seconds: float

    @property
    def loops(self) -> int:
        """Verdicts that obliged, and uses of closing links."""
        return sum(verdict.obliged for verdict in self.verdicts) + len(closing_uses(self.events))


class RunPlan:
    """What all runs of a team share: made once, read by many runs at a time."""

    def __init__(self, team: Team, desk: Desk, sources: Sources | None = None) -> None:
        self.team = team
        self.sources = sources or Sources()
        self.topology = team.topology
        self.desk = desk
        self.flow = FlowPlan(team)
        self.prompter = Prompter(team.topology)
        self.reviews = {role: _reviewing(team, role) for role in team.topology.roles}


def _reviewing(team: Team, role: str) -> list[AuthorityLink]:
    links = [link for link in team.topology.authority if role in link.targets]
    return sorted(links, key=lambda link: link.trigger.kind != "checks")


async def run_team(
    plan: RunPlan,
    unit: Unit,
    *,
    seed: int,
    journal: Journal,
    replicate: int = 0,
    arm: str = "",
    sharing: Sharing | None = None,
) -> Outcome:
    """Runs a team on a unit of work, or goes on with a run that the journal knows.

    Args:
        plan: The team and its models.
        unit: The unit.
        seed: The root seed.
        journal: Where replies are durable; what it holds is not asked again.
        replicate: The replicate, from 0.
        arm: The arm, where arms share no calls; else "".
        sharing: Replies that arms share, or None.

    Raises:
        NotTheRecordedCall: The journal belongs to another run than this.
    """
    return await _Run(plan, unit, seed, journal, replicate, arm, sharing).play()


class _Stopped(Exception):
    """Raised within a run to stop it; the text is the limit."""


class _Failed(Exception):
    """Raised within a run to fail it; the text is the reason."""


class _Run:
    def __init__(
        self,
        plan: RunPlan,
        unit: Unit,
        seed: int,
        journal: Journal,
        replicate: int,
        arm: str,
        sharing: Sharing | None,
    ) -> None:
        self.plan, self.unit, self.seed, self.replicate = plan, unit, seed, replicate
        topology = plan.topology
        self.copies = plan.flow.copies
        self.models = draw_models(
            topology,
            self.copies,
            seed=seed,
            unit=unit.id,
            unit_index=unit.index,
            replicate=replicate,
        )
        self.flow = Flow(plan.flow)
        self.state = RunState(topology, self.copies, journal)
        self.meter = Meter(topology.limits)
        self.counter = CallCounter(scope=digest(str(seed), unit.id, str(replicate), arm))
        toolbox = Toolbox(
            uses=topology.tools,
            inputs=unit.inputs,
            resolve=resolver(topology.folder, unit),
            folder=topology.folder,
            sources=plan.sources,
        )
        self.runner = TurnRunner(
            journal=journal,
            counter=self.counter,
            meter=self.meter,
            toolbox=toolbox,
            prompter=plan.prompter,
            unit=unit.id,
            replicate=replicate,
            sharing=sharing,
        )
        self.speaking = Speaking(
            runner=self.runner,
            state=self.state,
            copies=self.copies,
            inputs=unit.inputs,
            seats={name: plan.desk.seat(alias) for name, alias in self.models.items()},
        )
        self.reviewer = Reviewer(
            state=self.state,
            flow=self.flow,
            speaker=self.speaking,
            checker=CheckRunner(state=self.state, journal=journal, toolbox=toolbox, unit=unit),
            links=plan.reviews,
            seed=seed,
            unit=unit.id,
            replicate=replicate,
        )
        self.delivered: list[str] = []

    async def play(self) -> Outcome:
        self.state.emit(
            "started",
            unit=self.unit.id,
            replicate=self.replicate,
            seed=self.seed,
            models=dict(self.models),
        )
        try:
            while ready := self.flow.ready():
                await self._tick(ready)
        except _Stopped as stop:
            return self._end("stopped", str(stop))
        except _Failed as failure:
            return self._end("failed", str(failure))
        if self._answer() is None:
            return self._end("failed", "no role of `output` delivered an output")
        return self._end("completed", "")

    # --- one tick ---------------------------------------------------------------------------

    async def _tick(self, ready: list[Copy]) -> None:
        allowed = ready[: self.meter.turns_left(len(ready))]
        if not allowed:
            raise _Stopped("turns")
        self.state.tick += 1
        outputs, skipped = await self._turns(allowed)
        self._look_at_limits()
        accepted = await self._reviews(outputs)
        sent_back = self.reviewer.sent_back
        deliveries = [Delivery(each.copy, each.id, each.value) for each in accepted]
        events = self.flow.barrier(deliveries, sent_back, skipped + self.reviewer.skipped)
        self._note(accepted, events)
        if self.flow.stopped is not None:
            raise _Stopped(f"cap of {self.flow.stopped}")
        if len(allowed) < len(ready):
            raise _Stopped("turns")

    async def _turns(self, allowed: list[Copy]) -> tuple[list[Output], list[str]]:
        """Takes the turns of a tick side by side on the same snapshot, and posts them."""
        taken = [self._begin(copy) for copy in allowed]
        turns = await _side_by_side(
            [
                self.speaking.prepare(copy, inbox, number)
                for number, (copy, inbox) in enumerate(taken)
            ]
        )
        self._rank(turns)
        self._allow([turn for turn in turns if isinstance(turn, Turn)])
        results = await _side_by_side([self._take(turn) for turn in turns])
        self.meter.close_tick(turn.spent if isinstance(turn, Turn) else Spent() for turn in turns)
        self.counter.close(
            [call for turn in turns if not isinstance(turn, TurnFailed) for call in turn.calls]
        )
        return self._post(allowed, turns, results)

    def _begin(self, copy: Copy) -> tuple[Copy, tuple[InboxItem, ...]]:
        inbox = self.flow.begin_turn(copy.name)
        directive = self.state.directives.get(copy.name)
        again = directive is not None  # it reads its last inbox again
        visit = self.state.next_visit(copy.name)
        items = [{"output": item.output, "link": item.link} for item in inbox]
        body: dict[str, JSON] = {"copy": copy.name, "role": copy.role.name, "visit": visit}
        body |= {"inbox": items, "again": again}
        if directive is not None:
            body["directive"] = directive.body()
        self.state.emit("turn", **body)
        return copy, inbox

    def _rank(self, turns: Sequence[Turn | TurnFailed]) -> None:
        """Ranks turns that begin with an equal call, so that none gets another's reply."""
        seen: dict[str, int] = {}
        for turn in turns:
            if isinstance(turn, Turn):
                first = self.runner.first_call(turn)
                turn.rank = seen.get(first, 0)
                seen[first] = turn.rank + 1

    def _allow(self, turns: Sequence[Turn]) -> None:
        for turn, allowance in zip(turns, self.speaking.allowances(turns), strict=True):
            turn.allowance = allowance

    async def _take(self, turn: Turn | TurnFailed) -> Reading | TurnFailed | LimitReached:
        if isinstance(turn, TurnFailed):
            return turn
        try:
            return await self.runner.take(turn)
        except (TurnFailed, LimitReached) as fault:
            return fault

    def _post(
        self,
        allowed: list[Copy],
        turns: Sequence[Turn | TurnFailed],
        results: Sequence[Reading | TurnFailed | LimitReached],
    ) -> tuple[list[Output], list[str]]:
        outputs: list[Output] = []
        skipped: list[str] = []
        failure: str | None = None
        limit: str | None = None
        for copy, turn, result in zip(allowed, turns, results, strict=True):
            if isinstance(turn, Turn):
                self.speaking.close(turn)
            if isinstance(result, Reading) and isinstance(turn, Turn):
                outputs.append(self._output(copy, turn, result))
            elif isinstance(result, LimitReached):
                limit = limit or result.which
            elif isinstance(result, TurnFailed):
                self._failed_turn(copy, result, skipped)
                if copy.role.on_error == "fail":
                    failure = failure or f"{copy.name}: {result.kind}: {result}"
        if failure is not None:
            raise _Failed(failure)
        if limit is not None:
            raise _Stopped(limit)
        return outputs, skipped

    def _output(self, copy: Copy, turn: Turn, reading: Reading) -> Output:
        output = Output(
            id=output_id(copy.name, turn.visit),
            role=copy.role.name,
            copy=copy.name,
            visit=turn.visit,
            tick=self.state.tick,
            value=reading.value,
            text=readable(reading.value),
        )
        self.state.directives.pop(copy.name, None)
        self.state.post(output, turn.exchange)
        return output

    def _failed_turn(self, copy: Copy, fault: TurnFailed, skipped: list[str]) -> None:
        error = {"kind": fault.kind, "message": str(fault)}
        self.state.emit(
            "turn_failed", copy=copy.name, visit=self.state.visits[copy.name], error=error
        )
        if copy.role.on_error == "skip":
            self.state.directives.pop(copy.name, None)
            self.state.emit("skipped", copy=copy.name, why="error", error=error)
            skipped.append(copy.name)

    # --- the barrier ------------------------------------------------------------------------

    def _look_at_limits(self) -> None:
        over = self.meter.over()
        if over is not None:
            raise _Stopped(over)

    async def _reviews(self, outputs: list[Output]) -> list[Output]:
        try:
            accepted = await self.reviewer.barrier(outputs)
        except LimitReached as limit:
            raise _Stopped(limit.which) from limit
        except TurnFailed as fault:
            raise _Failed(f"review: {fault.kind}: {fault}") from fault
        self._look_at_limits()
        return accepted

    def _note(self, accepted: list[Output], events: list[Emit]) -> None:
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
        outputs = self.state.board.outputs
        standing = [name for name in self.delivered if outputs[name].fate != "rejected"]
        if not standing:
            return None
        last = outputs[standing[-1]]
        copies = self.copies.by_role[last.role]
        if len(copies) == 1:
            return last
        newest = {outputs[name].copy: outputs[name] for name in standing}
        return together([newest[copy.name] for copy in copies if copy.name in newest])

    def _last(self) -> Output | None:
        for output in reversed(self.state.board.outputs.values()):
            if output.role in self.plan.topology.output and output.fate != "rejected":
                return output
        return None

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
            outputs=list(self.state.board.outputs.values()),
            verdicts=self.state.verdicts,
            events=self.state.events,
            turns=self.meter.turns,
            tokens=self.meter.spent.tokens,
            cost_usd=self.meter.spent.cost_usd,
            seconds=self.meter.spent.seconds,
        )


async def _side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> Sequence[T]:
    if len(work) == 1:  # spares a task, the commonest case
        return [await work[0]]
    return await asyncio.gather(*work)


def resolver(folder: Path, unit: Unit) -> Callable[[str], Path]:
    """Finds the files of a run: those of the unit, else inside the spec's folder."""

    def resolve(text: str) -> Path:
        return unit.files.get(text) or confined_file(text, folder=folder, root=folder)

    return resolve
