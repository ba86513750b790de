"""Default prices of hosted models: what a spec that writes none is reckoned with, dated.

They come with the package ``genai-prices`` and are never fetched; ``docs/how-to/plan.md`` and
``docs/decisions/0006-default-prices.md`` tell what is taken and what stays unknown. The package is
imported when a price is first looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from orglab.providers.base import JSON

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice
    from genai_prices.types import Provider as Vendor

_HOMES: Final[Mapping[str, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
}
"""Where a provider asks when a spec gives no ``base_url``."""

_STANDARD: Final = frozenset({None, "auto", "default", "standard_only"})
"""Values of ``service_tier`` that are paid at the listed price."""

_KEYS: Final[Mapping[str, str]] = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class DatedPrice:
    """US dollars per million tokens; None = unknown.

    Where a price depends on the length of the prompt, the fields hold the highest one.

    Attributes:
        input: Of tokens read and not cached.
        output: Of tokens written, reasoning included.
        cached_input: Of tokens read from the provider's cache.
        cache_write: Of tokens written to it.
        source: Where the price is from: the package and its version.
        dated: The newest change that the package's data know of; they are at least that new.
        steps: Lengths of prompt, in tokens, above which another price holds, with that price; the
            first is 0.
    """

    input: float | None
    output: float | None
    cached_input: float | None = None
    cache_write: float | None = None
    source: str = ""
    dated: date | None = None
    steps: tuple[tuple[int, DatedPrice], ...] = ()

    def at(self, tokens: int) -> DatedPrice:
        """Return the price of a call whose prompt has ``tokens`` tokens, or as many at most.

        Prices that depend on the prompt's length rise with it; should one fall, the higher one
        before it holds on.
        """
        begun = [price for start, price in self.steps if start == 0 or tokens > start]
        return _most_expensive(begun) if begun else self


def default_price(
    provider: str,
    model: str,
    base_url: str | None = None,
    *,
    params: Mapping[str, JSON] | None = None,
    on: date | None = None,
) -> DatedPrice | None:
    """Return the published price of a model, or None where it is unknown.

    Args:
        provider: The provider's registered name.
        model: The exact model name.
        base_url: The server's address where the spec gives one. A price is known of vendors' own
            addresses alone: whoever else serves a model of that name has prices of their own.
        params: The model's parameters: a ``service_tier`` other than the standard one has a price
            of its own, which is unknown here.
        on: The day (UTC) on which it is to hold; default: today.
    """
    tier = (params or {}).get("service_tier")
    address = _address(base_url or _HOMES.get(provider, ""))
    if not model or not address or not (isinstance(tier, str | None) and tier in _STANDARD):
        return None
    vendor = next((each for each in _vendors() if _serves(each, address)), None)
    listed = vendor.find_model(model) if vendor is not None else None
    return _dated(listed, on or datetime.now(UTC).date()) if listed is not None else None


def _address(url: str) -> str:
    """Scheme, host and path of an address of a server with TLS; "" for any other."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme != "https" or not host or port not in (None, 443):
        return ""
    return f"https://{host}{parts.path}"


def _serves(vendor: Vendor, address: str) -> bool:
    """Return whether the address is the vendor's, and does not merely begin like it."""
    found = re.match(vendor.api_pattern, address)
    rest = address[found.end() :] if found else "no"
    return rest[:1] in ("", "/") or (found is not None and found.group().endswith("/"))


@cache
def _vendors() -> list[Vendor]:
    # Imported here: it takes a fifth of a second, which most commands need not wait for.
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot().providers


@cache
def _source() -> tuple[str, date | None]:
    """Return the package with its version, and the newest change at the gateway it follows daily."""
    gateways = [vendor for vendor in _vendors() if vendor.id == "openrouter"]
    days = [day for vendor in gateways for model in vendor.models for day in _days(model)]
    return f"genai-prices {version('genai-prices')}", max(days, default=None)


def _days(model: ModelInfo) -> Iterator[date]:
    for part in model.prices if isinstance(model.prices, list) else ():
        day = getattr(part.constraint, "start_date", None)
        if isinstance(day, date):
            yield day


def _dated(model: ModelInfo, on: date) -> DatedPrice | None:
    parts = [_stepped(price) for price in _in_force(model, on)]
    price = _most_expensive(parts) if parts else None
    # A price of nothing stands for offers that are limited, or for prices nobody has looked up.
    return price if price is not None and (price.input or price.output) else None


def _in_force(model: ModelInfo, on: date) -> list[ModelPrice]:
    """Return the last price that has begun, and those of certain hours: a call may fall in any of them."""
    if not isinstance(model.prices, list):
        return [model.prices]
    begun, hourly = list[Any](), list[Any]()
    for part in model.prices:
        day = getattr(part.constraint, "start_date", None)
        if part.constraint is not None and day is None:
            hourly.append(part.prices)
        elif day is None or day <= on:
            begun.append(part.prices)
    return [*begun[-1:], *hourly]


def _stepped(price: ModelPrice) -> DatedPrice:
    """Return a price with its steps, if it has any."""
    values = {name: getattr(price, key) for name, key in _KEYS.items()}
    starts = sorted({tier.start for value in values.values() for tier in _tiers(value)})
    if not starts:
        return _flat(values, 0)
    steps = tuple((start, _flat(values, start)) for start in (0, *starts))
    return _most_expensive([step for _, step in steps], steps)


def _tiers(value: object) -> Sequence[Any]:
    return getattr(value, "tiers", ())


def _flat(values: Mapping[str, object], start: int) -> DatedPrice:
    source, dated = _source()
    found = {name: _from(value, start) for name, value in values.items()}
    return DatedPrice(
        input=found["input"],
        output=found["output"],
        cached_input=found["cached_input"],
        cache_write=found["cache_write"],
        source=source,
        dated=dated,
    )


def _from(value: Any, start: int) -> float | None:  # noqa: ANN401 - a number or tiers of them
    """Return the price that holds for prompts longer than ``start``."""
    if value is None or isinstance(value, Decimal):
        return None if value is None else float(value)
    begun = [tier.price for tier in value.tiers if tier.start <= start] if start else []
    return float(begun[-1] if begun else value.base)


def _most_expensive(
    prices: Sequence[DatedPrice], steps: tuple[tuple[int, DatedPrice], ...] = ()
) -> DatedPrice:
    """Return the most of each part; a part that one of them lacks is unknown."""
    first = prices[0]
    if len(prices) == 1:
        return first
    return DatedPrice(
        input=_most(price.input for price in prices),
        output=_most(price.output for price in prices),
        cached_input=_most(price.cached_input for price in prices),
        cache_write=_most(price.cache_write for price in prices),
        source=first.source,
        dated=first.dated,
        steps=steps,
    )


def _most(values: Iterator[float | None]) -> float | None:
    known = list(values)
    return None if None in known else max(value for value in known if value is not None)
