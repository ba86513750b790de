"""The cost of a call: cached tokens at their own price, unknown never as nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from case_files import case_folder

from orglab.providers.base import TokenUsage
from orglab.providers.pricing.pricing import cost

CASE = case_folder("41-provider-cached-token-cost")


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float | None = None
    output: float | None = None
    cached_input: float | None = None


WHOLE = Price(input=2.0, output=8.0, cached_input=0.5)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (TokenUsage(input=12_000, output=500, cached_input=9_000), 0.0145),
        (TokenUsage(input=100, output=1_000, reasoning=800), 0.0082),
        (TokenUsage(), 0.0),
    ],
)
def test_each_token_is_paid_once(usage: TokenUsage, dollars: float) -> None:
    """Cached tokens are part of the input, reasoning is part of the output."""
    assert cost(usage, WHOLE) == pytest.approx(dollars, abs=1e-12)


@pytest.mark.parametrize(
    ("usage", "price"),
    [
        (TokenUsage(input=1), Price(output=1.0)),
        (TokenUsage(output=1), Price(input=1.0)),
        (TokenUsage(input=2, cached_input=1), Price(input=1.0, output=1.0)),
        (TokenUsage(input=1), None),
    ],
)
def test_unknown_stays_unknown(usage: TokenUsage, price: Price | None) -> None:
    """A price that matters and is not known makes the cost unknown, not 0."""
    assert cost(usage, price) is None


def test_a_price_that_does_not_matter_may_be_unknown() -> None:
    """Without cached tokens their price is not needed."""
    assert cost(TokenUsage(input=1_000_000), Price(input=2.0)) == 2.0


@pytest.mark.parametrize("name", ["a-openai", "c-unknown-model", "e-reasoning"])
def test_case_41(name: str) -> None:
    """Case 41, the form in which cached tokens stand inside the prompt's."""
    told = json.loads((CASE / "usages.json").read_text())[name]
    usage, prices = told["usage"], json.loads((CASE / "prices_per_million.json").read_text())
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    tokens = TokenUsage(
        input=usage["prompt_tokens"], output=usage["completion_tokens"], cached_input=cached
    )
    price = prices.get(told["model"])
    wanted = json.loads((CASE / "expected.json").read_text())[name]
    found = cost(tokens, Price(**price) if price else None)
    assert found == (None if wanted is None else pytest.approx(wanted, abs=1e-12))
