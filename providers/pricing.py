"""What a call costs."""

from __future__ import annotations

from typing import Protocol

from orglab.providers.base import TokenUsage

__all__ = ["Price", "cost"]

_MILLION = 1_000_000


class Price(Protocol):
    """US dollars per million tokens; None = unknown."""

    @property
    def input(self) -> float | None:
        """Of tokens read and not cached."""

    @property
    def output(self) -> float | None:
        """Of tokens written, reasoning included."""

    @property
    def cached_input(self) -> float | None:
        """Of tokens read from the provider's cache."""


def cost(usage: TokenUsage, price: Price | None) -> float | None:
    """US dollars of one call; None where a price that matters is unknown, never 0 in its place.

    Cached tokens are part of ``usage.input`` and are paid at their own price alone. Reasoning is
    part of ``usage.output`` and is not added again. A price of tokens that were not used does
    not matter.
    """
    if price is None:
        return None
    parts = (
        (usage.input - usage.cached_input, price.input),
        (usage.cached_input, price.cached_input),
        (usage.output, price.output),
    )
    total = 0.0
    for tokens, dollars in parts:
        if not tokens:
            continue
        if dollars is None:
            return None
        total += tokens * dollars
    return total / _MILLION
