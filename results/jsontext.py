"""Strict JSON as the store writes it, and texts that any file can hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import NoReturn

from orglab.providers.base import JSON

__all__ = ["digest", "dumps", "loads", "plain_text"]


def _make_encode() -> Callable[[JSON], str]:
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    # `encode` makes a new C encoder for each value, half of the time for a small one; this one is
    # made once. It keeps no state without a dict of markers, so that a circle ends in recursion.
    try:
        once = make(
            *(None, encoder.default, json.encoder.encode_basestring, None, ":", ","),
            *(False, False, False),
        )
    except TypeError:  # a Python whose C encoder is made otherwise
        return encoder.encode
    return lambda value: "".join(once(value, 0))


_encode = _make_encode()
_encode_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def dumps(value: JSON) -> str:
    r"""Strict JSON without spaces, in the order of keys as given; always valid UTF-8.

    A text with lone surrogates (a model can write one as ``\ud800``) is escaped to ASCII, so that
    it can be stored and read back as it was.

    Raises:
        ValueError: NaN or infinity.
        RecursionError: A circle, or a value nested too deeply.
        TypeError: A value that JSON does not have.
    """
    text = _encode(value)
    if text.isascii() or _is_utf8(text):
        return text
    return _encode_ascii(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def loads(text: str) -> JSON:
    """Reads strict JSON.

    Raises:
        ValueError: It is none; NaN and Infinity are none either.
    """
    return _decode(text)


def digest(text: str) -> str:
    """The name of a stored text: BLAKE2b of its UTF-8, 16 bytes, as 32 hex digits."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def plain_text(text: str) -> str:
    r"""``text`` as any UTF-8 file can hold it: lone surrogates as ``\udXXX``."""
    if text.isascii() or _is_utf8(text):
        return text
    return text.encode("utf-8", "backslashreplace").decode()
