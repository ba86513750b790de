"""How large a regular expression becomes when it is compiled.

``regex`` writes out what must repeat: ``((a{999}){999}){9}`` takes gigabytes before any search, and
so before any limit of time.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_PATTERN: Final = 2_000
"""Characters of a pattern."""

_LARGEST: Final = 1_000_000  # some 300 bytes each
_REPEATS: Final = re.compile(r"\{\s*(\d+)")


def refuse_large(pattern: str) -> None:
    """Refuse a pattern that would be too large.

    Raises:
        ValueError: It is too long, or repeats too much.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"the pattern is longer than {LONGEST_PATTERN} characters: split it")
    size = len(pattern)
    for number in _REPEATS.findall(pattern):
        size *= max(1, int(number[:9]))
        if size > _LARGEST:
            raise ValueError(
                f"the pattern {pattern!r} repeats too much: use smaller numbers in {{…}}"
            )
