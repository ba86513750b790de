"""What a run leaves behind: events, calls, tool calls, outputs, scores.

Every record is plain data that strict JSON can hold. Events carry no times, so that a replay gives
them again byte for byte; times stand in the records of calls and tool calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orglab.providers.base import JSON

__all__ = [
    "CallRecord",
    "Event",
    "Output",
    "RunRecord",
    "RunStatus",
    "Scale",
    "Score",
    "ToolCallRecord",
    "Verdict",
]


RunStatus: TypeAlias = Literal["running", "completed", "stopped", "failed"]
"""``running``: begun and neither ended nor given up, so that it can be resumed."""

Scale: TypeAlias = Literal["binary", "nominal", "ordinal", "interval", "ratio", "count"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened in a run.

    Attributes:
        seq: Position in the run, from 0: the total order.
        tick: The tick it belongs to, from 1; 0 before the first.
        kind: One of the names in ``docs/reference/events.md``.
        body: What happened; strict JSON.
    """

    seq: int
    tick: int
    kind: str
    body: Mapping[str, JSON]


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """What a role copy wrote in one turn.

    Attributes:
        id: ``writer@2`` or ``writer#1@2``: copy and visit.
        role: The role's name.
        copy: The copy's name; the role's name where there is one copy.
        visit: Which turn of this copy it came from, from 1.
        tick: The tick in which it was written.
        value: The validated value (structured) or text (free).
        text: The text as other roles read it.
        fate: ``delivered``; ``sent back`` (question or revise: kept as a draft); ``rejected``
            (withdrawn from everyone's sight); ``lapsed`` (void since something upstream began anew);
            ``posted`` (the run ended before it was delivered).
        forced: It was delivered although its reviewer objected, the cap being used up.
        unreviewed: A review of it was skipped because the review failed.
    """

    id: str
    role: str
    copy: str
    visit: int
    tick: int
    value: JSON
    text: str
    fate: Literal["posted", "delivered", "sent back", "rejected", "lapsed"] = "posted"
    forced: bool = False
    unreviewed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a review, a check or a coin said of an output.

    Attributes:
        link: Id of the authority link.
        superior: The superior's role name.
        output: Id of the output under review.
        copy: The copy that wrote it.
        by: What spoke.
        action: ``approve``, ``comment``, ``question``, ``revise`` or ``reject``.
        reason: The words.
        suggestion: A suggestion, or "".
        target: The copy that must act, where it obliges; else None.
        phase: Index of the review phase, from 0.
        obliged: The verdict obliged, and used one of the link's cap.
        forced: It objected with the cap used up, and the output was delivered all the same.
        used: How much of the cap is used after it.
        cap: The link's cap.
    """

    link: str
    superior: str
    output: str
    copy: str
    by: Literal["judgement", "checks", "coin"]
    action: str
    reason: str
    suggestion: str = ""
    target: str | None = None
    phase: int = 0
    obliged: bool = False
    forced: bool = False
    used: int = 0
    cap: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """One durable call of a model.

    Attributes:
        position: Where in the run it stands: ``tick.kind.index.step``; unique in the run.
        identity: Hex digest of everything that makes the call what it is.
        copy: The copy that spoke.
        role: Its role.
        purpose: ``turn``, ``review`` or ``judge``.
        visit: Which turn of the copy.
        provider: The provider's name.
        model: The model asked for.
        served: The model that served.
        request: ``{messages, tools, schema, params, seed}``, whole.
        text: The reply's text.
        reasoning: The reply's reasoning, apart.
        tool_calls: The tool calls that the reply asked for: ``{id, name, arguments}``.
        stop: Why the model stopped.
        read: How the reply was read: ``{how, problem?, objects?, repaired?, …}``; {} for a reply
            with tool calls or free text.
        tokens: ``{input, output, cached_input, reasoning}``.
        cost_usd: US dollars; None where the price is unknown.
        service_seconds: Seconds of service.
        waiting_seconds: Seconds of waiting.
        attempts: Requests sent for it.
        cut: Of them, those that the server may have billed unknown to us.
        reserved_usd: The most US dollars that those can have cost; None where that is unknown.
        simulated: No language model wrote it.
        error: ``{kind, message}`` where the call gave no answer, else None.
        logprobs: Where the provider gave them.
        notes: What was changed on the way.
        kept: Where the reply comes from when another study had paid for it: ``{study, paid}``.
            ``attempts`` is 0 then, as it is (with no ``kept``) where another run of this study paid.
    """

    position: str
    identity: str
    copy: str
    role: str
    purpose: str
    visit: int
    provider: str
    model: str
    served: str
    request: Mapping[str, JSON]
    text: str
    reasoning: str
    tool_calls: Sequence[Mapping[str, JSON]]
    stop: str
    read: Mapping[str, JSON]
    tokens: Mapping[str, int]
    cost_usd: float | None
    service_seconds: float
    waiting_seconds: float
    attempts: int
    simulated: bool
    error: Mapping[str, JSON] | None = None
    logprobs: JSON = None
    notes: Sequence[str] = ()
    cut: int = 0
    reserved_usd: float | None = None
    kept: Mapping[str, JSON] | None = None

    @property
    def paid(self) -> bool:
        """A request was sent for it: the reply was not taken from another run or study."""
        return self.attempts > 0 or self.error is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCallRecord:
    """One durable tool call.

    Attributes:
        position: Where in the run it stands; unique in the run.
        copy: The copy that called.
        role: Its role.
        visit: Which turn of the copy.
        tool: The tool's name in the spec.
        arguments: Its arguments as sent (parsed where they were JSON, else the text).
        result: What went back to the model, as strict JSON.
        error: True where the result is an error.
        refused: Why orglab refused the call (``repeated``, ``limit``, ``arguments``), or "".
        seconds: Seconds it took.
        prompt: It was called by a prompt's template, not by the model.
    """

    position: str
    copy: str
    role: str
    visit: int
    tool: str
    arguments: JSON
    result: JSON
    error: bool
    refused: str
    seconds: float
    prompt: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One measured value.

    Attributes:
        name: Name of the measure, such as ``words`` or ``tokens.output``.
        value: The value; None = missing, with the reason.
        scale: Its scale.
        reason: Why it is missing, or what was found, in words.
        passed: For a thing that passes or fails: which; else None.
        detail: More, for who wants to know: by role, by term, …
    """

    name: str
    value: float | bool | str | None
    scale: Scale
    reason: str = ""
    passed: bool | None = None
    detail: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """One run, whole: what evaluators and transcripts read.

    Attributes:
        id: The run's id, a hex digest.
        arm: The arm's name; the topology's name outside experiments.
        unit: The unit's id.
        inputs: The unit's inputs by name, as the templates saw them.
        extra: The unit's other columns (``reference`` among them, if there is one).
        replicate: From 0.
        seed: The root seed.
        status: How it ended.
        reason: What stopped or failed it, in words; "" when completed.
        answer: The answer (the last delivered output of ``output``); None unless completed.
        last: The last output of an ``output`` role, also where the run was stopped or failed;
            marked as no answer by ``answer`` being None.
        outputs: Every output, in order.
        verdicts: Every verdict, in order.
        events: Every event, in order.
        calls: Every call, in order of position.
        tool_calls: Every tool call, in order of position.
        asked_again: Calls that were under way when the process died, and were asked again.
    """

    id: str
    arm: str
    unit: str
    inputs: Mapping[str, JSON]
    extra: Mapping[str, JSON] = field(default_factory=dict)
    replicate: int = 0
    seed: int = 0
    status: RunStatus = "running"
    reason: str = ""
    answer: Output | None = None
    last: Output | None = None
    outputs: Sequence[Output] = ()
    verdicts: Sequence[Verdict] = ()
    events: Sequence[Event] = ()
    calls: Sequence[CallRecord] = ()
    tool_calls: Sequence[ToolCallRecord] = ()
    asked_again: int = 0
