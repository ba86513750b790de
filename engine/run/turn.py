"""One turn: asking the model, calling its tools, reading its reply, asking again.

Every reply and tool result is durable before it is acted on; on a replay it is taken from the
journal, and the same code runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, Protocol

from orglab.engine.run.calls.call_key import CallCounter, digest, message_digest, sampling_seed
from orglab.engine.run.calls.model_registry import BoundModel
from orglab.engine.run.calls.toolbox import ToolAnswer, Toolbox, refusal
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import ROUNDING, LimitReached, RunLimits, RunUsage
from orglab.engine.run.prompts.rendering import Prompter
from orglab.engine.run.replicas import Replica
from orglab.providers.base import (
    JSON,
    Completion,
    ContextOverflow,
    Labels,
    Message,
    ProviderError,
    Request,
    TokenUsage,
    ToolCall,
)
from orglab.providers.structured_output.parse import Reading, read_reply
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.call_codec import (
    completion_body,
    completion_of,
    is_answer,
    message_body,
)
from orglab.results.store.journal.journal import Entry, Journal

__all__ = [
    "NotTheRecordedCall",
    "SharedResponses",
    "Turn",
    "TurnFailed",
    "TurnRunner",
    "in_doubt",
]


class NotTheRecordedCall(Exception):
    """Raised when a resumed run would make another call than the one on record.

    It is a bug of ours, or of a plugin that is not deterministic: nothing is mixed up silently.
    """


@dataclass(kw_only=True, slots=True)
class Turn:
    """A turn under way.

    Attributes:
        copy: Who speaks.
        visit: Which turn of the copy.
        purpose: Its own turn, a review, or the work of a judge.
        position: Where in the run it stands.
        bound_model: The model.
        messages: The conversation so far; it grows by tool calls and repairs.
        schema: JSON Schema of the reply, or None for free text.
        tools: Names of the tools that may be called.
        reviewed: In a review, the copy whose output is under review.
        rank: How many turns declared earlier in this tick begin with an equal call.
        spent: What this turn used.
        allowance: US dollars that it may use in all.
        calls: Content digest and identity of each call made.
        exchange: Messages that the turn added to the conversation, without repairs.
        earlier: The visits of the copy's earlier calls in the run.
    """

    copy: Replica
    visit: int
    purpose: Literal["turn", "review", "judge"]
    position: str
    bound_model: BoundModel
    messages: list[Message]
    schema: Mapping[str, JSON] | None
    tools: tuple[str, ...] = ()
    reviewed: str | None = None
    rank: int = 0
    spent: RunUsage = field(default_factory=RunUsage)
    allowance: float = float("inf")
    calls: list[tuple[str, str]] = field(default_factory=list)
    exchange: list[Message] = field(default_factory=list)
    earlier: tuple[int, ...] = ()
    first: str = ""
    step: int = 0
    tool_calls: int = 0
    repairs: int = 0
    seen_calls: dict[str, int] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)

    @property
    def tools_left(self) -> bool:
        """Whether tools may still be called."""
        return bool(self.tools) and self.tool_calls < self.copy.role.limits.tool_calls


class SharedResponses(Protocol):
    """Replies to identical calls of other runs, and of other studies where ``keeps`` is true."""

    async def claim(
        self, identity: str, request: Callable[[], Mapping[str, JSON]], *, keeps: bool
    ) -> Mapping[str, JSON] | None:
        """The body of an identical call's entry, or None: then the caller makes the call.

        Args:
            identity: The call's identity.
            request: Gives all that is asked.
            keeps: Replies of this bound_model are kept for other studies.
        """

    def publish(self, identity: str, body: Mapping[str, JSON] | None, *, keeps: bool) -> None:
        """Ends a claim: the body of the entry, now durable, or None."""


@dataclass(slots=True)
class _Requests:
    """Tells the journal of the requests of one call. Those that follow no cut one are one with it."""

    journal: Journal
    position: str
    identity: str
    copy: str
    most: float | None
    _reserved: int = -1
    _begun: int = -1

    async def reserve(self, cut: int) -> None:
        """Has money set aside for the next request, where so many were cut."""
        if self.most != 0.0 and cut > self._reserved:
            await self.journal.reserve(self.position, self._what(cut))
            self._reserved = cut

    async def begin(self, cut: int) -> None:
        """Says that the next request is sent now."""
        if cut > self._begun:
            await self.journal.begin(self.position, self._what(cut))
            self._begun = cut

    @property
    def sent(self) -> int:
        """How many requests were begun: all but the last one were cut."""
        return self._begun + 1

    def _what(self, cut: int) -> dict[str, JSON]:
        what: dict[str, JSON] = {"identity": self.identity, "copy": self.copy}
        if self.most != 0.0:
            what["reserved"] = self.most
        if cut:
            what["cut"] = cut
        return what


def in_doubt(most: float | None, *, cut: int, answered: bool, cost: float | None) -> float | None:
    """US dollars that a call may have cost beyond what is known; None where that is unknown, or nothing.

    A request that was cut, or answered without a count of tokens, may have cost the most that it
    can. What the server had counted of cut requests is in ``cost`` already, and is not in doubt.

    Args:
        most: The most that one request can cost; None: unknown.
        cut: How many requests were cut.
        answered: Whether another one was answered.
        cost: What is known to have been billed; None: unknown.
    """
    requests = cut + (answered and cost is None)
    if not requests or most is None:
        return None
    counted_of_cut = max(0.0, (cost or 0.0) - most * answered)
    return max(0.0, most * requests - counted_of_cut)


@dataclass(kw_only=True, slots=True)
class TurnRunner:
    """Takes the turns of one run.

    Attributes:
        journal: Where replies are durable.
        counter: Numbers equal calls.
        limits: The run's limits.
        toolbox: The run's tools.
        prompter: Renders the words of repairs.
        unit: The unit's id.
        replicate: The replicate.
        sharing: Replies that arms share, or None.
        within: Of a team within: the output that it is to give in the run around it.
    """

    journal: Journal
    counter: CallCounter
    limits: RunLimits
    toolbox: Toolbox
    prompter: Prompter
    unit: str
    replicate: int
    sharing: SharedResponses | None = None
    within: str = ""

    def first_call(self, turn: Turn) -> str:
        """The content digest of the turn's first call: turns that begin alike are ranked."""
        turn.first = self._content(turn)
        return turn.first

    def most_first(self, turn: Turn) -> float:
        """US dollars: the most that the turn's next call can cost; 0 where that is unknown."""
        return turn.bound_model.most(self._request(turn, "")) or 0.0

    async def take(self, turn: Turn) -> Reading:
        """Takes a turn to its readable reply.

        Raises:
            TurnFailed: The model could not be asked, or no reply could be read.
            LimitReached: The run needs more than a limit allows.
        """
        while True:
            completion, reading = await self._ask(turn)
            if reading is None:
                await self._call_tools(turn, completion)
            elif reading.problem is None:
                turn.exchange.append(Message(role="assistant", content=_said(completion, reading)))
                return reading
            else:
                self._ask_again(turn, completion, reading)

    # --- asking -----------------------------------------------------------------------------

    async def _ask(self, turn: Turn) -> tuple[Completion, Reading | None]:
        """Asks once; the reading is None where the reply asks for tools."""
        self.limits.before_call(turn.spent)
        if turn.spent.most_usd + self._most_bounded(turn) > turn.allowance + ROUNDING:
            raise LimitReached("cost_usd")
        base = turn.first if turn.step == 0 and turn.first else self._content(turn)
        identity = self.counter.identity(base, turn.rank, [content for content, _ in turn.calls])
        turn.calls.append((base, identity))
        position = f"{turn.position}.{turn.step}"
        entry = self.journal.recorded(position)
        if entry is None:
            request = self._request(turn, identity)
            entry, completion, reading = await self._live(turn, request, position)
        elif entry.identity != identity:
            words = f"{position}: {turn.copy.name} asks something else than it did"
            raise NotTheRecordedCall(words)
        else:
            completion = completion_of(entry)
            reading = _read(turn, completion)
        turn.step += 1
        self._account(turn, entry)
        return completion, reading

    def _most_bounded(self, turn: Turn) -> float:
        return self.most_first(turn) if turn.allowance < float("inf") else 0.0

    async def _live(
        self, turn: Turn, request: Request, position: str
    ) -> tuple[Entry, Completion, Reading | None]:
        """Makes a call, or takes the reply of an identical one that arms share."""
        if self.sharing is None:
            return await self._paid(turn, request, position)
        keeps = _keeps(turn)
        body = await self.sharing.claim(
            request.identity, lambda: _request_body(turn, request), keeps=keeps
        )
        if body is not None:
            return await self._shared(turn, request, position, body)
        made: Mapping[str, JSON] | None = None
        try:
            entry, completion, reading = await self._paid(turn, request, position)
            made = entry.body if is_answer(entry.body) else None
            return entry, completion, reading
        finally:
            self.sharing.publish(request.identity, made, keeps=keeps)

    async def _shared(
        self, turn: Turn, request: Request, position: str, body: Mapping[str, JSON]
    ) -> tuple[Entry, Completion, Reading | None]:
        if canonical(body["request"]) != canonical(_request_body(turn, request)):
            raise NotTheRecordedCall(
                f"{position}: a stored call of this identity asks another thing"
            )
        kept = {
            **body,
            "copy": turn.copy.name,
            "role": turn.copy.role.name,
            "purpose": turn.purpose,
            "visit": turn.visit,
            "waiting_seconds": 0.0,
            "attempts": 0,
            "cut": 0,
            "reserved_usd": None,
        }
        entry = Entry(position=position, kind="call", identity=request.identity, body=kept)
        await self.journal.keep(entry)
        completion = completion_of(entry)
        return entry, completion, _read(turn, completion)

    async def _paid(
        self, turn: Turn, request: Request, position: str
    ) -> tuple[Entry, Completion, Reading | None]:
        most = turn.bound_model.most(request)
        completion, fault = await self._completed(turn, request, position, most)
        reading = _read(turn, completion) if fault is None else None
        fault = fault or _unreadable(turn, reading)
        body = self._body(turn, request, completion)
        body["reasoning"] = completion.reasoning or (reading.reasoning if reading else "")
        body["read"] = reading.record() if reading else {}
        body["error"] = fault
        body["reserved_usd"] = in_doubt(
            most, cut=completion.cut, answered=reading is not None, cost=body["cost_usd"]
        )
        entry = Entry(position=position, kind="call", identity=request.identity, body=body)
        await self.journal.keep(entry)
        return entry, completion, reading

    async def _completed(
        self, turn: Turn, request: Request, position: str, most: float | None
    ) -> tuple[Completion, dict[str, JSON] | None]:
        """The reply, or an empty one and the fault."""
        told = _Requests(self.journal, position, request.identity, turn.copy.name, most)
        try:
            caller = turn.bound_model.caller
            call = caller.call(request, told.begin, turn.copy.role.faults, told.reserve)
            return _storable(await call), None
        except ProviderError as error:
            return _of_error(error), {"kind": error.kind, "message": _told(turn, error)}
        except StoreError:
            raise
        except Exception as crash:  # noqa: BLE001 - a plugin may raise anything; it fails the turn
            words = f"{type(crash).__name__}: {crash}"
            sent = (
                0 if turn.bound_model.provider.free else told.sent
            )  # what it may have cost nobody knows
            lost = Completion(attempts=max(1, told.sent), cut=sent)
            return lost, {"kind": "fault of the provider", "message": words}

    def _body(self, turn: Turn, request: Request, completion: Completion) -> dict[str, JSON]:
        return {
            "copy": turn.copy.name,
            "role": turn.copy.role.name,
            "purpose": turn.purpose,
            "visit": turn.visit,
            "request": _request_body(turn, request),
            **completion_body(completion),
            "service_seconds": round(completion.service_seconds, 6),
            "waiting_seconds": round(completion.waiting_seconds, 6),
            "cost_usd": turn.bound_model.cost(completion.usage),
        }

    def _account(self, turn: Turn, entry: Entry) -> None:
        """Counts what a call used.

        Raises:
            TurnFailed: The call gave no answer, or the last one that may be asked for.
        """
        body, spent = entry.body, turn.spent
        spent.tokens += body["usage"]["input"] + body["usage"]["output"]
        spent.cost_usd += body["cost_usd"] or 0.0
        spent.doubt_usd += body.get("reserved_usd") or 0.0
        spent.seconds += body["service_seconds"] + body["waiting_seconds"]
        if body["error"]:
            raise TurnFailed(body["error"]["kind"], body["error"]["message"])

    def _request(self, turn: Turn, identity: str) -> Request:
        params = dict(turn.bound_model.params)
        limit = turn.copy.role.limits.output_tokens
        if limit is not None:
            params["max_output_tokens"] = limit
        return Request(
            model=turn.bound_model.model.model,
            messages=tuple(turn.messages),
            tools=tuple(self.toolbox.definition(name) for name in turn.tools),
            must_answer=bool(turn.tools) and not turn.tools_left,
            schema=turn.schema,
            params=params,
            seed=sampling_seed(identity),
            identity=identity,
            labels=Labels(
                unit=self.unit,
                replicate=self.replicate,
                within=self.within,
                role=turn.copy.role.name,
                copy=turn.copy.name,
                visit=turn.visit,
                purpose=turn.purpose,
                reviewed=turn.reviewed,
                call=turn.step,
                earlier=turn.earlier + (turn.visit,) * turn.step,
            ),
        )

    def _content(self, turn: Turn) -> str:
        """Digest of all that makes the reply: model, parameters, messages, tools, schema, faults."""
        for message in turn.messages[len(turn.digests) :]:
            turn.digests.append(message_digest(message))
        tools = f"{self.toolbox.digest(turn.tools)} {turn.tools_left}" if turn.tools else ""
        schema = _schema_digest(turn.schema) if turn.schema is not None else ""
        role = turn.copy.role
        limit = str(role.limits.output_tokens)
        planted = canonical(dict(role.faults)) if role.faults else ""
        return digest(turn.bound_model.digest, limit + planted, tools, schema, *turn.digests)

    # --- tools ------------------------------------------------------------------------------

    async def _call_tools(self, turn: Turn, completion: Completion) -> None:
        message = Message(
            role="assistant", content=completion.text, tool_calls=completion.tool_calls
        )
        self._say(turn, message)
        for number, call in enumerate(completion.tool_calls):
            entry = await self._tool_entry(
                turn, call, f"{turn.position}.{turn.step - 1}.tool.{number}"
            )
            turn.spent.seconds += entry.body["seconds"]
            result = canonical(entry.body["result"])
            self._say(turn, Message(role="tool", content=result, tool_call_id=call.id))
        if not turn.tools_left:
            limit = turn.copy.role.limits.tool_calls
            words = self.prompter.engine("tools_gone", {"tool_calls": limit})
            self._say(turn, Message(role="user", content=words))

    async def _tool_entry(self, turn: Turn, call: ToolCall, position: str) -> Entry:
        entry = self.journal.recorded(position)
        refused = self._refused(turn, call)
        if entry is None:
            answer = refused or await self.toolbox.answer(call, turn.tools)
            body = {
                "copy": turn.copy.name,
                "role": turn.copy.role.name,
                "visit": turn.visit,
                "tool": call.name,
                **asdict(answer),
                "prompt": False,
            }
            entry = Entry(position=position, kind="tool", identity="", body=body)
            await self.journal.keep(entry)
        return entry

    def _refused(self, turn: Turn, call: ToolCall) -> ToolAnswer | None:
        """Counts a call; its refusal where a limit says so, else None."""
        limits = turn.copy.role.limits
        if turn.tool_calls >= limits.tool_calls:
            words = f"All {limits.tool_calls} tool calls of this turn are used."
            return refusal(call, words, "limit")
        turn.tool_calls += 1
        key = digest(call.name, call.arguments)
        turn.seen_calls[key] = turn.seen_calls.get(key, 0) + 1
        if turn.seen_calls[key] > limits.repeated_calls:
            words = (
                f"{call.name} was called {limits.repeated_calls} times with these arguments; "
                "its result is above. Call it with others, or answer."
            )
            return refusal(call, words, "repeated")
        return None

    # --- asking again -----------------------------------------------------------------------

    def _ask_again(self, turn: Turn, completion: Completion, reading: Reading) -> None:
        turn.repairs += 1
        turn.messages.append(Message(role="assistant", content=completion.text or "(nothing)"))
        values = {"problem": reading.message, "structured": turn.schema is not None}
        turn.messages.append(Message(role="user", content=self.prompter.engine("repair", values)))

    def _say(self, turn: Turn, message: Message) -> None:
        turn.messages.append(message)
        turn.exchange.append(message)


def _storable(completion: Completion) -> Completion:
    """The completion in Unicode that UTF-8 can hold; a server may send half a character."""
    texts = [completion.text, completion.reasoning]
    texts += [call.arguments for call in completion.tool_calls]
    text = "".join(texts)
    if text.isascii() or text == _without_surrogates(text):
        return completion
    calls = tuple(
        replace(call, arguments=_without_surrogates(call.arguments))
        for call in completion.tool_calls
    )
    return replace(
        completion,
        text=_without_surrogates(completion.text),
        reasoning=_without_surrogates(completion.reasoning),
        tool_calls=calls,
        notes=(*completion.notes, "lone surrogates were replaced"),
    )


def _told(turn: Turn, error: ProviderError) -> str:
    """The words of a fault; one of the prompt's length says which call of which turn it was."""
    said = str(error)
    if not isinstance(error, ContextOverflow) or said.startswith(turn.copy.name):
        return said
    return f"{turn.copy.name}, visit {turn.visit}, call {turn.step}: {said}"


def _of_error(error: ProviderError) -> Completion:
    """What there is to keep of a call that gave no answer."""
    return Completion(
        usage=error.usage or TokenUsage(),
        attempts=error.attempts,
        cut=error.cut,
        waiting_seconds=error.waiting_seconds,
        notes=error.notes,
    )


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _keeps(turn: Turn) -> bool:
    """Whether other studies may take the reply: where a model answers, and no fault is planted."""
    planted = turn.bound_model.model.faults or turn.copy.role.faults
    return turn.bound_model.provider.kept and not planted


def _schema_digest(schema: Mapping[str, JSON]) -> str:
    return digest(canonical(schema))


def _read(turn: Turn, completion: Completion) -> Reading | None:
    if completion.tool_calls and turn.tools_left:
        return None
    if completion.tool_calls:
        words = "there are no tools to call now; answer"
        return Reading(problem="no json", message=words)
    return read_reply(
        completion.text,
        turn.schema,
        stop=completion.stop,
        native=completion.native,
        usage=completion.usage,
    )


def _said(completion: Completion, reading: Reading) -> str:
    """The reply as it stands in the conversation from now on: without reasoning."""
    if isinstance(reading.value, str):
        return reading.value
    return completion.text if reading.how in ("native", "strict") else canonical(reading.value)


def _unreadable(turn: Turn, reading: Reading | None) -> dict[str, JSON] | None:
    """The fault that ends a turn: a refusal, or a last reply that cannot be read.

    A model that refuses is not asked again: that it refused is what the study wants to know.
    """
    if reading is None or reading.problem is None:
        return None
    if reading.problem == "refusal":
        return {"kind": "refusal", "message": reading.message}
    if turn.repairs < turn.copy.role.limits.repair_attempts:
        return None
    return {"kind": f"unreadable reply ({reading.problem})", "message": reading.message}


def _request_body(turn: Turn, request: Request) -> dict[str, JSON]:
    return {
        "provider": turn.bound_model.model.provider,
        "model": request.model,
        "params": dict(request.params),
        "seed": request.seed,
        "messages": [message_body(message) for message in request.messages],
        "tools": [asdict(tool) for tool in request.tools],
        "schema": request.schema,
    }
