"""Do the figures that an output gives as evidence follow from the table?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeGuard

import regex

from orglab.evaluators.base import (
    JSON,
    Context,
    EvaluationError,
    Output,
    OutputEvaluator,
    Scale,
    Score,
    ToolFunction,
)
from orglab.evaluators.structured.field_path import nearest
from orglab.evaluators.structured.number import near
from orglab.evaluators.structured.table import (
    foreign_columns,
    listed,
    structured,
    table_columns,
    with_least,
)

MEASURES = {
    "pearson": ("pearson", "correlation", "corr", "correlate", "r", "pearson correlation"),
    "spearman": ("spearman", "rank correlation", "rho", "spearman correlation"),
    "mean": ("mean", "average", "avg", "arithmetic mean"),
    "median": ("median",),
    "sum": ("sum", "total"),
    "count": ("count", "n", "number", "rows", "frequency"),
    "min": ("min", "minimum", "lowest", "smallest"),
    "max": ("max", "maximum", "highest", "largest"),
    "std": ("std", "standard deviation", "stddev", "sd", "stdev"),
    "share": ("share", "percentage", "percent", "proportion", "fraction", "ratio"),
    "distinct": ("distinct", "unique", "nunique", "count distinct", "distinct count"),
}
"""What each measure of the tool ``measure`` may be called in an output."""

_MEASURE = {alias: name for name, aliases in MEASURES.items() for alias in aliases}
_IN_HUNDREDTHS = {"percentage", "percent"}
_WHOLE = {"count", "distinct"}
_MOST = 200
_WRITTEN = regex.compile(r"\s*([-+\u2212]?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*")


class Item(NamedTuple):
    """One figure of the evidence, as it was found.

    Attributes:
        claimed: What the output says, or None where it says no number.
        found: What the table gives, or None where it gives none.
        holds: The two agree.
        why: What is wrong, in words; "" where it holds.
    """

    claimed: float | None
    found: float | None
    holds: bool
    why: str


class _Claim(NamedTuple):
    measure: str
    columns: list[str]
    where: str
    value: float
    digits: int
    percent: bool


@dataclass(frozen=True, kw_only=True)
class EvidenceHolds(OutputEvaluator):
    """The share of the figures that hold, each computed again; passes where all hold.

    Each item is ``{measure, columns, where, value}``. A figure holds if it differs from the true
    one by no more than ``tolerance``, or than half a unit of the last digit given (for a true
    figure below 1 at most 0.05, so that a correlation of 0.67 is not "1"). Counts are exact.

    Attributes:
        table: The table.
        field: The field with the items.
        tolerance: Largest difference as a share of the true figure.
        at_least: Items there must be; with fewer it does not pass. With 0 no items pass.
    """

    scale: ClassVar[Scale] = "ratio"

    table: Path
    field: str = "evidence"
    tolerance: float = 0.005
    at_least: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise ValueError("tolerance is a share of the true figure, from 0 to less than 1")
        if self.at_least < 0:
            raise ValueError("at_least must not be negative")

    async def look(self, output: Output, context: Context) -> Score:
        """Compute each figure again."""
        written = listed(structured(output, self.field), self.field)
        if len(written) > _MOST:
            raise EvaluationError(
                f"{len(written)} items of evidence are too many to compute: "
                f"bound {self.field!r} in the role's schema by maxItems, at most {_MOST}"
            )
        known = await table_columns(context, self.table)
        measure = context.tool("measure", {"file": str(self.table)})
        items = [await self._item(each, known, measure) for each in written]
        wrong = [f"{self.field}[{n}]: {item.why}" for n, item in enumerate(items) if item.why]
        if len(items) < self.at_least:
            wrong.append(f"{len(items)} items of evidence, at least {self.at_least} asked for")
        value = sum(item.holds for item in items) / len(items) if items else None
        detail = {"items": [item._asdict() for item in items]}
        return self.score(value, "; ".join(wrong[:10]), passed=not wrong, detail=detail)

    async def check(self, output: Output, context: Context) -> Score:
        """Check as any evaluator; too few items never pass, and no items pass where none are required."""
        score = await super().check(output, context)
        return with_least(score, len(score.detail["items"]), self.at_least)

    async def _item(self, item: JSON, known: list[str], measure: ToolFunction) -> Item:
        claim = _parse_item(item)
        if isinstance(claim, str):
            return Item(None, None, False, claim)
        for column in claim.columns:
            if column not in known:
                why = foreign_columns([column], known, self.table)
                return Item(claim.value, None, False, why)
        try:
            computed = await _computed(claim, measure)
        except EvaluationError as refusal:
            return Item(claim.value, None, False, f"cannot be computed: {refusal}")
        return self._compared(claim, computed)

    def _compared(self, claim: _Claim, computed: Mapping[str, JSON]) -> Item:
        found = computed.get("value")
        if not _is_number(found):
            why = computed.get("reason") or (
                f"it is {found!r}" if found is not None else "none computed"
            )
            return Item(claim.value, None, False, f"has no number to compare with: {why}")
        if any(self._agrees(value, digits, claim, found) for value, digits in _readings(claim)):
            return Item(claim.value, found, True, "")
        name = f"{claim.measure} of {', '.join(claim.columns) or 'the rows'}"
        return Item(claim.value, found, False, f"{name} is {found:.6g}, not {claim.value:.6g}")

    def _agrees(self, value: float, digits: int, claim: _Claim, found: float) -> bool:
        if claim.measure in _WHOLE:
            return near(value, found, tolerance=0.5)
        rounding = 0.5 * 10.0**-digits
        if abs(found) < 1:
            rounding = min(rounding, 0.05)
        return near(value, found, tolerance=rounding, relative=self.tolerance)


async def _computed(claim: _Claim, measure: ToolFunction) -> Mapping[str, JSON]:
    """Return the true figure, ``{value, reason?}``; a share is a part of all rows, from 0 to 1."""
    if claim.measure == "share" and not claim.where:
        return {"value": None, "reason": "a share needs a condition in `where`"}
    arguments: dict[str, JSON] = {"measure": claim.measure, "columns": claim.columns}
    result = await measure(**arguments, **({"where": claim.where} if claim.where else {}))
    return result if isinstance(result, Mapping) else {}


def _is_number(value: JSON) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _readings(claim: _Claim) -> list[tuple[float, int]]:
    """Return the claimed value with its digits; where it may be a percentage, also as a share of 1."""
    plain = (claim.value, claim.digits)
    return [plain, (claim.value / 100, claim.digits + 2)] if claim.percent else [plain]


def _parse_item(item: JSON) -> _Claim | str:
    """Return the claim of one item, or what is wrong with it."""
    if not isinstance(item, Mapping):
        return "is no item with measure, columns and value"
    written = str(item.get("measure", "")).strip().casefold()
    name = " ".join(written.replace("_", " ").replace("-", " ").split())
    if name not in _MEASURE:
        close = nearest(name, list(_MEASURE))
        hint = f"did you mean {close!r}?" if close else f"known are: {', '.join(MEASURES)}"
        return f"the measure {item.get('measure')!r} is not known; {hint}"
    columns = item.get("columns", [])
    columns = [columns] if isinstance(columns, str) else columns
    if not isinstance(columns, list | tuple) or not all(isinstance(each, str) for each in columns):
        return "columns must be a list of names"
    where = item.get("where") or ""
    if not isinstance(where, str):
        return f"the condition in `where` must be text, not {type(where).__name__}"
    number = _parse_figure(item.get("value"))
    if number is None:
        return f"the value {item.get('value')!r} is no number"
    value, digits, percent = number
    return _Claim(
        measure=_MEASURE[name],
        columns=list(columns),
        where=where.strip(),
        value=value,
        digits=digits,
        percent=_MEASURE[name] == "share" and (percent or name in _IN_HUNDREDTHS or value > 1),
    )


def _parse_figure(value: JSON) -> tuple[float, int, bool] | None:
    """Return a number as written: its value, its decimals, and whether it has a percent sign."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _WRITTEN.fullmatch(str(value))
    if match is None:
        return None
    plain = Decimal(match[1].replace(",", "").replace("\u2212", "-"))
    exponent = plain.as_tuple().exponent
    if not math.isfinite(float(plain)) or not isinstance(exponent, int):
        return None
    return float(plain), max(0, -exponent), bool(match[2])
