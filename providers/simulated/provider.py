"""The simulated model: deterministic replies that follow the rules of real models.

A reply depends on ``Request.identity`` alone. It fits the request's schema, calls tools with valid
arguments, judges at the rates of its profile, and is marked as simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from orglab.providers.base import (
    JSON,
    BadRequest,
    Completion,
    Provider,
    Request,
    StopReason,
    TokenUsage,
    ToolCall,
)
from orglab.providers.options import known_options
from orglab.providers.pricing.token_estimate import prompt_tokens, text_tokens
from orglab.providers.simulated.call_context import CallContext, call_context
from orglab.providers.simulated.claims import ClaimHints
from orglab.providers.simulated.evidence import ReportHints
from orglab.providers.simulated.profile import NormalSpread, Profile, make_profile
from orglab.providers.simulated.prose import Sentences
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.simulated.report_writer import first_draft
from orglab.providers.simulated.revision import earlier_draft, revised
from orglab.providers.simulated.schema_sampler import NOTHING, SchemaSampler
from orglab.providers.simulated.scoring import Scorer
from orglab.providers.simulated.tool_policy import choose_call, wants_tool
from orglab.providers.simulated.verdict_policy import VerdictHints
from orglab.providers.structured_output.strict_json import spaced

_SHORTEST = 3
_CHARACTERS = 4


class SimulatedProvider(Provider):
    """Replies sampled by the rules of a profile.

    Attributes:
        profile: How it behaves.
    """

    parameters: ClassVar[frozenset[str] | None] = frozenset(
        {"max_output_tokens", "seed", "temperature", "top_p"}
    )
    options: ClassVar[frozenset[str] | None] = frozenset({"profile"})
    free: ClassVar[bool] = True
    kept: ClassVar[bool] = False
    default_concurrency: ClassVar[int] = 256

    def __init__(self, profile: Profile | str = "careful") -> None:
        self.profile = make_profile(profile) if isinstance(profile, str) else profile

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> SimulatedProvider:
        """Return the model with the profile in ``options``, else the one that ``model`` names.

        Raises:
            ValueError: There is no such option, profile or setting.
        """
        given = known_options(options, {"profile"}, "a simulated model")
        if options.get("profile", "") is None:
            raise ValueError(
                'profile: null is nothing in YAML; write `profile: "null"` for the profile of that name, '
                "or leave profile out"
            )
        return cls(make_profile(given.get("profile", model or None)))

    async def complete(self, request: Request) -> Completion:
        """Return a reply sampled from the call's identity.

        Raises:
            BadRequest: No value that fits the schema was found, with the reason.
        """
        context = call_context(request, self.profile)
        if wants_tool(context):
            call = choose_call(context)
            if call is not None:
                return self._completion(request, "", (call,))
        made = self._written(context) if request.schema is None else self._structured(context)
        return self._completion(request, made)

    def _written(self, context: CallContext) -> str:
        """Return a first draft, or a revision of an earlier one."""
        stream, messages = context.stream, context.request.messages
        earlier = earlier_draft(messages)
        draft = earlier.draft if earlier else ""
        sentences = Sentences(stream, context.topics, self.profile.vocabulary, draft)
        if earlier is None:
            return first_draft(messages, stream, sentences, self.profile)
        return revised(earlier, stream, sentences, self.profile)

    def _structured(self, context: CallContext) -> str:
        stream = context.stream
        try:
            sampler = SchemaSampler(
                context.request.schema or {},
                stream,
                context.prose,
                hint=_Hints(context),
                optional=self.profile.optional,
                words=lambda: self._length(stream, self.profile.field_words),
            )
            return spaced(sampler.sample())
        except ValueError as error:
            raise BadRequest(f"no reply can be made for the schema: {error}") from None

    def _length(self, stream: RandomStream, spread: NormalSpread) -> int:
        return max(_SHORTEST, round(stream.normal(spread.mean, spread.sd)))

    def _completion(
        self, request: Request, text: str, calls: tuple[ToolCall, ...] = ()
    ) -> Completion:
        text, stop = _cut(text, request.params.get("max_output_tokens"))
        thought = self._reasoning(request)
        written = text_tokens(text) + sum(text_tokens(call.arguments) for call in calls) + thought
        read, seconds = prompt_tokens(request), self.profile.seconds
        spent = (
            seconds.latency + read * seconds.per_input_token + written * seconds.per_output_token
        )
        return Completion(
            text=text,
            tool_calls=calls,
            native=request.schema is not None and not calls,
            stop="tool_calls" if calls else stop,
            usage=TokenUsage(input=read, output=written, reasoning=thought),
            model=f"simulated:{self.profile.name}",
            service_seconds=round(spent, 3),
            simulated=True,
        )

    def _reasoning(self, request: Request) -> int:
        """Return tokens of reasoning, from a stream of their own so that texts do not depend on it."""
        habit = self.profile.reasoning
        if not habit.mean:
            return 0
        return max(
            0, round(RandomStream(f"reasoning {request.identity}").normal(habit.mean, habit.sd))
        )


def _cut(text: str, most: JSON) -> tuple[str, StopReason]:
    """Return ``text`` within a limit of tokens, and why it stops."""
    if not isinstance(most, int) or text_tokens(text) <= most:
        return text, "stop"
    return text[: most * _CHARACTERS], "length"


class _Hints:
    """A judge's scores; verdicts by the profile's rates; evidence by what was seen."""

    def __init__(self, context: CallContext) -> None:
        request, judging = context.request, context.profile.judging
        judges = request.labels.purpose == "judge"
        self._scores = Scorer(request.messages, context.stream, judging) if judges else None
        self._verdict = VerdictHints(context)
        self._claims = ClaimHints(request.messages)
        self._report = ReportHints(context)

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        score = self._scores(name, schema) if self._scores else None
        if score is not None:
            return score
        hinted = self._verdict(name, schema)
        if hinted is not NOTHING or self._verdict.verdict:
            return hinted
        hinted = self._claims(name, schema)
        return self._report(name, schema) if hinted is NOTHING else hinted
