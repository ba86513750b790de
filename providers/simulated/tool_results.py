"""Results of tools as a simulated model reads them."""

from __future__ import annotations

from functools import lru_cache

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import JSONError, loads

__all__ = ["read_result"]


@lru_cache(maxsize=4096)
def read_result(text: str) -> JSON:
    """The value of a result's text, None where it is no JSON; not to be changed.

    A conversation is sent again with every call, so each result is read once.
    """
    try:
        return loads(text)
    except JSONError:
        return None
