"""What one call of a simulated model works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orglab.providers.base import Request
from orglab.providers.simulated.profile import Profile
from orglab.providers.simulated.prose import Prose, topic_words
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.simulated.tool_observations import ToolObservations, observe_tools

_FOREIGN = ("customer_age", "satisfaction", "region_code", "team_size", "discount", "churn_rate")


@dataclass(frozen=True, kw_only=True, slots=True)
class CallContext:
    """One call's request, with everything that its reply is sampled from.

    Attributes:
        request: The request.
        profile: How the model behaves.
        stream: The call's random numbers.
        topics: Words of the task.
        prose: Filler about the topics.
        observed: What tools have shown.
    """

    request: Request
    profile: Profile
    stream: RandomStream
    topics: Sequence[str]
    prose: Prose
    observed: ToolObservations

    def column(self, known: Sequence[str]) -> str:
        """Return one of ``known``, or at the profile's rate a name that is in no table."""
        if not known or self.stream.chance(self.profile.foreign_columns):
            return self.stream.pick(_FOREIGN)
        return self.stream.pick(known)


def call_context(request: Request, profile: Profile) -> CallContext:
    """Return the context of a call; its random numbers depend on the call's identity alone."""
    stream, topics = RandomStream(request.identity), topic_words(request.messages)
    return CallContext(
        request=request,
        profile=profile,
        stream=stream,
        topics=topics,
        prose=Prose(stream, topics),
        observed=observe_tools(request.messages),
    )
