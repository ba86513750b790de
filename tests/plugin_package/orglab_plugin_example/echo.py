"""A provider that says the last message again, or fills a schema of texts with it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from orglab.providers.base import JSON, BadRequest, Completion, Provider, Request, TokenUsage

__all__ = ["EchoProvider"]


class EchoProvider(Provider):
    """Answers with the last message.

    With a schema, every required property that may be text holds the message, and every one with
    an ``enum`` its first value; other schemas are refused.
    """

    parameters = frozenset({"upper"})
    free = True

    def __init__(self, *, prefix: str = "") -> None:
        """Makes the provider.

        Args:
            prefix: What stands before each echo.
        """
        self.prefix = prefix

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> EchoProvider:
        """Takes the option ``prefix``."""
        unknown = sorted(set(options) - {"prefix"})
        if unknown:
            raise ValueError(f"echo has no option {unknown[0]!r}: it takes prefix alone")
        return cls(prefix=str(options.get("prefix", "")))

    async def complete(self, request: Request) -> Completion:
        """Echoes."""
        text = self.prefix + request.messages[-1].content
        if request.params.get("upper"):
            text = text.upper()
        reply = text if request.schema is None else _filled(request.schema, text)
        read = sum(len(message.content.split()) for message in request.messages)
        return Completion(
            text=reply,
            native=request.schema is not None,
            model=request.model,
            usage=TokenUsage(input=read, output=len(reply.split())),
            simulated=True,
        )


def _filled(schema: Mapping[str, JSON], text: str) -> str:
    properties = schema.get("properties", {})
    return json.dumps({name: _value(properties[name], text) for name in schema.get("required", [])})


def _value(schema: Mapping[str, JSON], text: str) -> JSON:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "string":
        return text[: schema.get("maxLength")]
    raise BadRequest(f"echo fills texts and enums alone, not {schema.get('type')!r}")
