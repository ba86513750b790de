"""What a server's refusal means: from status, headers and body to the errors of ``base``.

The SDKs of hosted models have parallel exceptions, so these functions look at what the server sent
and not at classes. Quota is told from rate by the structured code of a 429 alone, since servers use
the same words for both; elsewhere by words too.
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
from orglab.providers.hosted.retry_after import named_wait

__all__ = ["ServerWords", "body_fault", "sdk_fault", "server_fault", "words_of", "words_of_sdk"]

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
class ServerWords:
    """What a server said when it refused.

    Attributes:
        status: HTTP status; 0 where the words came inside a stream or a reply.
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


def words_of(status: int, body: JSON) -> ServerWords:
    """Reads the many shapes of error bodies: an object, a list of one, a text, nothing."""
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
    return ServerWords(
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


def server_fault(
    status: int, headers: Mapping[str, str], body: JSON, *, account: Account, cut: bool = False
) -> ProviderError:
    """The error that a server's answer means.

    Args:
        status: HTTP status.
        headers: The response's headers.
        body: The body: JSON read, or its text.
        account: Who asked; its key is kept out of the error's text.
        cut: The server had begun to reply: it may bill what was lost.
    """
    return _fault(words_of(status, body), headers, account, cut=cut)


def body_fault(
    body: JSON, *, account: Account, headers: Mapping[str, str] | None = None, cut: bool = False
) -> ProviderError:
    """The error in a body that came with status 200, or inside a stream.

    The status is the error's own ``code`` where it is one, else told by its ``type``.
    """
    words = words_of(0, body)
    numbers = [int(code) for code in words.codes if re.fullmatch(r"[45]\d\d", code)]
    kinds = [_BY_KIND[code] for code in words.codes if code in _BY_KIND]
    status = next(iter(sorted(numbers) + sorted(kinds)), 500)
    return _fault(words_of(status, body), headers or {}, account, cut=cut)


def words_of_sdk(error: Exception) -> ServerWords | None:
    """What the server said, from an SDK's exception; None where no answer came."""
    response = getattr(error, "response", None)
    if response is None:
        return None
    return words_of(int(response.status_code), _read(response))


def sdk_fault(error: Exception, *, account: Account) -> ProviderError:
    """The error that an exception of an SDK, or of the HTTP client below it, means.

    A connection that failed before the request went out is not cut; any later one is, because the
    server may have worked on the request and billed it.
    """
    response = getattr(error, "response", None)
    if response is not None:
        words = words_of(int(response.status_code), _read(response))
        return _fault(words, response.headers, account, cut=False)
    causes = list(_causes(error))
    names = [type(cause).__name__ for cause in causes]
    sent = not _NOT_SENT.intersection(names)
    what = "broke off before the reply was whole" if sent else "failed"
    why = account.hide(_line(str(causes[-1]))) or names[-1]
    text = f"the connection to {account.host} {what}: {why}"
    return Unavailable(text, cut=sent)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__


def _read(response: object) -> JSON:
    text = str(getattr(response, "text", ""))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fault(
    words: ServerWords, headers: Mapping[str, str], account: Account, *, cut: bool
) -> ProviderError:
    error = _meaning(words, headers, account)
    error.cut = int(cut or words.status in _GATEWAY_GAVE_UP)
    return error


def _meaning(words: ServerWords, headers: Mapping[str, str], account: Account) -> ProviderError:
    status, text = words.status, _text(words, account)
    if _is_quota(words):
        return QuotaExhausted(f"{text} (the account is empty or blocked: no waiting cures it)")
    if status in (401, 403) and not _flagged(words):
        return AuthenticationFailed(_refused_key(words, account))
    if _is_overflow(words):
        needed, window = _numbers(words)
        return ContextOverflow(text, needed=needed, window=window)
    if status == 429 and _NEVER_FITS.search(words.message):
        return BadRequest(f"{text} (one request is more than the account's limit)")
    wait = named_wait(headers, words.message, words.body)
    if status in (425, 429):
        return RateLimited(text, retry_after=wait)
    if status in (408, 409) or (status >= 500 and status != 501):
        busy = status in (503, 529) or bool(_BUSY.search(f"{words.message} {words.codes}"))
        return Unavailable(text, retry_after=wait, overloaded=busy)
    return BadRequest(text + _hint(status))


def _is_quota(words: ServerWords) -> bool:
    if words.status == 402 or words.codes & _QUOTA_CODES:
        return True
    return words.status in (400, 403) and bool(_QUOTA_WORDS.search(words.message))


def _flagged(words: ServerWords) -> bool:
    """Whether a 403 is about what was asked and not about who asks."""
    return words.status == 403 and bool(
        re.search(r"flagged|moderation|content policy", words.message, re.IGNORECASE)
    )


def _is_overflow(words: ServerWords) -> bool:
    if words.status == 429 or "rate_limit_exceeded" in words.codes:
        return False
    coded = words.status == 413 or bool(words.codes & _OVERFLOW_CODES)
    return coded or bool(_OVERFLOW_WORDS.search(words.message))


def _numbers(words: ServerWords) -> tuple[int | None, int | None]:
    """Tokens needed and the window's, from fields of the body or from words."""
    found = _fields(words.body)
    if found != (None, None):
        return found
    message = re.sub(r"(?<=\d),(?=\d{3})", "", words.message)
    if total := re.search(r"(\d+) \+ (\d+) > (\d+)", message):
        return int(total[1]) + int(total[2]), int(total[3])
    window = next((int(match[1]) for each in _WINDOW if (match := each.search(message))), None)
    if window is None:
        return None, None
    larger = [int(number) for number in re.findall(r"\d+", message) if int(number) > window]
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
    needed, window = error.get("n_prompt_tokens"), error.get("n_ctx")
    return (
        needed if isinstance(needed, int) else None,
        window if isinstance(window, int) else None,
    )


def _refused_key(words: ServerWords, account: Account) -> str:
    """Why the key does not serve; a 401's own words are left out, since they tend to quote the key."""
    which = f"the key in {account.variable}" if account.variable else "a request without a key"
    code = _code(words)
    said = f": {account.hide(_line(words.message))}" if words.status == 403 else ""
    known = f" {account.hide(code)}" if code else ""
    text = f"{account.host} does not take {which} ({words.status}{known}){said}"
    return text if account.variable else f"{text}; name the variable with `api_key_env`"


def _code(words: ServerWords) -> str:
    """The code that says most: no number, and not what every error is called."""
    said = sorted(code for code in words.codes if not code.isdigit() and code != "error")
    return said[0] if said else ""


def _text(words: ServerWords, account: Account) -> str:
    code = _code(words)
    head = f"{account.host} answered {words.status}"
    if code and code not in words.message.lower():
        head += f" ({code})"
    message = _line(words.message)
    return account.hide(f"{head}: {message}" if message else head)


def _hint(status: int) -> str:
    if status == 404:
        return " (is the model's name right, and the base_url whole, with its /v1?)"
    return " (the server sends elsewhere: write that address)" if 300 <= status < 400 else ""


def _line(text: str) -> str:
    """A server's text on one line, without control characters, clipped."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * LONGEST_MESSAGE])
    line = " ".join(plain.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"
