"""Names of outcomes that an analysis declares: does each stand for one evaluator's score?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.model import EvaluatorUse
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical

__all__ = ["outcome_problems"]


def outcome_problems(
    analysis: Mapping[str, JSON],
    composites: Mapping[str, Sequence[str]],
    uses: Sequence[EvaluatorUse],
) -> Iterator[Problem]:
    """Outcomes that one evaluator gives several times: nothing tells which score is meant.

    Args:
        analysis: The analysis as written.
        composites: Outcome -> the outcomes whose mean it is.
        uses: The evaluators.
    """
    for path, name in _named(analysis, composites):
        measure = re.split(r"[.@]", name, maxsplit=1)[0]
        given = [use for use in uses if use.use == measure]
        if name in composites or len(given) < 2:
            continue
        names = [f"{name} ({use.use} {canonical(dict(use.arguments))})" for use in given]
        yield Problem(
            path=path,
            wrong=f"`{measure}` stands {len(given)} times under `evaluators`, so `{name}` may be the "
            "score of any of them",
            hint=f"write `{names[0]}` or `{names[1]}`",
        )


def _named(
    analysis: Mapping[str, JSON], composites: Mapping[str, Sequence[str]]
) -> Iterator[tuple[SpecPath, str]]:
    """Yield the names of the primary outcomes, and of what composites are made of."""
    primary = analysis.get("primary") or []
    for at, name in enumerate([primary] if isinstance(primary, str) else primary):
        yield ("analysis", "primary", at), name
    for composite, parts in composites.items():
        for at, name in enumerate(parts):
            yield ("composites", composite, at), name
