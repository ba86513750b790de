"""The known name that a misspelt one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["choices", "meant", "nearest"]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name of ``known`` that is nearest to ``name``, or None where none is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def choices(known: Iterable[str], limit: int = 8) -> str:
    """``known`` in words, cut after ``limit`` names: "`a`, `b` or `c`"; "nothing" if empty."""
    names = [f"`{name}`" for name in known]
    if len(names) > limit:
        return ", ".join(names[:limit]) + f" or one of {len(names) - limit} more"
    return (
        ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else "".join(names) or "none"
    )


def meant(name: str, known: Iterable[str]) -> str:
    """The cure for a misspelt name: "did you mean `x`?", or "" where no name is near."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else ""
