"""One line of a script file: for which call it is, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from orglab.providers.base import (
    JSON,
    AuthenticationFailed,
    BadRequest,
    Completion,
    ContextOverflow,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Request,
    StopReason,
    TokenUsage,
    ToolCall,
    Unavailable,
)
from orglab.providers.options import known_options, suggestion
from orglab.providers.pricing.token_estimate import prompt_tokens, text_tokens
from orglab.providers.structured_output.strict_json import spaced

_ERRORS: dict[str, type[ProviderError]] = {
    error.kind: error
    for error in (
        AuthenticationFailed,
        BadRequest,
        ContextOverflow,
        ProviderError,
        QuotaExhausted,
        RateLimited,
        Unavailable,
    )
}
_ANSWERS = ("reply", "tool_calls", "error")
_KEYS = frozenset({"unit", "role", "visit", "reasoning", "stop", "usage", *_ANSWERS})


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptLine:
    """One line of a script.

    Attributes:
        place: Where it stands, for messages.
        unit: The unit it is for; None: any.
        role: A role (fits every copy of it), or a copy such as ``critic#2``.
        visit: The turn it is for; None: any.
        text: The reply's text.
        tool_calls: ``(name, arguments)`` of the tool calls that it asks for.
        reasoning: Reasoning that comes apart from the text.
        stop: Why the model stopped.
        usage: ``(input, output)`` tokens; None: counted roughly.
        error: The injected error, or None.
    """

    place: str
    unit: str | None
    role: str
    visit: int | None
    text: str = ""
    tool_calls: tuple[tuple[str, str], ...] = ()
    reasoning: str = ""
    stop: StopReason = "stop"
    usage: tuple[int, int] | None = None
    error: tuple[str, str] | None = None

    def fits(self, unit: str, role: str, copy: str) -> bool:
        """Return whether the line is for a copy of a role in a unit."""
        return self.unit in (None, unit) and self.role in (role, copy)

    def completion(self, request: Request) -> Completion:
        """Return the line as a reply to ``request``.

        Raises:
            ProviderError: The line injects an error.
        """
        if self.error is not None:
            raise _ERRORS[self.error[0]](self.error[1])
        calls = tuple(
            ToolCall(id=f"call_{request.labels.call}_{n}", name=name, arguments=arguments)
            for n, (name, arguments) in enumerate(self.tool_calls)
        )
        return Completion(
            text=self.text,
            tool_calls=calls,
            reasoning=self.reasoning,
            stop=self.stop,
            usage=self._tokens(request),
            model="scripted",
            simulated=True,
        )

    def _tokens(self, request: Request) -> TokenUsage:
        if self.usage is not None:
            return TokenUsage(input=self.usage[0], output=self.usage[1])
        written = text_tokens(self.text) + text_tokens(self.reasoning)
        written += sum(text_tokens(arguments) for _, arguments in self.tool_calls)
        return TokenUsage(
            input=prompt_tokens(request), output=written, reasoning=text_tokens(self.reasoning)
        )


def parse_line(value: JSON, place: str) -> ScriptLine:
    """Return a line from its plain data.

    Raises:
        ValueError: It is wrong; the text begins with ``place``.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"{place}: a line of a script is an object with `role` and `reply`")
    given = known_options(value, _KEYS, place)
    answers = [name for name in _ANSWERS if name in value]
    if len(answers) != 1:
        raise ValueError(f"{place}: exactly one of `reply`, `tool_calls`, `error` was expected")
    unit = given.get("unit")
    return ScriptLine(
        place=place,
        unit=None if unit is None else str(unit),
        role=_text_field(given, "role", place, required=True),
        visit=_whole(given, "visit", place),
        text=_reply_text(value["reply"]) if answers == ["reply"] else "",
        tool_calls=_calls(given.get("tool_calls", []), place),
        reasoning=_text_field(given, "reasoning", place),
        stop=_stop(given, place, "tool_calls" if answers == ["tool_calls"] else "stop"),
        usage=_usage(given.get("usage"), place),
        error=_error(given.get("error"), place),
    )


def _text_field(given: Mapping[str, JSON], name: str, place: str, *, required: bool = False) -> str:
    value = given.get(name, None if required else "")
    if not isinstance(value, str) or (required and not value):
        raise ValueError(f"{place}: `{name}` must be a string")
    return value


def _whole(given: Mapping[str, JSON], name: str, place: str) -> int | None:
    value = given.get(name)
    if value is not None and (type(value) is not int or value < 1):
        raise ValueError(f"{place}: `{name}` must be an integer of at least 1")
    return value


def _reply_text(value: JSON) -> str:
    return value if isinstance(value, str) else spaced(value)


def _stop(given: Mapping[str, JSON], place: str, default: StopReason) -> StopReason:
    value = given.get("stop", default)
    if value not in get_args(StopReason):
        raise ValueError(f"{place}: `stop` must be one of {', '.join(get_args(StopReason))}")
    return cast("StopReason", value)


def _calls(value: JSON, place: str) -> tuple[tuple[str, str], ...]:
    wrong = ValueError(f"{place}: `tool_calls` must be a list of {{name, arguments}}")
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise wrong
    calls = []
    for each in value:
        given = known_options(each, {"name", "arguments"}, f"{place}, tool_calls")
        if not isinstance(given.get("name"), str):
            raise wrong
        calls.append((given["name"], _reply_text(given.get("arguments", {}))))
    return tuple(calls)


def _usage(value: JSON, place: str) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError(f"{place}: `usage` must be {{input, output}}, in tokens")
    given = known_options(value, {"input", "output"}, f"{place}, usage")
    tokens = (given.get("input", 0), given.get("output", 0))
    if not all(type(each) is int and each >= 0 for each in tokens):
        raise ValueError(f"{place}: tokens must be integers of at least 0")
    return tokens


def _error(value: JSON, place: str) -> tuple[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError(f"{place}: `error` must be {{kind, message}}")
    given = known_options(value, {"kind", "message"}, f"{place}, error")
    kind = str(given.get("kind"))
    if kind not in _ERRORS:
        allowed = ", ".join(sorted(_ERRORS))
        raise ValueError(
            f"{place}: unknown error kind {kind!r}{suggestion(kind, _ERRORS)} Kinds: {allowed}"
        )
    return kind, str(given.get("message", "planted by the script"))
