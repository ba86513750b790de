"""What one rendering of a template may cost, and how values print.

Loops, calls and the sizes of what a template builds are taken off a budget, so that no template
can hang a run or fill the memory.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sized
from typing import Any, TypeAlias

from jinja2 import Undefined
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.runtime import Context
from jinja2.utils import pass_context

Value: TypeAlias = Any
"""Whatever a template holds."""

MAX_TEXT = 10_000_000
"""Largest text, in characters, that a template may make at any point."""
STEPS = 1_000_000
"""Budget of one rendering: a loop's round, a call, a part of a list each cost one."""
MAX_NUMBER_BITS = 4096
"""Largest whole number, in bits, that a template may make."""


class TemplateCostError(SecurityError):
    """Raised when a template would use more time or memory than a prompt may."""


class BoundedContext(Context):
    """The variables of one rendering, and what is left of its budget."""

    left: int = STEPS

    def derived(self, locals: dict[str, Value] | None = None) -> Context:  # noqa: A002 - Jinja's name
        """Return a context within this one, with no more budget than is left here."""
        context = super().derived(locals)
        if isinstance(context, BoundedContext):
            context.left = self.left
        return context


def charge(context: Context, steps: int) -> None:
    """Take ``steps`` off the budget.

    Raises:
        TemplateCostError: Nothing is left.
    """
    if isinstance(context, BoundedContext):
        context.left -= steps
        if context.left < 0:
            raise TemplateCostError("the template loops or builds too much for a prompt")


def require(condition: bool) -> None:
    """Refuse an operation whose result would be too large.

    Raises:
        TemplateCostError: ``condition`` is false.
    """
    if not condition:
        raise TemplateCostError(f"the template makes a text of over {MAX_TEXT:,} characters")


def printed(value: object) -> str:
    """Return how a value prints: null as nothing, truth values, lists and maps as JSON, else its text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, Mapping)):
        require(weigh(value)[0] <= MAX_TEXT)
        return as_json(value)
    return _value_text(value)


def _value_text(value: object) -> str:
    """Return the text of a value of another type; functions and iterators have none of their own.

    Raises:
        TemplateRuntimeError: Its text would hold a memory address, another one in each process.
    """
    if isinstance(value, Undefined):
        return str(value)
    if callable(value):
        raise TemplateRuntimeError("a function or method cannot be printed; call it")
    if isinstance(value, Iterator | AsyncIterator):
        raise TemplateRuntimeError("an iterator cannot be printed; add `| list`")
    return str(value)


def as_json(value: object, indent: int | None = None) -> str:
    """Strict JSON text of ``value``; what JSON cannot hold prints as its text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=_inner)


def _inner(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else _value_text(value)


def weigh(value: object) -> tuple[int, int]:
    """Return characters and parts of ``value``, counting each part as often as it would print.

    Stops counting shortly after either is too large, so it is quick on lists that hold themselves
    many times over.
    """
    characters = parts = 0
    waiting = [value]
    while waiting and characters <= MAX_TEXT and parts <= STEPS:
        part = waiting.pop()
        parts += 1
        if isinstance(part, str):
            characters += len(part)
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.keys())
            waiting.extend(part.values())
    if parts > STEPS:
        raise TemplateCostError("the template builds too much for a prompt")
    return characters, parts


def settled(context: Context, value: Value) -> Value:
    """Return ``value``, once its size is found bearable and taken off the budget."""
    if isinstance(value, range):
        charge(context, len(value))
    elif isinstance(value, (str, list, tuple, dict, set, frozenset)):
        characters, parts = weigh(value)
        require(characters <= MAX_TEXT)
        charge(context, parts + characters // 1000)
    elif isinstance(value, int):
        require(value.bit_length() <= MAX_NUMBER_BITS)
    return value


@pass_context
def rounds(context: Context, items: Value) -> Value:
    """Return ``items``, with each round of the loop taken off the budget."""
    if isinstance(items, Sized):
        charge(context, len(items))
        return items
    if hasattr(items, "__aiter__"):
        return _async_rounds(context, items)
    return _rounds(context, items)


def _rounds(context: Context, items: Iterable[Value]) -> Iterator[Value]:
    for item in items:
        charge(context, 1)
        yield item


async def _async_rounds(context: Context, items: Value) -> AsyncIterator[Value]:
    async for item in items:
        charge(context, 1)
        yield item


@pass_context
def finished(context: Context, value: object) -> str:
    """Return what a printed expression becomes."""
    return value if isinstance(value, str) else printed(settled(context, value))
