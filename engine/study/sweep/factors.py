"""Factors of a sweep and their levels: what each is called, and what ranges are made of."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orglab.engine.run.calls.call_key import digest
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical

_LABEL = 40
"""Longer texts are cut in names, with a digest of the whole."""
_UNFIT = re.compile(r"[^\w.+,;!@#%&()\[\]{}~-]+")
"""What is written as ``_`` in names: a name is a file's name on any system."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """One value of a factor.

    Attributes:
        label: What variants are named by.
        value: The value; None removes what stands at the path.
        at: Where it was written, below ``vary``.
    """

    label: str
    value: JSON
    at: SpecPath


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``; whole ones where both are whole, both ends included."""

    low: float
    high: float
    log: bool

    @property
    def whole(self) -> bool:
        """Whole numbers alone are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def size(self) -> int | None:
        """How many numbers it holds; None for those that are not counted."""
        return int(self.high) - int(self.low) + 1 if self.whole else None

    def at(self, share: float) -> int | float:
        """Return the number below which ``share`` (0 to 1) of the range lies.

        Others than whole numbers are rounded to a ten-thousandth of the range, or to four digits
        on the scale of logarithms, so that they can stand in a name.
        """
        top = self.high + 1 if self.whole else self.high
        if self.log:
            value = float(self.low * math.exp(share * math.log(top / self.low)))
        else:
            value = self.low + (top - self.low) * share
        if self.whole:
            return min(int(self.high), max(int(self.low), math.floor(value)))
        size = value if self.log else self.high - self.low
        rounded = float(round(value, 3 - math.floor(math.log10(size))))
        return min(float(self.high), max(float(self.low), rounded))


@dataclass(frozen=True, kw_only=True, slots=True)
class Factor:
    """What varies.

    Attributes:
        path: The path as written.
        name: Its short name: the end of the path that no other factor has.
        levels: Its levels in written order; () for a range.
        span: The range, or None.
    """

    path: str
    name: str
    levels: tuple[Level, ...] = ()
    span: Range | None = None

    def level(self, share: float) -> Level:
        """Return the level at ``share`` (0 to below 1) of the factor."""
        if self.span is None:
            return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]
        value = self.span.at(share)
        return Level(label=number_text(value), value=value, at=(self.path,))


def factors_of(vary: Mapping[str, JSON]) -> list[Factor]:
    """Return the factors of ``vary``, in written order; what ``level_problems`` blames is left out."""
    names = _names(list(vary))
    return [
        Factor(path=path, name=names[path], span=_range(written))
        if isinstance(written, dict)
        else Factor(path=path, name=names[path], levels=_levels(path, written))
        for path, written in vary.items()
        if not any(True for _ in _problems(path, written))
    ]


# --- names ---------------------------------------------------------------------------------------


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Return the shortest ends of the paths that tell them apart: ``cap``, or ``oversight.cap``."""
    parts = {path: [_fit(part) for part in path.split(".")] for path in paths}
    names = dict.fromkeys(paths, "")
    for length in range(1, max(map(len, parts.values()), default=0) + 1):
        for path in paths:
            if not names[path]:
                end = parts[path][-length:]
                alike = [other for other in paths if parts[other][-length:] == end]
                names[path] = ".".join(end) if alike == [path] else ""
    return {path: name or f"{parts[path][-1]}~{_mark(path)}" for path, name in names.items()}


def _fit(text: str) -> str:
    """``*`` and what no file's name may hold, as ``all`` and ``_``."""
    return _UNFIT.sub("_", text.replace("*", "all")).strip("_") or "_"


def _levels(path: str, written: Sequence[JSON]) -> tuple[Level, ...]:
    values = [item["value"] if _labelled(item) else item for item in written]
    labels = [_fit(str(item["label"])) if _labelled(item) else _label(item) for item in written]
    often = Counter(label.casefold() for label in labels)
    return tuple(
        Level(
            label=label if often[label.casefold()] == 1 else f"{label}~{_mark(value)}",
            value=value,
            at=(path, index, "value") if _labelled(item) else (path, index),
        )
        for index, (label, value, item) in enumerate(zip(labels, values, written, strict=True))
    )


def _labelled(item: JSON) -> bool:
    return isinstance(item, dict) and set(item) == {"label", "value"}


def _label(value: JSON) -> str:
    """Return a value as part of a name: as it stands where it is short, else the digest of it."""
    if isinstance(value, dict):
        only = next(iter(value.values())) if len(value) == 1 else value
        if isinstance(only, dict | list):
            return f"map~{_mark(value)}"
        text = str(only) if set(value) != {"file"} else str(only).rpartition("/")[2]
        return _cut(text.rpartition(".")[0] or text if set(value) == {"file"} else text, value)
    if isinstance(value, list):
        if not value or any(isinstance(part, dict | list) for part in value):
            return f"list~{_mark(value)}" if value else "[]"
        return _cut("+".join(_scalar(part) for part in value), value)
    return _cut(_scalar(value), value)


def _scalar(value: JSON) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return number_text(value) if isinstance(value, int | float) else str(value)


def number_text(value: float) -> str:
    """``2``, ``0.35``, ``1e-05``: a number as it stands in names."""
    return str(value) if isinstance(value, int) else f"{value:.12g}"


def _cut(text: str, value: JSON) -> str:
    fit = _fit(text)
    return fit if len(fit) <= _LABEL else f"{fit[: _LABEL - 7]}~{_mark(value)}"


def _mark(value: JSON) -> str:
    return digest(canonical(value))[:6]


# --- ranges, issues ------------------------------------------------------------------------------


def _range(written: Mapping[str, JSON]) -> Range:
    low, high = written["range"]
    return Range(low=low, high=high, log=written.get("log", False))


def level_problems(vary: Mapping[str, JSON], *, draws: bool) -> Iterator[Problem]:
    """Ranges that are none, values and labels that stand twice.

    Args:
        vary: What varies, of the schema's shape.
        draws: The design draws from ranges; the others need values.
    """
    for path, written in vary.items():
        yield from _problems(path, written)
        if isinstance(written, dict) and not draws:
            wrong = "a grid and a zip need a list of values"
            hint = "write the values, or `design: {latin: {n: 20}}`"
            yield Problem(path=("vary", path), wrong=wrong, hint=hint)


def _problems(path: str, written: JSON) -> Iterator[Problem]:
    if isinstance(written, dict):
        yield from _range_problems(path, written)
        return
    values = [canonical(item["value"] if _labelled(item) else item) for item in written]
    labels = [_fit(str(item["label"])).casefold() if _labelled(item) else None for item in written]
    for index, (value, label) in enumerate(zip(values, labels, strict=True)):
        if value in values[:index]:
            yield _twice(path, index, "this value")
        elif label is not None and label in labels[:index]:
            yield _twice(path, index, "this label")


def _twice(path: str, index: int, what: str) -> Problem:
    wrong = f"{what} is listed twice"
    return Problem(path=("vary", path, index), wrong=wrong, hint="keep one")


def _range_problems(path: str, written: Mapping[str, JSON]) -> Iterator[Problem]:
    at, bounds = ("vary", path, "range"), written["range"]
    if len(bounds) != 2:
        wrong = f"expected two numbers, the least and the largest; got {len(bounds)}"
        yield Problem(path=at, wrong=wrong)
        return
    low, high = bounds
    if not low < high:
        wrong = f"{number_text(low)} is not below {number_text(high)}"
        yield Problem(path=at, wrong=wrong, hint="write the least first")
    elif written.get("log") and low <= 0:
        wrong = f"{number_text(low)} has no logarithm"
        yield Problem(path=at, wrong=wrong, hint="begin above 0, or leave `log` out")
