"""Summaries of one measure in one arm, as text and as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean, median

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results.number_format import amount
from orglab.results.statistics.models.wilson import wilson


@dataclass(kw_only=True, slots=True)
class MeasureSummary:
    """What was measured under one name in one group.

    Attributes:
        scale: The measure's scale.
        main: It is shown also where only the main figures are.
        values: Numbers, or 0 and 1.
        labels: How often each label was given.
        missing: Runs in which the value is missing.
        units: The units that were measured: several runs of one unit have no interval, since
            they say less than as many units would.
    """

    scale: str = ""
    main: bool = True
    values: list[float] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    units: set[str] = field(default_factory=set)

    def add(self, value: float | None, label: str | None, unit: str) -> None:
        """Count a run or a score."""
        if label is not None or value is not None:
            self.units.add(unit)
        if label is not None:
            self.labels[label] += 1
        elif value is None:
            self.missing += 1
        else:
            self.values.append(value)

    @property
    def n(self) -> int:
        """Runs in which it was measured."""
        return len(self.values) + self.labels.total()

    def as_json(self) -> dict[str, JSON]:
        """Convert to plain data."""
        figures: dict[str, JSON] = {"scale": self.scale, "n": self.n, "missing": self.missing}
        if self.labels:
            return figures | {"labels": dict(self.labels.most_common())}
        if not self.values:
            return figures
        if self.scale == "binary":
            hits = round(sum(self.values))
            low, high = self._interval(hits) or (None, None)
            rate = {"hits": hits, "rate": hits / self.n, "low": low, "high": high}
            return figures | rate
        return figures | {"mean": fmean(self.values), "median": median(self.values)}

    def _interval(self, hits: int) -> tuple[float, float] | None:
        return wilson(hits, self.n) if self.n == len(self.units) else None

    def text(self, runs: int) -> str:
        """Render as plain text."""
        if not self.n:
            return f"{self.missing} missing" if self.missing else ""
        few = f"\nof {self.n}, {self.missing} missing" if self.n != runs or self.missing else ""
        return self._value_text() + few

    @property
    def is_zero(self) -> bool:
        """It was 0 wherever it was looked for."""
        counted = self.scale != "binary" and not self.labels and not self.missing
        return counted and bool(self.values) and not any(self.values)

    def _value_text(self) -> str:
        if self.labels:
            label, often = self.labels.most_common(1)[0]
            return f"{visible(label)}: {often} of {self.n}"
        if self.scale == "binary":
            hits = round(sum(self.values))
            rate = f"{100 * hits / self.n:.0f} % ({hits} of {self.n})"
            interval = self._interval(hits)
            if interval is None:
                return f"{rate}, {amount(len(self.units), 'unit')}"
            return f"{rate}, {100 * interval[0]:.0f} to {100 * interval[1]:.0f} %"
        return f"{short_number(fmean(self.values))}, median {short_number(median(self.values))}"


def short_number(value: float) -> str:
    """Format a number with at most three decimals, fewer for large numbers."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
