"""Names in errors: what there is to choose from, and what a misspelt one was meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean, nearest

__all__ = ["ErrorIndex", "choices", "meant", "unknown_role"]


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
    """Return a name that is no role's."""
    return Problem(path=path, wrong=f"there is no role `{name}`", hint=did_you_mean(name, roles))


@dataclass(frozen=True, slots=True)
class ErrorIndex:
    """Places of errors that the loader found; what follows from them is no error of its own."""

    paths: Collection[SpecPath]

    def touches(self, *path: str | int) -> bool:
        """Return whether a error lies at ``path``, in it, or in what holds it."""
        return any(one[: len(path)] == path or path[: len(one)] == one for one in self.paths)
