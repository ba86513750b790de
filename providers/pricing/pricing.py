"""What a call costs."""

from __future__ import annotations

from typing import Protocol

from orglab.providers.base import Request, TokenUsage
from orglab.providers.pricing.genai_prices import DatedPrice

_MILLION = 1_000_000
TEMPLATE_TOKENS = 64
"""Tokens that a server's template may add to a message, a tool or a schema: an ample guess."""


class TokenPrice(Protocol):
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


def cost(usage: TokenUsage, price: TokenPrice | None) -> float | None:
    """Return US dollars of one call; None where a price that matters is unknown, never 0 in its place.

    Tokens read from a cache or written to it are part of ``usage.input`` and are paid at their own
    price alone. Reasoning is part of ``usage.output`` and is not added again. A price of tokens
    that were not used does not matter.
    """
    if price is None:
        return None
    price = _at(price, usage.input)
    parts = (
        (usage.input - usage.cached_input - usage.cache_write, price.input),
        (usage.cached_input, price.cached_input),
        (usage.cache_write, _cache_write(price)),
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


def most_tokens(request: Request) -> int:
    """Return an upper bound of the tokens that a request is read as, known before it is sent.

    No tokenizer writes more tokens than its text has bytes of UTF-8; templates add a few a message.
    """
    texts = [message.content for message in request.messages]
    texts += [
        f"{call.id}{call.name}{call.arguments}"
        for message in request.messages
        for call in message.tool_calls
    ]
    texts += [f"{tool.name}{tool.description}{tool.parameters}" for tool in request.tools]
    if request.schema is not None:
        texts.append(str(request.schema))
    bytes_sent = sum(len(text.encode("utf-8", "replace")) for text in texts)
    parts = len(request.messages) + len(request.tools) + (request.schema is not None)
    return bytes_sent + TEMPLATE_TOKENS * (parts + 1)


def most_cost(request: Request, price: TokenPrice | None, most_output: int | None) -> float | None:
    """Return the most that one sending of a request can cost in US dollars; None where that is unknown.

    Args:
        request: The request.
        price: What the model costs.
        most_output: The largest number of tokens that the reply may have, reasoning included.
    """
    if price is None or most_output is None:
        return None
    read = most_tokens(request)
    price = _at(price, read)
    if price.input is None or price.output is None:
        return None
    input_price = max(price.input, price.cached_input or 0.0, _cache_write(price) or 0.0)
    return (read * input_price + most_output * price.output) / _MILLION


def _cache_write(price: TokenPrice) -> float | None:
    """Of tokens written to a cache; a price may have no such field."""
    dollars: float | None = getattr(price, "cache_write", None)
    return dollars


def _at(price: TokenPrice, tokens: int) -> TokenPrice:
    """Return a price for prompts of so many tokens, where it depends on their length."""
    return price.at(tokens) if isinstance(price, DatedPrice) else price
