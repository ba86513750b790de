"""A panel of judges as a document: the rubric with its anchored levels, and who judges.

``docs/reference/evaluators.md`` (judge_panel) describes the format.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from orglab.evaluators.base import JSON, Context, EvaluationError

ANALYSIS = "analysis"
"""The field in which a judge writes before it scores: no criterion can be called so."""
MOST_REPEATS = 100
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class RubricCriterion:
    """One thing that is scored.

    Attributes:
        name: Its name, which is that of its score.
        asks: The question it asks, or "".
        levels: What each anchored level means, from the lowest.
    """

    name: str
    asks: str
    levels: Mapping[int, str]

    @property
    def low(self) -> int:
        """The lowest level."""
        return min(self.levels)

    @property
    def high(self) -> int:
        """The highest level."""
        return max(self.levels)


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """A panel's document, checked.

    Attributes:
        folder: Where it lies, and the files that judges' models name.
        instructions: The system text of every judge.
        criteria: By name, in written order.
        judges: Name -> the entry of its model.
        repeats: Verdicts of each judge on one report.
        shuffle: Each judge reads the criteria in an order of its own.
    """

    folder: Path
    instructions: str
    criteria: Mapping[str, RubricCriterion]
    judges: Mapping[str, Mapping[str, JSON]]
    repeats: int
    shuffle: bool


def read_panel(path: Path, context: Context) -> Panel:
    """Read a panel's document.

    Raises:
        EvaluationError: It is wrong.
    """
    document = _as_map(context.document(path), path.name)
    _check_keys(document, ("rubric", "judges", "repeats", "shuffle"), path.name)
    rubric = _inlined(document.get("rubric"), "rubric", path, context)
    judges = _without_remarks(_inlined(document.get("judges"), "judges", path, context))
    _check_keys(rubric, ("instructions", "criteria"), "rubric")
    criteria = _without_remarks(_as_map(rubric.get("criteria"), "rubric.criteria"))
    if not judges or not criteria:
        raise EvaluationError(f"{path.name}: expected at least one judge and one criterion")
    return Panel(
        folder=path.parent,
        instructions=_typed_value(rubric, "instructions", "rubric", str, ""),
        criteria={name: _criterion(name, part) for name, part in criteria.items()},
        judges={name: _as_map(entry, f"judges.{name}") for name, entry in judges.items()},
        repeats=_repeats(document, path.name),
        shuffle=_typed_value(document, "shuffle", path.name, bool, False),
    )


def _repeats(document: Mapping[str, JSON], name: str) -> int:
    repeats = _typed_value(document, "repeats", name, int, 1)
    if isinstance(repeats, bool) or not 1 <= repeats <= MOST_REPEATS:
        wanted = f"a whole number from 1 to {MOST_REPEATS}"
        raise EvaluationError(f"{name}: repeats is {wanted}, got {repeats!r}")
    return repeats


# --- the rubric ----------------------------------------------------------------------------------


def _criterion(name: str, part: JSON) -> RubricCriterion:
    where = f"rubric.criteria.{name}"
    if name == ANALYSIS or name.startswith("judge_panel"):
        raise EvaluationError(f"{where}: a criterion cannot be called {name!r}")
    criterion = _as_map(part, where)
    _check_keys(criterion, ("asks", "levels"), where)
    written = _without_remarks(_as_map(criterion.get("levels"), f"{where}.levels"))
    levels = {_level(level, where): text for level, text in written.items()}
    if len(levels) < 2:
        raise EvaluationError(f"{where}.levels: expected at least two levels")
    for level, text in levels.items():
        if not isinstance(text, str):
            raise EvaluationError(f"{where}.levels.{level}: expected a text: what it means")
    asks = _typed_value(criterion, "asks", where, str, "")
    return RubricCriterion(name=name, asks=asks, levels=dict(sorted(levels.items())))


def _level(level: str, where: str) -> int:
    if not (level.isascii() and level.isdecimal()):
        raise EvaluationError(f"{where}.levels: {level!r} is no whole number")
    return int(level)


# --- parts of a document -------------------------------------------------------------------------


def _inlined(value: JSON, name: str, path: Path, context: Context) -> Mapping[str, JSON]:
    """Return a part as it is written, or what ``{file: …}`` holds; the file stays in the panel's folder."""
    found = _as_map(value, name)
    file = found.get("file")
    if list(found) != ["file"] or not isinstance(file, str):
        return found
    inner = path.parent / file.replace("\0", "")
    if not inner.resolve().is_relative_to(path.parent.resolve()):
        raise EvaluationError(f"{name}: {file} lies outside the panel's folder")
    return _as_map(context.document(inner.resolve()), file)


def _as_map(value: JSON, name: str) -> Mapping[str, JSON]:
    if not isinstance(value, Mapping):
        raise EvaluationError(f"{name}: expected a map")
    return value


def _without_remarks(part: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return ``part`` without remarks."""
    return {key: value for key, value in part.items() if not key.startswith("x-")}


def _typed_value(part: Mapping[str, JSON], key: str, name: str, kind: type[T], default: T) -> T:
    value = part.get(key, default)
    if not isinstance(value, kind):
        words = {str: "a text", bool: "true or false", int: "a whole number"}[kind]
        raise EvaluationError(f"{name}: {key} is {words}, got {value!r}")
    return value


def _check_keys(document: Mapping[str, JSON], known: Collection[str], name: str) -> None:
    for key in _without_remarks(document):
        if key not in known:
            raise EvaluationError(f"{name}: unknown key {key!r}; there are: {', '.join(known)}")
