"""Reading the arguments of a tool call: an object that fits, or why the call must not be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orglab.providers.base import JSON
from orglab.providers.structured_output.relaxed_json import relaxed_value
from orglab.providers.structured_output.strict_json import (
    BLANK,
    DuplicateKeyError,
    JSONError,
    loads,
)
from orglab.providers.structured_output.validation import checker_for, type_name


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """The arguments of a tool call.

    Attributes:
        value: The arguments; None where the call must not be made.
        error: What was wrong, in words that name the argument; "" where nothing was.
        repaired: The text was not strict JSON, or JSON inside a JSON text.
    """

    value: dict[str, JSON] | None = None
    error: str = ""
    repaired: bool = False


def read_arguments(text: str, parameters: Mapping[str, JSON]) -> Arguments:
    """Read a tool call's arguments as the model wrote them; no text means ``{}``.

    Args:
        text: The arguments' text.
        parameters: JSON Schema of the arguments.

    Raises:
        ValueError: ``parameters`` is no JSON Schema; never because of the text.
    """
    checker = checker_for(parameters)
    try:
        value, repaired = _argument_value(text, parameters)
    except JSONError as error:
        return Arguments(error=f"the arguments are not valid JSON: {error}")
    if not isinstance(value, dict):
        return Arguments(error=f"the arguments must be a JSON object, not {type_name(value)}")
    if not checker.fits(value):
        return Arguments(error=checker.message(value).replace("the value", "the call"))
    return Arguments(value=value, repaired=repaired)


def _argument_value(text: str, parameters: Mapping[str, JSON]) -> tuple[JSON, bool]:
    text = text.strip(BLANK)
    if not text:
        return {}, False
    try:
        value = loads(text)
    except DuplicateKeyError:
        raise
    except JSONError as error:
        return _nearly(text, error), True
    if isinstance(value, str):
        return loads(value), True
    if value is None and not parameters.get("properties"):
        return {}, False
    return value, False


def _nearly(text: str, error: JSONError) -> JSON:
    """Return the one object that ``text`` means though it isn't strict; closers too many are left out."""
    if text[0] != "{":
        raise error
    value, end, _ = relaxed_value(text, 0)
    if text[end:].strip(BLANK + "}]"):
        raise error
    return value
