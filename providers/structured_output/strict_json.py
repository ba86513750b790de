"""Strict JSON, in and out: no NaN, no infinity, no half characters, no key with two values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NoReturn

from orglab.providers.base import JSON

#: Characters that show nothing: white space of every kind, and marks of no width.
BLANK = " \t\r\n\v\f\u0085\u00a0\u2028\u2029\u3000\ufeff\u200b\u200c\u200d\u2060"

#: Objects and arrays within one another, at most: deeper ones would break whoever reads them next.
DEPTH = 100


class JSONError(ValueError):
    """Raised when a text is not strict JSON; the message says why, in words."""


class DuplicateKeyError(JSONError):
    """Raised when an object gives one key two different values.

    Attributes:
        key: The key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {clip(key)} has two different values in one object")
        self.key = key


def clip(value: JSON, width: int = 60) -> str:
    """Return ``value`` as JSON text of at most ``width`` characters, for messages."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode(errors="replace").decode()
    return text if len(text) <= width else text[: width - 1] + "…"


def same(one: JSON, other: JSON) -> bool:
    """Return whether two JSON values are equal; unlike Python's ``==``, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def object_from_pairs(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    """Return an object of ``pairs``; a key may stand twice only with the same value.

    Raises:
        DuplicateKeyError: A key has two different values.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        for key, value in pairs:
            if not same(value, made[key]):
                raise DuplicateKeyError(key)
    return made


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise JSONError(f"the number {text[:40]} is too large")
    return number


def _refuse(name: str) -> NoReturn:
    raise JSONError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=object_from_pairs, parse_float=_finite, parse_constant=_refuse
)


def loads(text: str) -> JSON:
    """Return the value of a strict JSON text.

    Raises:
        JSONError: It is not strict JSON.
    """
    try:
        value = _DECODER.decode(text)
    except JSONError:
        raise
    except (ValueError, RecursionError) as error:
        raise JSONError(_in_words(error)) from None
    _refuse_unusable(value, text)
    return value


def value_at(text: str, start: int) -> tuple[JSON, int]:
    """Return the strict JSON value that begins at ``start``, and where it ends.

    Raises:
        JSONError: No strict JSON value begins there.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except JSONError:
        raise
    except (ValueError, RecursionError) as error:
        raise JSONError(_in_words(error)) from None
    _refuse_unusable(value, text)
    return value, end


def _compact_encoder() -> Callable[[JSON, int], Iterable[str]]:
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: encoder.iterencode(value)
    # `encode` makes a new C encoder for each value, half of the time for a small one; this one is
    # made once. It keeps no state without a dict of markers: a cycle ends in RecursionError.
    try:
        made: Callable[[JSON, int], Iterable[str]] = make(
            *(None, encoder.default, json.encoder.encode_basestring, None, ":", ","),
            *(False, False, False),
        )
    except TypeError:  # a Python whose C encoder has another signature
        return lambda value, _: encoder.iterencode(value)
    return made


_encode_compact = _compact_encoder()
_encode_spaced = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_encode_sorted = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode
_decode_stored = json.JSONDecoder(parse_constant=_refuse).decode


def dumps(value: JSON) -> str:
    r"""Return ``value`` as strict JSON without spaces, keys in the order given; valid UTF-8.

    A text with lone surrogates (a model can write one as ``\ud800``) is escaped to ASCII, so that
    it can be stored and read back unchanged.

    Raises:
        ValueError: It holds NaN or an infinity.
        RecursionError: It holds a cycle, or is nested too deeply.
        TypeError: It holds something that JSON cannot.
    """
    text = "".join(_encode_compact(value, 0))
    return text if text.isascii() or _is_utf8(text) else _encode_ascii(value)


def spaced(value: JSON) -> str:
    """Return ``value`` as strict JSON with a space after each comma and colon; raises as ``dumps``."""
    return _encode_spaced(value)


def canonical(value: JSON) -> str:
    """Return ``value`` as canonical JSON: sorted keys, no spaces; raises as ``dumps``."""
    return _encode_sorted(value)


def loads_stored(text: str) -> JSON:
    """Return the value of a text that ``dumps`` wrote, lone surrogates included.

    Raises:
        ValueError: It is not JSON; NaN and Infinity are not either.
    """
    return _decode_stored(text)


def escape_surrogates(text: str) -> str:
    r"""Return ``text`` with lone surrogates written as ``\udXXX``, so that UTF-8 can hold it."""
    if text.isascii() or _is_utf8(text):
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _in_words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    return "a number has too many digits"


def _refuse_unusable(value: JSON, text: str) -> None:
    """Refuse what no file and no server can take; ``text`` shows which checks are needed."""
    if text.count("{") + text.count("[") > DEPTH:
        _refuse_depth(value)
    if (not text.isascii() or "\\u" in text) and not _is_utf8("".join(_encode_compact(value, 0))):
        raise JSONError("a text holds half a character (a lone surrogate)")


def _refuse_depth(value: JSON) -> None:
    level = [value]
    for _ in range(DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise JSONError("it is nested too deeply")


def _inside(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
