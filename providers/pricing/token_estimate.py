"""A rough count of tokens for models that no tokenizer counts: one token for four characters."""

from __future__ import annotations

from orglab.providers.base import Request

_CHARACTERS = 4


def text_tokens(text: str) -> int:
    """Return tokens of ``text``: its characters by four, rounded up."""
    return -(-len(text) // _CHARACTERS)


def text_of_tokens(begin: str, tokens: int) -> str:
    """Return a text of about so many tokens that begins like this, for dry-run replies."""
    filler = " and on "
    return begin + filler * ((tokens * _CHARACTERS - len(begin)) // len(filler))


def prompt_tokens(request: Request) -> int:
    """Return tokens of a request: the characters of its messages and their tool calls by four."""
    size = 0
    for message in request.messages:
        size += len(message.content)
        for call in message.tool_calls:
            size += len(call.name) + len(call.arguments)
    return -(-size // _CHARACTERS)
