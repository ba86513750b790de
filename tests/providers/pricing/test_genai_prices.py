"""Default prices: dated, of vendors' own servers alone, never 0 for what is not known."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from genai_prices import types

from orglab.providers.base import Message, Request, TokenUsage
from orglab.providers.pricing import genai_prices as default_prices
from orglab.providers.pricing.genai_prices import DatedPrice, default_price
from orglab.providers.pricing.pricing import cost, most_cost, most_tokens


def price(**mtok: object) -> types.ModelPrice:
    """US dollars per million tokens."""
    return types.ModelPrice(**{f"{name}_mtok": value for name, value in mtok.items()})  # type: ignore[arg-type]


def dollars(text: str) -> Decimal:
    """As the package holds prices."""
    return Decimal(text)


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> types.Provider:
    """A vendor with prices of our own, so that tests do not age with the package's."""
    made = types.Provider(
        id="openrouter", name="Vendor", api_pattern=r"https://api\.openai\.com", models=[]
    )
    monkeypatch.setattr(default_prices, "_vendors", lambda: [made])
    default_prices._source.cache_clear()
    return made


@pytest.fixture(autouse=True)
def _fresh() -> None:
    default_prices._source.cache_clear()


def listed(vendor: types.Provider, prices: object, name: str = "model-1") -> None:
    """Adds a model to the vendor's list."""
    vendor.models.append(
        types.ModelInfo(id=name, match=types.ClauseEquals(equals=name), prices=prices)  # type: ignore[arg-type]
    )


# --- the package's own data ------------------------------------------------------------------------


def test_a_published_price_is_found_with_its_source_and_date() -> None:
    """Input, output and cached input of a well-known model, and where they are from."""
    found = default_price("openai", "gpt-4o-mini")
    assert found is not None
    assert found.input is not None
    assert found.output is not None
    assert found.cached_input is not None
    assert 0 < found.cached_input < found.input < found.output
    assert found.source.startswith("genai-prices ")
    assert found.dated is not None
    assert date(2026, 1, 1) < found.dated <= datetime.now(UTC).date()


def test_anthropic_writes_to_the_cache_at_a_price_of_their_own() -> None:
    """A dated model name is found, and cache writes are dearer than input."""
    found = default_price("anthropic", "claude-haiku-4-5-20251001")
    assert found is not None
    assert found.cache_write is not None
    assert found.input is not None
    assert found.cache_write > found.input


@pytest.mark.parametrize(
    ("provider", "model", "base_url"),
    [
        ("openai", "no-such-model", None),
        ("openai", "", None),
        ("simulated", "gpt-4o-mini", None),
        ("openai", "gpt-4o-mini", "http://localhost:8000/v1"),
        ("openai", "gpt-4o-mini", "https://127.0.0.1/v1"),
        ("openai", "gpt-4o-mini", "http://api.openai.com/v1"),
        ("openai", "gpt-4o-mini", "https://api.openai.com:8443/v1"),
        ("openai", "gpt-4o-mini", "https://api.openai.com.example.org/v1"),
        ("openai", "gpt-4o-mini", "https://api.openai.com@example.org/v1"),
        ("openai", "gpt-4o-mini", "https://[api.openai.com/v1"),
        ("openai", "gpt-4o-mini", "my server"),
        ("anthropic", "gpt-4o-mini", None),
    ],
)
def test_what_is_not_known_is_none(provider: str, model: str, base_url: str | None) -> None:
    """Unknown models, other servers, plain HTTP: no price is better than another's."""
    assert default_price(provider, model, base_url) is None


def test_a_vendor_of_compatible_servers_is_known_by_its_address() -> None:
    """The provider is ``openai``, the price is that of who is asked."""
    there = default_price("openai", "openai/gpt-4o-mini", "https://openrouter.ai/api/v1/")
    assert there is not None
    assert default_price("openai", "openai/gpt-4o-mini") is None


@pytest.mark.parametrize(
    ("tier", "known"),
    [("default", True), ("auto", True), ("flex", False), ("priority", False), (7, False)],
)
def test_other_service_tiers_are_unknown(tier: object, known: bool) -> None:
    """The listed price is the standard tier's."""
    found = default_price("openai", "gpt-4o-mini", params={"service_tier": tier})
    assert (found is not None) is known


def test_nothing_is_imported_before_a_price_is_looked_up() -> None:
    """The package takes long to import, and most commands need no price."""
    code = "import sys, orglab.providers.pricing.pricing; sys.exit('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0


# --- what is made of the data ----------------------------------------------------------------------


def test_steps_are_kept_and_the_most_expensive_stands_for_all(vendor: types.Provider) -> None:
    """A price that depends on the prompt's length: exact for a call, dearest where unknown."""
    tier = types.Tier(start=1000, price=dollars("4"))
    listed(
        vendor,
        price(input=types.TieredPrices(base=dollars("2"), tiers=[tier]), output=dollars("10")),
    )
    found = default_price("openai", "model-1")
    assert found is not None
    assert (found.input, found.output) == (4.0, 10.0)
    assert [found.at(tokens).input for tokens in (0, 1000, 1001)] == [2.0, 2.0, 4.0]
    assert cost(TokenUsage(input=1000, output=100), found) == pytest.approx(3000e-6)
    assert cost(TokenUsage(input=2000, output=100), found) == pytest.approx(9000e-6)


def test_the_bound_of_a_call_takes_the_step_it_can_reach(vendor: types.Provider) -> None:
    """Short prompts are reserved for at the price of short prompts, cache writes included."""
    prices = {
        name: types.TieredPrices(
            base=dollars(low), tiers=[types.Tier(start=5000, price=dollars(high))]
        )
        for name, low, high in (("input", "2", "4"), ("cache_write", "3", "6"))
    }
    listed(vendor, price(**prices, output=dollars("10")))
    found = default_price("openai", "model-1")
    short = Request(model="model-1", messages=(Message(role="user", content="x"),))
    long = Request(model="model-1", messages=(Message(role="user", content="x" * 5000),))
    assert most_cost(short, found, 10) == pytest.approx((most_tokens(short) * 3 + 100) / 1e6)
    assert most_cost(long, found, 10) == pytest.approx((most_tokens(long) * 6 + 100) / 1e6)


def test_a_falling_step_does_not_make_a_bound_too_small() -> None:
    """``at`` holds for as many tokens at most, so the dearest step begun counts."""
    dear, cheap = DatedPrice(input=3.0, output=1.0), DatedPrice(input=1.0, output=1.0)
    falling = DatedPrice(input=3.0, output=1.0, steps=((0, dear), (10, cheap)))
    assert falling.at(11).input == 3.0


def test_the_last_price_that_has_begun_holds(vendor: types.Provider) -> None:
    """Announced prices wait for their day."""
    first = types.ConditionalPrice(prices=price(input=dollars("1"), output=dollars("2")))
    later = types.ConditionalPrice(
        types.StartDateConstraint(start_date=date(2026, 6, 1)),
        prices=price(input=dollars("5"), output=dollars("6")),
    )
    listed(vendor, [first, later])
    before = default_price("openai", "model-1", on=date(2026, 5, 31))
    after = default_price("openai", "model-1", on=date(2026, 6, 1))
    assert before is not None
    assert after is not None
    assert (before.input, after.input, after.dated) == (1.0, 5.0, date(2026, 6, 1))


def test_of_prices_by_the_hour_the_most_expensive_is_taken(vendor: types.Provider) -> None:
    """A call may fall in any hour."""
    always = types.ConditionalPrice(prices=price(input=dollars("4"), output=dollars("2")))
    night = types.ConditionalPrice(
        types.TimeOfDateConstraint(start_time=time(0), end_time=time(8)),
        prices=price(input=dollars("1"), output=dollars("3")),
    )
    listed(vendor, [always, night])
    found = default_price("openai", "model-1")
    assert found is not None
    assert (found.input, found.output, found.cached_input) == (4.0, 3.0, None)


@pytest.mark.parametrize(
    "listing", [price(), price(input=dollars("0"), output=dollars("0"))], ids=["none", "zero"]
)
def test_a_price_of_nothing_is_unknown(vendor: types.Provider, listing: types.ModelPrice) -> None:
    """Free offers are limited, and an empty entry is one nobody has looked up."""
    listed(vendor, listing)
    assert default_price("openai", "model-1") is None


def test_a_part_without_a_price_stays_unknown(vendor: types.Provider) -> None:
    """Cached tokens without a price make a call's cost unknown."""
    listed(vendor, price(input=dollars("1"), output=dollars("2")))
    found = default_price("openai", "model-1")
    assert cost(TokenUsage(input=10, output=1), found) == pytest.approx(12e-6)
    assert cost(TokenUsage(input=10, output=1, cached_input=5), found) is None
