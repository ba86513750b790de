"""From the body of a Chat Completions reply to a completion; nothing in it is taken on trust."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from orglab.providers.base import (
    JSON,
    BadRequest,
    Completion,
    ProviderError,
    Request,
    StopReason,
    TokenUsage,
    ToolCall,
    Unavailable,
)
from orglab.providers.hosted.account import MOST_TOKENS, Account, as_map
from orglab.providers.hosted.errors import ServerMessage, body_error

_STOPS: Final[Mapping[str, StopReason]] = {
    "content_filter": "refusal",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "refusal": "refusal",
    "tool_calls": "tool_calls",
}
_COUNTS: Final = ("prompt_tokens", "completion_tokens")
_REFUSALS: Final = frozenset(("content_filter", "content_policy_violation", "invalid_prompt"))
"""Codes of a 400 by which a server declines what was asked."""


def read_json(text: str, account: Account) -> dict[str, JSON]:
    """Return the object that a reply with status 200 holds.

    Raises:
        BadRequest: It is a page: there is no such server at this address.
        Unavailable: It is incomplete JSON object.
    """
    text = account.hide(text) if account.key and account.key in text else text
    text = text.removeprefix("\ufeff")  # some gateways mark their UTF-8
    if text.lstrip()[:1] == "<":
        raise BadRequest(
            f"{account.host} answered with a page: is the base_url complete, with /v1?"
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        words = f"{account.host} sent a reply that is incomplete JSON ({len(text)} characters)"
        raise Unavailable(words, cut=True) from error
    if not isinstance(data, dict):
        raise Unavailable(f"{account.host} sent a reply that is not a JSON object", cut=True)
    return data


def completion_of(data: Mapping[str, JSON], request: Request, account: Account) -> Completion:
    """Read a reply.

    Args:
        data: The body.
        request: What was asked; its labels name calls that the server gave no id.
        account: Who asked.

    Raises:
        ProviderError: It holds an error, or no choice.
    """
    choice = _first(data.get("choices"))
    reported = data.get("error") or choice.get("error")
    if reported or not choice:
        raise _reported_error(data, reported, account)
    message = as_map(choice.get("message"))
    usage = usage_of(data.get("usage"))
    refusal = message.get("refusal")
    calls = tuple(_calls(message.get("tool_calls"), request))
    text, thought = _text_and_reasoning(message)
    completion = Completion(
        text=text,
        tool_calls=calls,
        reasoning=thought,
        stop=_stop(choice.get("finish_reason"), calls),
        usage=usage,
        model=_as_text(data.get("model")),
        fingerprint=_fingerprint(data),
        logprobs=_logprobs(choice.get("logprobs")),
        notes=tuple(_notes(choice, usage, text)),
    )
    if isinstance(refusal, str) and refusal.strip():
        return replace(completion, text=refusal, stop="refusal", tool_calls=())
    return completion


def refusal_of(words: ServerMessage, account: Account) -> Completion | None:
    """Return a refusal that came as an error: the server would not let the model see the request."""
    flagged = words.status == 403 and "flagged" in words.message.lower()
    if not flagged and not (words.status == 400 and words.codes & _REFUSALS):
        return None
    note = "the server refused before the model was asked, and counted no tokens"
    return Completion(text=account.hide(words.message[:2000]), stop="refusal", notes=(note,))


def usage_of(data: JSON) -> TokenUsage:
    """Return tokens by this form's rule: cached ones are part of the prompt's, reasoning of the reply's.

    Some servers leave reasoning out of ``completion_tokens`` and count it in ``total_tokens``
    alone; what the total has beyond both parts is reasoning.
    """
    counts = as_map(data)
    if any(counts.get(name) and not _as_count(counts[name]) for name in _COUNTS):
        return TokenUsage()  # half a count would pass for a price
    read, written = (
        _as_count(counts.get("prompt_tokens")),
        _as_count(counts.get("completion_tokens")),
    )
    beyond = max(_as_count(counts.get("total_tokens")) - read - written, 0)
    details = as_map(counts.get("completion_tokens_details"))
    cached = as_map(counts.get("prompt_tokens_details")).get("cached_tokens")
    if cached is None:
        cached = counts.get("prompt_cache_hit_tokens")
    output = written + beyond
    return TokenUsage(
        input=read,
        output=output,
        cached_input=min(_as_count(cached), read),
        reasoning=min(max(_as_count(details.get("reasoning_tokens")), beyond), output),
    )


def _reported_error(data: Mapping[str, JSON], reported: JSON, account: Account) -> ProviderError:
    counted = data.get("usage") is not None
    error: ProviderError
    if reported:
        error = body_error({"error": reported}, account=account, cut=not counted)
    else:
        error = Unavailable(f"{account.host} sent a reply without a choice", cut=not counted)
    error.usage = usage_of(data["usage"]) if counted else None
    return error


def _stop(reason: JSON, calls: tuple[ToolCall, ...]) -> StopReason:
    stop: StopReason = _STOPS.get(str(reason), "stop")
    return "tool_calls" if calls and stop == "stop" else stop


def _text_and_reasoning(message: Mapping[str, JSON]) -> tuple[str, str]:
    """Return the reply's text and the reasoning that came apart; the text may come in parts."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if not isinstance(content, list):
        return _as_text(content), _as_text(reasoning)
    parts = [as_map(part) for part in content]
    text = "".join(_as_text(part.get("text")) for part in parts if part.get("type") != "thinking")
    inner = [part.get("thinking") for part in parts if part.get("type") == "thinking"]
    return text, _as_text(reasoning) or "".join(_thought(each) for each in inner)


def _thought(part: JSON) -> str:
    if isinstance(part, list):
        return "".join(_as_text(as_map(each).get("text")) for each in part)
    return _as_text(part)


def _calls(given: JSON, request: Request) -> Iterator[ToolCall]:
    seen: set[str] = set()
    for number, call in enumerate(given if isinstance(given, list) else []):
        function = as_map(as_map(call).get("function"))
        name = _as_text(function.get("name"))
        if not name:
            continue
        known = _as_text(call.get("id"))
        made = f"call-{request.labels.visit}-{request.labels.call}-{number}"
        identity = known if known and known not in seen else made
        seen.add(identity)
        yield ToolCall(id=identity, name=name, arguments=_arguments(function.get("arguments")))


def _arguments(given: JSON) -> str:
    """Return the text as the model wrote it; some servers read it already; nothing at all means none."""
    if isinstance(given, str):
        return given if given.strip() else "{}"
    return "{}" if given is None else json.dumps(given, ensure_ascii=False)


def _fingerprint(data: Mapping[str, JSON]) -> str | None:
    """Return the serving configuration, and who served where a broker says it."""
    parts = [_as_text(data.get("system_fingerprint")), _as_text(data.get("provider"))]
    return " ".join(part for part in parts if part) or None


def _logprobs(given: JSON) -> list[dict[str, JSON]] | None:
    tokens = as_map(given).get("content")
    if not isinstance(tokens, list):
        return None
    return [entry for token in tokens if (entry := _logprob(as_map(token)))]


def _logprob(token: Mapping[str, JSON]) -> dict[str, JSON] | None:
    value = token.get("logprob")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    entry: dict[str, JSON] = {"token": _as_text(token.get("token")), "logprob": float(value)}
    best = token.get("top_logprobs")
    if isinstance(best, list) and best:
        entry["top"] = [each for one in best if (each := _logprob(as_map(one)))]
    return entry


def _notes(choice: Mapping[str, JSON], usage: TokenUsage, text: str) -> Iterator[str]:
    if not (usage.input or usage.output):
        yield "the server counted no tokens: what this call used is not known"
    reason = choice.get("finish_reason")
    if reason is None:
        yield "the server did not say why the model stopped"
    if usage.reasoning and not text.strip():
        yield f"{usage.reasoning} of {usage.output} tokens went to reasoning"


def _first(choices: JSON) -> Mapping[str, JSON]:
    return as_map(choices[0]) if isinstance(choices, list) and choices else {}


def _as_text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _as_count(value: JSON) -> int:
    """Return a count of tokens; what is none, or can be none, counts as nothing."""
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if whole and 0 <= value <= MOST_TOKENS else 0
