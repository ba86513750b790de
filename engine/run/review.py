"""Reviews at a barrier: who looks at an output, what is said, and what it obliges to.

Outputs are reviewed in declared order. Links with checks come first, then the others in declared
order, until one obliges: that ends the reviews of this output, not of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

from orglab.engine.run.blackboard import Directive
from orglab.engine.run.calls.call_key import draw
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.prompts.template_context import ReviewSight
from orglab.engine.run.replicas import Replica
from orglab.engine.run.routing import Routing
from orglab.engine.run.state import LinkState, RunState, phase_of, reviews_left
from orglab.engine.spec.model import OBLIGING, Action, AuthorityLink, EvaluatorUse
from orglab.providers.base import JSON
from orglab.results.records import Output, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckFinding:
    """What a check found.

    Attributes:
        evaluator: The evaluator's name.
        passed: Whether the output passed.
        value: What was measured.
        reason: In words.
    """

    evaluator: str
    passed: bool
    value: JSON
    reason: str


class ReviewTurns(Protocol):
    """Takes a superior's review turn."""

    async def review(self, superior: Replica, sight: ReviewSight, phase: int) -> Mapping[str, JSON]:
        """Return the verdict ``{action, reason, suggestion?, target?}``.

        Raises:
            TurnFailed: It gave none.
            LimitReached: The run needs more than a limit allows.
        """


class Checker(Protocol):
    """Runs the checks of a trigger."""

    async def check(self, checks: Sequence[EvaluatorUse], output: Output) -> list[CheckFinding]:
        """Return what each check that looks at this output's role found; [] where none does.

        Raises:
            CheckCrashed: A check crashed.
        """


@dataclass(kw_only=True, slots=True)
class _Objection:
    """A verdict that is yet to be settled against the link's cap."""

    by: Literal["judgement", "checks", "coin"]
    action: Action
    reason: str
    suggestion: str = ""
    targets: tuple[str, ...] = ()
    phase: int = 0
    spoken: bool = True


class CapFailed(TurnFailed):
    """Raised when a superior objects with the cap used up, and the link says to fail."""


class CheckCrashed(TurnFailed):
    """Raised when a check crashes: the turn that wrote the output fails."""


@dataclass(kw_only=True, slots=True)
class Reviewer:
    """Reviews the outputs of a barrier.

    Attributes:
        state: The run.
        routing: Its forward links.
        review_turns: Takes review turns.
        checker: Runs checks.
        links: For each role the links that review it, those with checks first.
        seed: The root seed.
        unit: The unit's id.
        replicate: The replicate.
        sent_back: Replicas obliged to act at this barrier, in the order of the verdicts.
        skipped: Replicas whose output made a check crash, and whose role is then skipped.
    """

    state: RunState
    routing: Routing
    review_turns: ReviewTurns
    checker: Checker
    links: Mapping[str, Sequence[AuthorityLink]]
    seed: int
    unit: str
    replicate: int
    sent_back: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    async def barrier(self, outputs: Sequence[Output]) -> list[Output]:
        """Reviews ``outputs`` in declared order; what is accepted comes back, in that order.

        Raises:
            TurnFailed: A check crashed, or a review failed.
            LimitReached: The run needs more than a limit allows.
        """
        self.sent_back, self.skipped = [], []
        for output in outputs:
            await self._review_all(output)
        accepted = [output for output in outputs if not self._is_void(output)]
        for output in outputs:
            if output not in accepted and self.state.blackboard.outputs[output.id].fate == "posted":
                self.state.mark(output.id, "lapsed")
                self.state.emit("lapsed", output=output.id)
        return [self.state.blackboard.outputs[output.id] for output in accepted]

    async def _review_all(self, output: Output) -> None:
        try:
            for link in self.links.get(output.role, ()):
                if self._is_void(output) or await self._review(link, output):
                    return
        except CheckCrashed as crash:
            if self.routing.plan.replicas.by_name[output.copy].role.on_error == "fail":
                raise
            error = {"kind": crash.kind, "message": str(crash)}
            self.state.emit("skipped", copy=output.copy, why="error", error=error)
            self.skipped.append(output.copy)

    def _is_void(self, output: Output) -> bool:
        if output.copy in self.sent_back or output.copy in self.skipped:
            return True
        return self.routing.is_below(output.copy, self.sent_back)

    async def _review(self, link: AuthorityLink, output: Output) -> bool:
        """Apply one authority link to an output; return whether it obliged."""
        counters = self.state.links[link.id]
        if not reviews_left(link, counters, output.copy):
            return False
        if link.trigger.kind == "checks":
            return await self._checked(link, counters, output)
        if link.trigger.kind == "coin":
            return await self._tossed(link, counters, output)
        return link.trigger.kind == "judgement" and await self._judged(link, counters, output)

    # --- the three triggers -----------------------------------------------------------------

    async def _checked(self, link: AuthorityLink, counters: LinkState, output: Output) -> bool:
        findings = await self.checker.check(link.trigger.checks, output)
        if not findings:
            return False
        _count(counters, output)
        for finding in findings:
            self.state.emit("check", link=link.id, output=output.id, **asdict(finding))
        failed = [f"{each.evaluator}: {each.reason}" for each in findings if not each.passed]
        if not failed:
            passed = _Objection(by="checks", action="approve", reason="", spoken=False)
            return self._settle(link, counters, output, passed)
        spoken = link.trigger.voice == "superior" and (link.cap == 0 or counters.used < link.cap)
        return await self._objected(link, counters, output, "checks", failed, spoken=spoken)

    async def _tossed(self, link: AuthorityLink, counters: LinkState, output: Output) -> bool:
        if counters.used >= link.cap:
            return False
        chance = draw(
            self.seed, self.unit, self.replicate, f"coin {link.id}", output.copy, output.visit
        )
        heads = chance < link.trigger.probability
        self.state.emit("coin", link=link.id, output=output.id, heads=heads)
        if not heads:
            return False
        _count(counters, output)
        return await self._objected(
            link, counters, output, "coin", [], spoken=link.directive is None
        )

    async def _objected(
        self,
        link: AuthorityLink,
        counters: LinkState,
        output: Output,
        by: Literal["checks", "coin"],
        findings: list[str],
        *,
        spoken: bool,
    ) -> bool:
        """Return the verdict of a check or coin that fired; superior or findings give the reason."""
        action: Action = link.trigger.action if by == "checks" else "revise"
        offered: Action = "comment" if link.cap == 0 else action
        verdict: Mapping[str, JSON] = {"action": offered, "reason": "\n".join(findings)}
        if spoken:
            words = await self._ask_superior(link, counters, output, (offered,), findings)
            if words is None and by == "coin":
                return False
            verdict = words or verdict
        objection = _Objection(
            by=by,
            action=offered,
            reason=link.directive or verdict["reason"],
            suggestion="" if link.directive else verdict.get("suggestion", ""),
            targets=self._fixed_targets(link, output),
            spoken=spoken,
        )
        return self._settle(link, counters, output, objection)

    async def _judged(self, link: AuthorityLink, counters: LinkState, output: Output) -> bool:
        phase = phase_of(link, counters, output.copy)
        _count(counters, output)
        counters.phase[output.copy] = phase + 1
        for superior in self.routing.plan.replicas.by_role[link.source]:
            actions = _offered(link, counters, phase)
            verdict = await self._ask_superior(link, counters, output, actions, [], superior, phase)
            if verdict is None:
                continue
            chosen = verdict.get("target") if verdict["action"] == "revise" else None
            fixed = link.directive if verdict["action"] in OBLIGING else None
            objection = _Objection(
                by="judgement",
                action=verdict["action"],
                reason=fixed or verdict["reason"],
                suggestion="" if fixed else verdict.get("suggestion", ""),
                targets=(chosen,) if chosen else (output.copy,),
                phase=phase,
            )
            if self._settle(link, counters, output, objection):
                return True
        return False

    async def _ask_superior(
        self,
        link: AuthorityLink,
        counters: LinkState,
        output: Output,
        actions: Sequence[Action],
        findings: Sequence[str],
        superior: Replica | None = None,
        phase: int = 0,
    ) -> Mapping[str, JSON] | None:
        """Take a review turn; return None where it failed and is skipped."""
        speaker = superior or self.routing.plan.replicas.by_role[link.source][0]
        sight = ReviewSight(
            link=link,
            output=output,
            actions=actions,
            uses_left=link.cap - counters.used,
            findings=findings,
            verdicts=counters.verdicts,
            targets=self._open_targets(link, output)
            if link.trigger.kind == "judgement" and "revise" in actions
            else (),  # of checks and coins the link's own `target` acts
        )
        try:
            return await self.review_turns.review(speaker, sight, phase)
        except TurnFailed as failure:
            if failure.of_account or speaker.role.on_error == "fail":
                raise
            error = {"kind": failure.kind, "message": str(failure)}
            self.state.emit("unreviewed", link=link.id, output=output.id, error=error)
            self.state.mark(output.id, unreviewed=True)
            return None

    # --- who must act -----------------------------------------------------------------------

    def _open_targets(self, link: AuthorityLink, output: Output) -> tuple[str, ...]:
        """Return subordinates of the link, upstream of the output, that have one of their own."""
        upstream = self.routing.plan.team.upstream[output.role]
        standing = self.state.blackboard.standing()
        replicas = self.routing.plan.replicas.of(role for role in link.targets if role in upstream)
        return tuple(copy.name for copy in replicas if copy.name in standing)

    def _fixed_targets(self, link: AuthorityLink, output: Output) -> tuple[str, ...]:
        if link.target is None or link.target == output.role:
            return (output.copy,)
        return tuple(copy.name for copy in self.routing.plan.replicas.by_role[link.target])

    # --- settling ---------------------------------------------------------------------------

    def _settle(
        self, link: AuthorityLink, counters: LinkState, output: Output, said: _Objection
    ) -> bool:
        """Record a verdict and do what it says; return whether it obliged."""
        objects = said.action in OBLIGING
        obliges = objects and counters.used < link.cap
        if obliges:
            counters.used += 1
        forced = objects and not obliges and link.on_cap == "accept"
        verdict = Verdict(
            link=link.id,
            superior=link.source,
            output=output.id,
            copy=output.copy,
            by=said.by,
            action=said.action,
            reason=said.reason,
            suggestion=said.suggestion,
            target=said.targets[0] if obliges else None,
            phase=said.phase,
            obliged=obliges,
            forced=forced,
            used=counters.used,
            cap=link.cap,
        )
        self.state.record(verdict, spoken=said.spoken, targets=said.targets if obliges else ())
        if said.action == "comment":
            self.state.blackboard.say("comment", verdict, output.copy)
        if objects and not obliges and not forced:
            words = f"{link.source} objects to {output.id} with the cap of {link.id} used up"
            raise CapFailed("cap", words)
        if obliges:
            for target in said.targets:
                self._send_back(target, output, verdict)
                self.state.blackboard.say("directive", verdict, target)
        return obliges

    def _send_back(self, target: str, output: Output, verdict: Verdict) -> None:
        """Give a copy a directive; what it wrote last is its draft, or is withdrawn."""
        state = self.state
        last = output.id if target == output.copy else state.blackboard.last_id(target)
        draft = ""
        if last is not None and verdict.action == "reject":
            state.withdraw(last)
            self.routing.withdraw(last)
        elif last is not None:
            draft = state.blackboard.outputs[last].text
            state.mark(last, "sent back")
            state.emit("sent_back", output=last)
        state.directives[target] = Directive(
            action=verdict.action,
            reason=verdict.reason,
            suggestion=verdict.suggestion,
            link=verdict.link,
            superior=verdict.superior,
            draft=draft,
        )
        if target not in self.sent_back:
            self.sent_back.append(target)


def _count(counters: LinkState, output: Output) -> None:
    counters.reviews[output.copy] = counters.reviews.get(output.copy, 0) + 1


def _offered(link: AuthorityLink, counters: LinkState, phase: int) -> tuple[Action, ...]:
    """Return the actions a superior may choose from."""
    if link.cap == 0:
        return ("approve", "comment")
    actions = link.phases[phase].actions
    if counters.used >= link.cap and "approve" not in actions:
        return (*actions, "approve")
    return actions
