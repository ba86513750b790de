"""What models cost, and how that is known: for who is reported before anything is paid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from orglab.engine.graph.checks.cost_limit import bills, price_of
from orglab.engine.spec.model import Model
from orglab.providers.base import JSON, TokenUsage
from orglab.providers.pricing.genai_prices import DatedPrice
from orglab.providers.pricing.pricing import TokenPrice, cost


@dataclass(frozen=True, kw_only=True, slots=True)
class Priced:
    """A model's price.

    Attributes:
        how: Written in the spec; published, and dated; free, since nobody bills; or unknown.
        price: The price, where there is one.
    """

    how: Literal["written", "published", "free", "unknown"]
    price: TokenPrice | None = None

    def cost(self, usage: TokenUsage, longest: int = 0) -> float | None:
        """Return US dollars of tokens; None where they are unknown.

        Args:
            usage: The tokens, of one call or of several.
            longest: Tokens of the longest prompt among several calls, by which a price that depends
                on it is taken; 0: ``usage`` is one call's.
        """
        if self.how == "free":
            return 0.0
        price = self.price
        if longest and isinstance(price, DatedPrice):
            price = price.at(longest)
        return cost(usage, price)

    def summary(self) -> str:
        """``$0.15 in, $0.6 out a million tokens (published, …)``."""
        if self.price is None:
            return "free" if self.how == "free" else "price unknown"
        parts = {"in": self.price.input, "cached": self.price.cached_input}
        parts["out"] = self.price.output
        known = [f"${value:g} {name}" for name, value in parts.items() if value is not None]
        lacks = [f"{name} unknown" for name in ("in", "out") if parts[name] is None]
        return f"{', '.join(known + lacks)} ({self._source()})"

    def _source(self) -> str:
        if not isinstance(self.price, DatedPrice):
            return "written"
        dated = f", {self.price.dated.isoformat()}" if self.price.dated else ""
        steps = ", most expensive of those by length of prompt" if self.price.steps else ""
        return f"{self.price.source}{dated}{steps}"

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        body: dict[str, JSON] = {"how": self.how}
        if self.price is not None:
            names = ("input", "output", "cached_input", "cache_write")
            body |= {name: getattr(self.price, name, None) for name in names}
        if isinstance(self.price, DatedPrice):
            dated = self.price.dated
            body |= {"source": self.price.source, "dated": dated.isoformat() if dated else None}
        return body


def priced(model: Model) -> Priced:
    """Return a model's price, as far as it is known."""
    if not bills(model):
        return Priced(how="free")
    price = price_of(model)
    if price is None:
        return Priced(how="unknown")
    return Priced(how="written" if model.price is not None else "published", price=price)


def most_expensive(models: Iterable[Model], usage: TokenUsage, longest: int = 0) -> float | None:
    """Return the most that tokens can cost where any of several models may be asked."""
    costs = known([priced(model).cost(usage, longest) for model in models])
    return None if costs is None else max(costs, default=0.0)


def known(values: Iterable[float | None]) -> list[float] | None:
    """Return the values; None where one is unknown."""
    every = list(values)
    found = [value for value in every if value is not None]
    return found if len(found) == len(every) else None


def known_sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values; None where one is unknown."""
    found = known(values)
    return None if found is None else sum(found)
