"""Models that served calls: a hosted name may change while a study runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results.number_format import amount
from orglab.results.usage.spending import StudyRows

MOST_LISTED = 4
"""Versions of a model that are listed one by one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """One model that served.

    Attributes:
        served: Its id, as the provider names it.
        fingerprint: The provider's name for the serving configuration, "" where it gives none.
        calls: Calls that it answered, by arm.
    """

    served: str
    fingerprint: str
    calls: Mapping[str, int]

    @property
    def total(self) -> int:
        """Calls that it answered."""
        return sum(self.calls.values())

    @property
    def name(self) -> str:
        """Id and fingerprint."""
        return f"{self.served} ({self.fingerprint})" if self.fingerprint else self.served

    def as_json(self) -> dict[str, JSON]:
        """Convert to plain data."""
        return {
            "served": self.served,
            "fingerprint": self.fingerprint or None,
            "calls": dict(self.calls),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """One model that was asked for, and the several that served it.

    Attributes:
        provider: The provider.
        model: The name that was asked for.
        versions: Who served, the most frequent first.
    """

    provider: str
    model: str
    versions: tuple[Version, ...]

    def as_json(self) -> dict[str, JSON]:
        """Convert to plain data."""
        versions = [version.as_json() for version in self.versions]
        return {"provider": self.provider, "model": self.model, "versions": versions}


_SQL = """
SELECT c.provider, c.model, c.served, COALESCE(json_extract(c.reply, '$.fingerprint'), '') AS print,
  r.arm, COUNT(*) AS calls
FROM calls c JOIN runs r USING (run) WHERE c.error IS NULL AND c.served!='' AND c.model!=''
GROUP BY c.provider, c.model, c.served, print, r.arm ORDER BY c.provider, c.model, c.served, print
"""


def drifts(study: StudyRows) -> list[Drift]:
    """Find the models of a study that were served by several versions.

    One name at two servers counts as one: calls do not distinguish them. Calls that asked for no name
    are left out: nothing else says what they asked for.
    """
    found: dict[tuple[str, str], dict[tuple[str, str], dict[str, int]]] = {}
    for row in study.rows(_SQL):
        versions = found.setdefault((row["provider"], row["model"]), {})
        version = versions.setdefault((row["served"], str(row["print"])), {})
        version[row["arm"]] = row["calls"]
    return [
        Drift(provider=provider, model=model, versions=_ordered(versions))
        for (provider, model), versions in found.items()
        if len(versions) > 1
    ]


def _ordered(versions: Mapping[tuple[str, str], Mapping[str, int]]) -> tuple[Version, ...]:
    made = [
        Version(served=served, fingerprint=fingerprint, calls=calls)
        for (served, fingerprint), calls in versions.items()
    ]
    return tuple(sorted(made, key=lambda version: -version.total))


def drift_text(drift: Drift) -> str:
    """Describe a drift: ``gpt-4o was served by 2 models: gpt-4o-2024-08-06 (fp_1) in 118 calls, …``."""
    texts = [
        f"{version.name} in {amount(version.total, 'call')}"
        for version in drift.versions[:MOST_LISTED]
    ]
    if more := len(drift.versions) - MOST_LISTED:
        texts += [f"{more} more"] if more > 0 else []
    asked = drift.model or drift.provider
    number = len(drift.versions)
    return visible(f"{asked} was served by {number} versions of it: {', '.join(texts)}")
