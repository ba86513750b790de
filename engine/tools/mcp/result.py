"""What an MCP server answers, as a bounded value that strict JSON can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from orglab.engine.tools.bounded_json import bounded, to_strict_json
from orglab.providers.base import JSON, ToolError
from orglab.providers.structured_output.strict_json import spaced

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_WORDS = 2_000  # characters of a refusal
_SHORT = (400, 60)  # where a result is too large, its texts are cut to these


def result_of(result: CallToolResult, characters: int, hide: Callable[[str], str]) -> JSON:
    """Return what a call gave: the structured value where there is one, else the texts.

    Args:
        result: What the server answered.
        characters: The largest value, as JSON.
        hide: Takes secrets out of a text.

    Raises:
        ToolError: The tool says that it failed; its words.
    """
    if result.is_error:
        words = "\n".join(part.text for part in result.content if part.type == "text")
        raise ToolError(hide(words)[:_WORDS] or "the tool failed and does not say why")
    if result.structured_content is not None:
        return fitted(hidden(result.structured_content, hide), characters)
    parts = [hidden(_content_block(each), hide) for each in result.content]
    if len(parts) == 1:
        return fitted(parts[0], characters)
    return fitted({"content": parts}, characters)


def hidden(value: JSON, hide: Callable[[str], str]) -> JSON:
    """Return ``value`` with ``hide`` done to each of its texts, names too."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(str(name)): hidden(part, hide) for name, part in value.items()}
    return [hidden(part, hide) for part in value] if isinstance(value, list) else value


def _content_block(content: Any) -> JSON:  # noqa: ANN401 - a union of the SDK, discriminated by `type`
    """Return one block of content: texts as they are, of anything else what it is."""
    if content.type == "text":
        return {"text": content.text}
    if content.type == "resource_link":
        return {"link": str(content.uri), "name": content.name}
    if content.type == "resource":
        resource = content.resource
        text = getattr(resource, "text", None)
        if text is not None:
            return {"resource": str(resource.uri), "text": text}
        return {"resource": str(resource.uri), "not shown": resource.mime_type or "bytes"}
    kind = getattr(content, "mime_type", None) or content.type
    return {"not shown": kind, "characters": len(getattr(content, "data", "") or "")}


def fitted(value: object, characters: int) -> JSON:
    """Return ``value`` as strict JSON of at most ``characters``; what was cut is said in it."""
    plain = to_strict_json(value)
    if len(spaced(plain)) <= characters:
        return plain
    whole = plain if isinstance(plain, dict) else {"result": plain}
    return bounded(whole, characters, (characters * 3 // 4, *_SHORT))
