"""What a server's refusal means: from status, headers and body to the errors of ``base``.

The SDKs of hosted models have parallel exceptions, so these functions look at what the server sent
and not at classes. Quota differs from rate by the structured code of a 429 alone, since servers use
the same wording for both; elsewhere by wording too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from orglab.providers.base import (
    JSON,
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from orglab.providers.hosted.account import Account
from orglab.providers.hosted.retry_after import requested_wait

LONGEST_MESSAGE: Final = 400

_QUOTA_CODES: Final = frozenset(
    (
        "billing",
        "billing_error",
        "billing_hard_limit",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credit_balance_too_low",
        "insufficient_balance",
        "insufficient_credits",
        "insufficient_quota",
        "payment_required",
    )
)
_QUOTA_WORDS: Final = re.compile(
    r"credit balance is too low|insufficient (?:credits?|balance|funds|quota)|out of credits"
    r"|exceeded your current quota|billing hard limit|billing is not active|account is not active"
    r"|key limit exceeded|payment required",
    re.IGNORECASE,
)
_OVERFLOW_CODES: Final = frozenset(
    (
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "prompt_too_long",
        "request_too_large",
    )
)
_OVERFLOW_WORDS: Final = re.compile(
    r"(?:maximum|max|available|model'?s) context (?:length|size|window)"
    r"|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context|context (?:window|length) (?:exceeded|of \d)"
    r"|prompt is too long|prompt too long|input token count .{0,40}exceeds"
    r"|longer than the (?:model'?s )?(?:maximum )?context|too large for model with \d+"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)"
    r"|must be <= \d+\. given",
    re.IGNORECASE,
)
_NEVER_FITS: Final = re.compile(
    r"request too large\b.*\b(?:limit|per min)", re.IGNORECASE | re.DOTALL
)
_BUSY: Final = re.compile(r"overloaded|at capacity|server is busy|too busy", re.IGNORECASE)
_BY_KIND: Final[Mapping[str, int]] = {
    "api_error": 500,
    "authentication_error": 401,
    "billing_error": 402,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "server_error": 500,
    "timeout_error": 504,
}
_NOT_SENT: Final = frozenset(
    (
        "ConnectError",
        "ConnectTimeout",
        "InvalidURL",
        "LocalProtocolError",
        "PoolTimeout",
        "ProxyError",
        "UnsupportedProtocol",
    )
)
"""Exceptions of HTTP clients that come before the request has gone out."""

_GATEWAY_GAVE_UP: Final = frozenset((504, 524))  # what stands behind it may go on, and bill


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerMessage:
    """What a server said when it refused.

    Attributes:
        status: HTTP status; 0 where the message came inside a stream or a reply.
        message: Its message, as it stands.
        codes: Its ``code``, ``type`` and ``status``, in small letters.
        param: The parameter that it names, or None.
        body: The body, read as JSON where it is.
    """

    status: int
    message: str = ""
    codes: frozenset[str] = frozenset()
    param: str | None = None
    body: JSON = None


def parse_error_body(status: int, body: JSON) -> ServerMessage:
    """Read the many shapes of error bodies: an object, a list of one, a text, nothing."""
    outer = body[0] if isinstance(body, list) and body else body
    error = outer.get("error", outer) if isinstance(outer, dict) else outer
    levels = [each for each in (error, outer) if isinstance(each, dict)]
    codes = {
        str(level[name]).lower()
        for level in levels
        for name in ("code", "type", "status")
        if isinstance(level.get(name), str | int)
    }
    param = next((level["param"] for level in levels if isinstance(level.get("param"), str)), None)
    message = "; ".join(dict.fromkeys(_messages(error, outer)))
    return ServerMessage(
        status=status, message=message, codes=frozenset(codes), param=param, body=body
    )


def _messages(error: JSON, outer: JSON) -> Iterator[str]:
    if isinstance(error, str) and error.strip():
        yield error
    for level in (error, outer):
        if not isinstance(level, dict):
            continue
        for name in ("message", "detail"):
            if level.get(name):
                yield level[name] if isinstance(level[name], str) else json.dumps(level[name])
        metadata = level.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
            yield metadata["raw"]


def body_error(
    body: JSON, *, account: Account, headers: Mapping[str, str] | None = None, cut: bool = False
) -> ProviderError:
    """Return the error in a body that came with status 200, or inside a stream.

    The status is the error's own ``code`` where it is one, else given by its ``type``.
    """
    message = parse_error_body(0, body)
    numbers = [int(code) for code in message.codes if re.fullmatch(r"[45]\d\d", code)]
    kinds = [_BY_KIND[code] for code in message.codes if code in _BY_KIND]
    status = next(iter(sorted(numbers) + sorted(kinds)), 500)
    return _make_error(parse_error_body(status, body), headers or {}, account, cut=cut)


def sdk_message(error: Exception) -> ServerMessage | None:
    """Return what the server said, from an SDK's exception; None where no answer came."""
    response = getattr(error, "response", None)
    if response is None:
        return None
    return parse_error_body(int(response.status_code), _response_body(response))


def sdk_error(error: Exception, *, account: Account) -> ProviderError:
    """Return the error that an exception of an SDK, or of the HTTP client below it, means.

    A connection that failed before the request went out is not cut; any later one is, because the
    server may have worked on the request and billed it.
    """
    if (message := sdk_message(error)) is not None:
        headers = error.response.headers  # type: ignore[attr-defined]  # it has said something
        return _make_error(message, headers, account, cut=False)
    causes = list(_causes(error))
    names = [type(cause).__name__ for cause in causes]
    sent = not _NOT_SENT.intersection(names)
    what = "broke off before the reply was whole" if sent else "failed"
    why = account.hide(_one_line(str(causes[-1]))) or names[-1]
    text = f"the connection to {account.host} {what}: {why}"
    return Unavailable(text, cut=sent)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__


def _response_body(response: object) -> JSON:
    text = str(getattr(response, "text", ""))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _make_error(
    message: ServerMessage, headers: Mapping[str, str], account: Account, *, cut: bool
) -> ProviderError:
    error = _meaning(message, headers, account)
    error.cut = int(cut or message.status in _GATEWAY_GAVE_UP)
    return error


def _meaning(message: ServerMessage, headers: Mapping[str, str], account: Account) -> ProviderError:
    status, text = message.status, _error_text(message, account)
    if _is_quota(message):
        return QuotaExhausted(f"{text} (the account is empty or blocked: waiting does not help)")
    if status in (401, 403) and not _flagged(message):
        return AuthenticationFailed(_refused_key(message, account))
    if _is_overflow(message):
        needed, window = _numbers(message)
        return ContextOverflow(text, needed=needed, window=window)
    if status == 429 and _NEVER_FITS.search(message.message):
        return BadRequest(f"{text} (one request is more than the account's limit)")
    wait = requested_wait(headers, message.message, message.body)
    if status in (425, 429):
        return RateLimited(text, retry_after=wait)
    if status in (408, 409) or (status >= 500 and status != 501):
        busy = status in (503, 529) or bool(_BUSY.search(f"{message.message} {message.codes}"))
        return Unavailable(text, retry_after=wait, overloaded=busy)
    return BadRequest(text + _hint(status))


def _is_quota(message: ServerMessage) -> bool:
    if message.status == 402 or message.codes & _QUOTA_CODES:
        return True
    return message.status in (400, 403) and bool(_QUOTA_WORDS.search(message.message))


def _flagged(message: ServerMessage) -> bool:
    """Return whether a 403 is about what was asked and not about who asks."""
    return message.status == 403 and bool(
        re.search(r"flagged|moderation|content policy", message.message, re.IGNORECASE)
    )


def _is_overflow(message: ServerMessage) -> bool:
    if message.status == 429 or "rate_limit_exceeded" in message.codes:
        return False
    coded = message.status == 413 or bool(message.codes & _OVERFLOW_CODES)
    return coded or bool(_OVERFLOW_WORDS.search(message.message))


def _numbers(message: ServerMessage) -> tuple[int | None, int | None]:
    """Return tokens needed and the window's, from fields of the body or from its message."""
    found = _fields(message.body)
    if found != (None, None):
        return found
    text = re.sub(r"(?<=\d),(?=\d{3})", "", message.message)
    if total := re.search(r"(\d+) \+ (\d+) > (\d+)", text):
        return int(total[1]) + int(total[2]), int(total[3])
    window = next((int(match[1]) for each in _WINDOW if (match := each.search(text))), None)
    if window is None:
        return None, None
    larger = [int(number) for number in re.findall(r"\d+", text) if int(number) > window]
    return max(larger, default=None), window


_WINDOW: Final = (
    re.compile(r"> (\d+)", re.ASCII),
    re.compile(r"at most (\d+)", re.IGNORECASE),
    re.compile(r"(\d+) maximum context", re.IGNORECASE),
    re.compile(r"tokens allowed \((\d+)\)", re.IGNORECASE),
    re.compile(r"<= (\d+)", re.ASCII),
    re.compile(r"(?:context (?:length|size|window|limit)|window)\D{0,24}(\d+)", re.IGNORECASE),
)


def _fields(body: JSON) -> tuple[int | None, int | None]:
    """llama.cpp's server gives the numbers as fields."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None, None
    needed, window = (
        number if isinstance(number := error.get(name), int) else None
        for name in ("n_prompt_tokens", "n_ctx")
    )
    return needed, window


def _refused_key(message: ServerMessage, account: Account) -> str:
    """Return why the key does not serve; a 401's own message is left out, since it tends to quote the key."""
    which = f"the key in {account.variable}" if account.variable else "a request without a key"
    code = _error_code(message)
    said = f": {account.hide(_one_line(message.message))}" if message.status == 403 else ""
    known = f" {account.hide(code)}" if code else ""
    text = f"{account.host} does not take {which} ({message.status}{known}){said}"
    return text if account.variable else f"{text}; name the variable with `api_key_env`"


def _error_code(message: ServerMessage) -> str:
    """Return the code that says most: no number, and not what every error is called."""
    said = sorted(code for code in message.codes if not code.isdigit() and code != "error")
    return said[0] if said else ""


def _error_text(message: ServerMessage, account: Account) -> str:
    code = _error_code(message)
    head = f"{account.host} answered {message.status}"
    if code and code not in message.message.lower():
        head += f" ({code})"
    detail = _one_line(message.message)
    return account.hide(f"{head}: {detail}" if detail else head)


def _hint(status: int) -> str:
    if status == 404:
        return " (is the model's name right, and the base_url complete, with its /v1?)"
    return " (the server sends elsewhere: write that address)" if 300 <= status < 400 else ""


def _one_line(text: str) -> str:
    """Return a server's text on one line, without control characters, clipped."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * LONGEST_MESSAGE])
    line = " ".join(plain.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"
