"""What a run leaves behind: events, calls, tool calls, outputs, scores.

Every record is plain data that strict JSON can hold. Events carry no times, so that a replay gives
them again byte for byte; times stand in the records of calls and tool calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from orglab.providers.base import JSON

RunStatus: TypeAlias = Literal["running", "completed", "stopped", "failed"]
"""``running``: begun and neither ended nor given up, so that it can be resumed."""

_NO_TOKENS: Final = {"input": 0, "output": 0, "cached_input": 0, "reasoning": 0}

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
class CallEntry:
    """One durable call of a model.

    Attributes:
        position: Where in the run: ``tick.kind.index.step``; unique in the run.
        identity: Hex digest of everything that determines the call.
        copy: The copy that made it.
        role: Its role.
        purpose: ``turn``, ``review`` or ``judge``.
        visit: Which turn of the copy.
        provider: The provider's name.
        model: The model requested.
        served: The model that served.
        request: ``{messages, tools, schema, params, seed}``.
        text: The reply's text.
        reasoning: The reply's reasoning, apart.
        tool_calls: The tool calls that the reply requests: ``{id, name, arguments}``.
        native: The provider's own structured output gave the reply.
        stop: Why the model stopped.
        fingerprint: The server's fingerprint of the model, or None.
        read: How the reply was parsed: ``{how, problem?, objects?, repaired?, …}``; {} for a reply
            with tool calls or free text.
        tokens: ``{input, output, cached_input, reasoning}``.
        cost_usd: US dollars; None where the price is unknown.
        service_seconds: Seconds of service.
        waiting_seconds: Seconds of waiting.
        attempts: Requests sent for it.
        cut: Of them, those that the server may have billed unknown to us.
        reserved_usd: Upper bound of their cost in US dollars; None if unknown.
        simulated: No language model wrote it.
        error: ``{kind, message}`` where the call gave no answer, else None.
        logprobs: Where the provider gave them.
        notes: What was changed on the way.
        kept: The origin of a reply that another study paid for: ``{study, paid}``. ``attempts`` is
            0 then, as it is (with no ``kept``) where another run of this study paid.
    """

    position: str
    identity: str = ""
    copy: str = ""
    role: str = ""
    purpose: str = "turn"
    visit: int = 0
    provider: str = ""
    model: str = ""
    served: str = ""
    request: Mapping[str, JSON] = field(default_factory=dict)
    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[Mapping[str, JSON]] = ()
    native: bool = False
    stop: str = ""
    fingerprint: str | None = None
    read: Mapping[str, JSON] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=_NO_TOKENS.copy)
    cost_usd: float | None = None
    service_seconds: float = 0.0
    waiting_seconds: float = 0.0
    attempts: int = 0
    simulated: bool = False
    error: Mapping[str, JSON] | None = None
    logprobs: JSON = None
    notes: Sequence[str] = ()
    cut: int = 0
    reserved_usd: float | None = None
    kept: Mapping[str, JSON] | None = None

    @property
    def paid(self) -> bool:
        """Whether a request was sent for it: the reply is not another run's or study's."""
        return self.attempts > 0 or self.error is not None

    @property
    def replied(self) -> bool:
        """Whether a reply came or tokens were counted, so that it may be billed."""
        kind = str((self.error or {}).get("kind", ""))
        came = self.error is None or kind == "refusal" or kind.startswith("unreadable reply")
        return came or any(self.tokens.values())

    @property
    def is_answer(self) -> bool:
        """Whether it is complete and readable: no failure, no refusal, nothing cut by a limit."""
        complete = self.error is None and self.stop in ("stop", "tool_calls")
        return complete and not self.read.get("problem")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEntry:
    """One durable tool call.

    Attributes:
        position: Where in the run; unique in the run.
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
    copy: str = ""
    role: str = ""
    visit: int = 0
    tool: str = ""
    arguments: JSON = None
    result: JSON = None
    error: bool = False
    refused: str = ""
    seconds: float = 0.0
    prompt: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionEntry:
    """One durable decision that is neither a model's nor a tool's: the finding of a check.

    Attributes:
        position: Where in the run; unique in the run.
        output: Id of the output that it is about, or "".
        what: What kind of decision: ``check``.
        copy: The copy that wrote the output.
        error: ``{kind, message}`` where it failed the turn, else None.
        finding: What a check found, else None.
    """

    position: str
    output: str = ""
    what: str = ""
    copy: str = ""
    error: Mapping[str, JSON] | None = None
    finding: Mapping[str, JSON] | None = None


JournalEntry: TypeAlias = CallEntry | ToolEntry | DecisionEntry
"""One durable thing of a run; strict JSON throughout."""


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
        asked_again: Calls that were under way when the process died, and were retried.
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
    calls: Sequence[CallEntry] = ()
    tool_calls: Sequence[ToolEntry] = ()
    asked_again: int = 0
