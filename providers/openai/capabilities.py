"""How one model on one server wants to be asked: what it refused once is not sent again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal, TypeAlias

from orglab.providers.base import JSON
from orglab.providers.hosted.errors import ServerMessage
from orglab.providers.structured_output.strict_json import spaced

ToolMode: TypeAlias = Literal["native", "apart", "actions"]
"""Tools as the server's own; the same, but never beside a schema; or as a constrained JSON action."""

DROPPABLE: Final = (
    "frequency_penalty",
    "logprobs",
    "presence_penalty",
    "seed",
    "temperature",
    "top_p",
)
"""Parameters that some models (those that reason, above all) do not take at any value."""

_NOT_TAKEN: Final = re.compile(
    r"unsupported|not support|n't support|only the default|not permitted|not allowed|unrecognized"
    r"|unknown|not known|deprecated|unexpected|extra inputs|extra_forbidden",
    re.IGNORECASE,
)
_NOT_TAKEN_CODES: Final = frozenset(
    ("unknown_parameter", "unsupported_parameter", "unsupported_value")
)
_STRUCTURE: Final = re.compile(
    r"response_?format|json_?schema|json mode|structured output|grammar|schema|response mime type",
    re.IGNORECASE,
)
_ONE_SCHEMA: Final = re.compile(
    r"invalid schema|\bstrict|grammar|schema conversion|convert|additionalproperties|keyword"
    r"|\brequired\b|not permitted",
    re.IGNORECASE,
)
_TOOLS: Final = re.compile(r"\btools?\b|tool[ _](?:use|call|choice)|function", re.IGNORECASE)
_FUNCTION_SCHEMA: Final = re.compile(r"schema for function", re.IGNORECASE)


class SchemaMode(IntEnum):
    """How a reply is held to its schema, from the strictest; each is tried where one was refused."""

    STRICT = 0  # json_schema, strict where the schema allows
    SCHEMA = 1  # json_schema, never strict
    OBJECT_SCHEMA = 2  # json_object with the schema beside it, as llama-cpp-python takes it
    OBJECT = 3  # json_object, the schema in words
    WORDS = 4  # the schema in words alone


@dataclass(kw_only=True, slots=True)
class ChatCapabilities:
    """What is known of a model on a server; it grows while the process lives.

    Attributes:
        vendor: The server is OpenAI's own, which has no ``OBJECT_SCHEMA``.
        limit: The name under which the limit of tokens is sent.
        limits_refused: Names of the limit that were refused.
        dropped: Parameters that the model does not take.
        structure: How replies are held to their schemas.
        schemas: The same for single schemas that the server could not use.
        tools: How tools are offered.
        strict_tools: Tools may be sent as strict.
        choice: ``tool_choice`` may be sent.
    """

    vendor: bool
    limit: str = "max_tokens"
    limits_refused: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    structure: SchemaMode = SchemaMode.STRICT
    schemas: dict[str, SchemaMode] = field(default_factory=dict)
    tools: ToolMode = "native"
    strict_tools: bool = True
    choice: bool = True

    def structure_of(self, schema: Mapping[str, JSON]) -> SchemaMode:
        """Return how a reply is held to this schema."""
        if not self.schemas:
            return self.structure
        return max(self.structure, self.schemas.get(spaced(schema), SchemaMode.STRICT))


def learn(
    capabilities: ChatCapabilities,
    body: Mapping[str, JSON],
    schema: Mapping[str, JSON] | None,
    message: ServerMessage,
) -> str | None:
    """Change ``capabilities`` by a server's refusal, so that the request can be sent the other way.

    Args:
        capabilities: What is known; changed in place.
        body: What was sent.
        schema: The schema that the reply was to fit, as it was sent.
        message: What the server said.

    Returns:
        What was changed, as text; None where there is no other way.
    """
    if message.status not in (400, 404, 422, 500, 501):
        return None
    named = f"{message.param or ''} {message.message}"
    by_tools = _tools_refused(capabilities, body, named, message)
    if by_tools is not None:
        return by_tools
    if schema is not None and "response_format" in body and _STRUCTURE.search(named):
        return _structure_refused(capabilities, body, schema, named)
    if message.status >= 500 or not _not_taken(message):
        return None
    return _limit_refused(capabilities, body, named) or _dropped(capabilities, body, named)


def _not_taken(message: ServerMessage) -> bool:
    return bool(message.codes & _NOT_TAKEN_CODES) or bool(_NOT_TAKEN.search(message.message))


def _tools_refused(
    capabilities: ChatCapabilities, body: Mapping[str, JSON], named: str, message: ServerMessage
) -> str | None:
    if "tools" not in body or not _TOOLS.search(named):
        return None
    if _FUNCTION_SCHEMA.search(named) and capabilities.strict_tools:
        capabilities.strict_tools = False
        return "tools were not taken as strict, and were sent as plain ones"
    if "response_format" in body and _STRUCTURE.search(named):
        capabilities.tools = "apart"
        return "tools and a schema were not taken together: the schema was sent in words"
    if "tool_choice" in body and re.search(r"tool[ _]choice", named, re.IGNORECASE):
        capabilities.choice = False
        return "tool_choice was not taken: the tools were left out where none may be called"
    if message.status < 500 and not _not_taken(message) and "requires" not in named:
        return None
    capabilities.tools = "actions"
    return "tools were not taken, and were sent as a JSON action"


def _structure_refused(
    capabilities: ChatCapabilities, body: Mapping[str, JSON], schema: Mapping[str, JSON], named: str
) -> str | None:
    now = capabilities.structure_of(schema)
    if now is SchemaMode.WORDS:
        return None
    strict = bool(body["response_format"].get("json_schema", {}).get("strict"))
    one_schema = bool(_ONE_SCHEMA.search(named))
    following = SchemaMode(now + 1)
    if now is SchemaMode.STRICT and not (strict and one_schema):
        following = SchemaMode.OBJECT_SCHEMA  # less strict is the same form, or was sent already
    if following is SchemaMode.OBJECT_SCHEMA and capabilities.vendor:
        following = SchemaMode.OBJECT
    if one_schema:
        capabilities.schemas[spaced(schema)] = following
    else:
        capabilities.structure = following
    return f"the reply's schema was not taken as {_NAMES[now]}, and was sent as {_NAMES[following]}"


_NAMES: Final[Mapping[SchemaMode, str]] = {
    SchemaMode.STRICT: "json_schema",
    SchemaMode.SCHEMA: "json_schema that is not strict",
    SchemaMode.OBJECT_SCHEMA: "json_object with a schema",
    SchemaMode.OBJECT: "json_object and words",
    SchemaMode.WORDS: "words",
}


def _limit_refused(
    capabilities: ChatCapabilities, body: Mapping[str, JSON], named: str
) -> str | None:
    sent = capabilities.limit
    other = "max_tokens" if sent == "max_completion_tokens" else "max_completion_tokens"
    if sent not in body or not _mentions(named, sent) or other in capabilities.limits_refused:
        return None
    capabilities.limits_refused.add(sent)
    capabilities.limit = other
    return f"{sent} was not taken, and was sent as {other}"


def _dropped(capabilities: ChatCapabilities, body: Mapping[str, JSON], named: str) -> str | None:
    refused = [name for name in DROPPABLE if name in body and _mentions(named, name)]
    if not refused:
        return None
    capabilities.dropped.update(refused)
    return f"{', '.join(refused)}: not taken by this model, and left out"


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![a-z_]){name}(?![a-z_])", text) is not None
