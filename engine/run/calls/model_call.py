"""One call of a model: taken from the journal, shared with other runs, or made under a guard.

Every reply is durable before it is acted on. A replay takes it from the journal, and the same code
runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from orglab.engine.run.calls.call_key import CallCounter, digest, message_digest, sampling_seed
from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.turn import Turn
from orglab.providers.base import (
    JSON,
    Completion,
    ContextOverflow,
    Labels,
    ProviderError,
    Request,
    TokenUsage,
)
from orglab.providers.structured_output.parse import Reading, read_reply
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.records import CallEntry
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.journal import Attempt, CallGuard, Journal
from orglab.results.store.row_codec import completion_of, message_body, reply_fields


class NotTheRecordedCall(Exception):
    """Raised when a resumed run would make another call than the one on record.

    It is a bug of ours, or of a plugin that is not deterministic: nothing is mixed up silently.
    """


class SharedResponses(Protocol):
    """Replies to identical calls of other runs, and of other studies where ``cacheable`` is true."""

    async def claim(
        self, identity: str, request: Callable[[], Mapping[str, JSON]], *, cacheable: bool
    ) -> CallEntry | None:
        """Return an identical call, or None: then the caller makes it and calls ``publish``.

        Args:
            identity: The call's identity.
            request: Returns the complete request.
            cacheable: Replies of this model may be stored for other studies.
        """

    def publish(self, identity: str, call: CallEntry | None, *, cacheable: bool) -> None:
        """End a claim with the call, now durable, or None."""


def unconfirmed_cost(
    most: float | None, *, cut: int, answered: bool, cost: float | None
) -> float | None:
    """Return the unconfirmed cost of a call in USD; None if unknown, or if there is none.

    A request that was interrupted, or answered without a token count, may have cost its upper
    bound. What the server had counted of interrupted requests is in ``cost`` already.

    Args:
        most: Upper bound of one request's cost; None: unknown.
        cut: How many requests were interrupted.
        answered: Whether another one was answered.
        cost: What is known to have been billed; None: unknown.
    """
    requests = cut + (answered and cost is None)
    if not requests or most is None:
        return None
    counted_of_cut = max(0.0, (cost or 0.0) - most * answered)
    return max(0.0, most * requests - counted_of_cut)


@dataclass(kw_only=True, slots=True)
class ModelCalls:
    """Makes the calls of one run.

    Attributes:
        journal: Where replies are durable.
        counter: Numbers equal calls.
        toolbox: The run's tools.
        unit: The unit's id.
        replicate: The replicate.
        sharing: Replies that arms share, or None.
        within: In a subrun, the output that it is to give in the run around it.
    """

    journal: Journal
    counter: CallCounter
    toolbox: Toolbox
    unit: str
    replicate: int
    sharing: SharedResponses | None = None
    within: str = ""

    async def call(self, turn: Turn) -> tuple[CallEntry, Completion, Reading | None]:
        """Make a turn's next call; the reading is None where the reply requests tools.

        Raises:
            NotTheRecordedCall: The journal holds another call at this position.
        """
        base = turn.first if turn.step == 0 and turn.first else self.content(turn)
        identity = self.counter.identity(base, turn.rank, [content for content, _ in turn.calls])
        turn.calls.append((base, identity))
        position = f"{turn.position}.{turn.step}"
        entry = self.journal.recorded(position)
        if not isinstance(entry, CallEntry):
            return await self._new_call(turn, self.request(turn, identity), position)
        if entry.identity != identity:
            message = f"{position}: {turn.copy.name} makes another call than the recorded one"
            raise NotTheRecordedCall(message)
        completion = completion_of(entry)
        return entry, completion, parse_reply(turn, completion)

    async def _new_call(
        self, turn: Turn, request: Request, position: str
    ) -> tuple[CallEntry, Completion, Reading | None]:
        """Make a call, or take the reply of an identical one."""
        if self.sharing is None:
            return await self._guarded_call(turn, request, position)
        cacheable = _is_cacheable(turn)
        shared = await self.sharing.claim(
            request.identity, lambda: _complete_request(turn, request), cacheable=cacheable
        )
        if shared is not None:
            return await self._keep_shared(turn, request, position, shared)
        made: CallEntry | None = None
        try:
            entry, completion, reading = await self._guarded_call(turn, request, position)
            made = entry if entry.is_answer else None
            return entry, completion, reading
        finally:
            self.sharing.publish(request.identity, made, cacheable=cacheable)

    async def _keep_shared(
        self, turn: Turn, request: Request, position: str, shared: CallEntry
    ) -> tuple[CallEntry, Completion, Reading | None]:
        theirs = {"provider": shared.provider, "model": shared.model, **shared.request}
        if canonical(theirs) != canonical(_complete_request(turn, request)):
            raise NotTheRecordedCall(f"{position}: the stored call of this identity differs")
        entry = replace(
            shared,
            position=position,
            identity=request.identity,
            copy=turn.copy.name,
            role=turn.copy.role.name,
            purpose=turn.purpose,
            visit=turn.visit,
            waiting_seconds=0.0,
            attempts=0,
            cut=0,
            reserved_usd=None,
        )
        await self.journal.keep(entry)
        completion = completion_of(entry)
        return entry, completion, parse_reply(turn, completion)

    async def _guarded_call(
        self, turn: Turn, request: Request, position: str
    ) -> tuple[CallEntry, Completion, Reading | None]:
        most = turn.bound_model.most(request)
        first = Attempt(
            position=position, identity=request.identity, copy=turn.copy.name, most_usd=most
        )
        async with self.journal.guard(first) as guard:
            completion, error = await _complete(turn, request, guard)
            reading = parse_reply(turn, completion) if error is None else None
            cost = turn.bound_model.cost(completion.usage)
            fields = reply_fields(completion)
            if reading is not None and not completion.reasoning:
                fields["reasoning"] = reading.reasoning
            entry = CallEntry(
                position=position,
                identity=request.identity,
                copy=turn.copy.name,
                role=turn.copy.role.name,
                purpose=turn.purpose,
                visit=turn.visit,
                provider=turn.bound_model.model.provider,
                model=request.model,
                request=_request_fields(request),
                read=reading.record() if reading else {},
                error=error or _final_error(turn, reading),
                cost_usd=cost,
                reserved_usd=unconfirmed_cost(
                    most, cut=completion.cut, answered=reading is not None, cost=cost
                ),
                **fields,
            )
            await self.journal.keep(entry)
        return entry, completion, reading

    def request(self, turn: Turn, identity: str) -> Request:
        """Return the request of a turn's next call."""
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

    def content(self, turn: Turn) -> str:
        """Return the digest of what determines the next reply, apart from its place in the run."""
        for message in turn.messages[len(turn.digests) :]:
            turn.digests.append(message_digest(message))
        tools = f"{self.toolbox.digest(turn.tools)} {turn.tools_left}" if turn.tools else ""
        schema = digest(canonical(turn.schema)) if turn.schema is not None else ""
        role = turn.copy.role
        limit = str(role.limits.output_tokens)
        injected = canonical(dict(role.faults)) if role.faults else ""
        return digest(turn.bound_model.digest, limit + injected, tools, schema, *turn.digests)


async def _complete(
    turn: Turn, request: Request, guard: CallGuard
) -> tuple[Completion, dict[str, JSON] | None]:
    """Return the reply, or an empty one and the error."""
    model = turn.bound_model
    try:
        return _storable(await model.client.call(request, guard, turn.copy.role.faults)), None
    except ProviderError as error:
        completion = Completion(
            usage=error.usage or TokenUsage(),
            attempts=error.attempts,
            cut=error.cut,
            waiting_seconds=error.waiting_seconds,
            notes=error.notes,
        )
        return completion, {"kind": error.kind, "message": _error_message(turn, error)}
    except StoreError:
        raise
    except Exception as crash:  # noqa: BLE001 - a plugin may raise anything; it fails the turn
        billed = 0 if model.provider.free else guard.sent  # its cost is unknown
        message = f"{type(crash).__name__}: {crash}"
        lost = Completion(attempts=max(1, guard.sent), cut=billed)
        return lost, {"kind": "fault of the provider", "message": message}


def _storable(completion: Completion) -> Completion:
    """Return the completion in Unicode that UTF-8 can hold; a server may send half a character."""
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


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _error_message(turn: Turn, error: ProviderError) -> str:
    """Return an error's message; one of the prompt's length names the call."""
    message = str(error)
    if not isinstance(error, ContextOverflow) or message.startswith(turn.copy.name):
        return message
    return f"{turn.copy.name}, visit {turn.visit}, call {turn.step}: {message}"


def _is_cacheable(turn: Turn) -> bool:
    """Return whether other studies may use the reply: a model gives it, no error is injected."""
    injected = turn.bound_model.model.faults or turn.copy.role.faults
    return turn.bound_model.provider.kept and not injected


def parse_reply(turn: Turn, completion: Completion) -> Reading | None:
    """Return the parsed reply; None where it requests tools."""
    if completion.tool_calls:
        message = "there are no tools to call now; answer"
        return None if turn.tools_left else Reading(problem="no json", message=message)
    return read_reply(
        completion.text,
        turn.schema,
        stop=completion.stop,
        native=completion.native,
        usage=completion.usage,
    )


def _final_error(turn: Turn, reading: Reading | None) -> dict[str, JSON] | None:
    """Return the error that ends a turn: a refusal, or a last reply that cannot be read.

    A refusal is not retried: that the model refused is what the study wants to know.
    """
    if reading is None or reading.problem is None:
        return None
    if reading.problem == "refusal":
        return {"kind": "refusal", "message": reading.message}
    if turn.repairs < turn.copy.role.limits.repair_attempts:
        return None
    return {"kind": f"unreadable reply ({reading.problem})", "message": reading.message}


def _request_fields(request: Request) -> dict[str, JSON]:
    return {
        "messages": [message_body(message) for message in request.messages],
        "tools": [asdict(tool) for tool in request.tools],
        "schema": request.schema,
        "params": dict(request.params),
        "seed": request.seed,
    }


def _complete_request(turn: Turn, request: Request) -> dict[str, JSON]:
    provider = turn.bound_model.model.provider
    return {"provider": provider, "model": request.model, **_request_fields(request)}
