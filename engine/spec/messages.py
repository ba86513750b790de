"""Wording of spec errors: values received, known names, likely intended names."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from orglab.engine.spec.errors import Problem, SpecPath

_LONGEST = 60
_MOST_LISTED = 12
_SURE, _LIKELY = 0.85, 0.6


def quoted(text: str) -> str:
    """Return ``text`` in double quotes on one line, cut where it is long."""
    line = json.dumps(text, ensure_ascii=False)
    return line if len(line) <= _LONGEST else f'{line[: _LONGEST - 2]}…"'


def got(value: object) -> str:
    """Return what a value is, in words: ``the text "critic"``, ``the number 3``, ``a list``."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {_number(value)}"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    return "a list" if isinstance(value, list | tuple) else "a map"


def _number(value: float) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one most likely means, or None."""
    names = {known_name.casefold(): known_name for known_name in known}
    folded = name.casefold()
    for cutoff in (_SURE, _LIKELY):
        if close := get_close_matches(folded, names, n=1, cutoff=cutoff):
            return names[close[0]]
        if cutoff == _SURE and (part := next((k for k in names if _within(folded, k)), None)):
            return names[part]
    return None


def _within(name: str, known: str) -> bool:
    """Return ``max_cap`` and ``cap``: one is a whole word of the other."""
    return bool(known) and (
        known in name.split("_") or (len(name) > 2 and name in known.split("_"))
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean `cap`?``, or the known names where none is near."""
    names = list(known)
    close = nearest(name, names)
    return f"did you mean `{close}`?" if close else listed(names)


def listed(names: Iterable[str]) -> str:
    """Return ``there are: a, b, c`` (the first few), or ``there are none``."""
    every: list[Any] = list(names)
    if not every:
        return "there are none"
    more = f", … ({len(every)} in all)" if len(every) > _MOST_LISTED else ""
    return f"there are: {', '.join(every[:_MOST_LISTED])}{more}"


def choices(known: Iterable[str], limit: int = 8) -> str:
    """Return ``known`` in words, cut after ``limit`` names: "`a`, `b` or `c`"; "none" if empty."""
    names = [f"`{name}`" for name in known]
    if len(names) > limit:
        return ", ".join(names[:limit]) + f" or one of {len(names) - limit} more"
    return (
        ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else "".join(names) or "none"
    )


def meant(name: str, known: Iterable[str]) -> str:
    """Return the hint for a misspelt name: "did you mean `x`?", or "" where no name is near."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else ""


def unknown_role(path: SpecPath, name: str, roles: Iterable[str]) -> Problem:
    """Return the problem of a name that no role has."""
    return Problem(path=path, wrong=f"there is no role `{name}`", hint=did_you_mean(name, roles))


@dataclass(frozen=True, slots=True)
class ErrorIndex:
    """Places of errors that the loader found; what follows from them is no error of its own."""

    paths: Collection[SpecPath]

    def touches(self, *path: str | int) -> bool:
        """Return whether an error lies at ``path``, in it, or in what holds it."""
        return any(one[: len(path)] == path or path[: len(one)] == one for one in self.paths)
