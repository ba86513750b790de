"""The filters and tests of specs' templates: deterministic, and looked at before they run."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from functools import update_wrapper
from inspect import isawaitable
from typing import Any, TypeAlias

from jinja2 import Environment
from jinja2.filters import FILTERS, make_attrgetter
from jinja2.runtime import Context
from jinja2.tests import TESTS
from jinja2.utils import _PassArg, pass_context, pass_environment

from orglab.engine.graph.templates.cost_guard import (
    MAX_NUMBER_BITS,
    MAX_TEXT,
    as_json,
    printed,
    require,
    settled,
    weigh,
)

Value: TypeAlias = Any
"""Whatever a template holds."""

MAX_COUNT = 100_000
NAMES = (
    "abs", "batch", "capitalize", "center", "count", "d", "default", "dictsort",
    "filesizeformat", "first", "float", "format", "groupby", "indent", "int", "items", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace",
    "reverse", "round", "select", "selectattr", "slice", "sort", "sum", "title", "trim",
    "truncate", "unique", "upper", "urlencode", "wordcount",
)  # fmt: skip


def bounded_filters(*, asynchronous: bool) -> dict[str, Callable[..., Value]]:
    """Return the filters by name.

    Args:
        asynchronous: For an environment with ``enable_async``.
    """
    filters = {name: _bounded(name, FILTERS[name]) for name in NAMES}
    return filters | {
        "join": _bounded("join", _join_async if asynchronous else _join),
        "string": _bounded("string", printed),
        "tojson": _bounded("tojson", as_json),
    }


def bounded_tests() -> Value:
    """Jinja's tests by name (``x is in(many)``), charged for what they look at."""
    tests: dict[str, Callable[..., Value]] = dict(TESTS)  # type: ignore[arg-type]  # Jinja says `function`
    return {name: _bounded("", function) for name, function in tests.items()}


def _bounded(name: str, function: Callable[..., Value]) -> Callable[..., Value]:
    """Return ``function`` as a filter that is charged for what it is given and for what it makes."""
    passed = _PassArg.from_obj(function)
    check = _CHECKS.get(name)

    @pass_context
    def run(context: Context, value: Value, *args: Value, **kwargs: Value) -> Value:
        for given in (value, *args, *kwargs.values()):
            settled(context, given)
        if check:
            check(value, *args, **kwargs)
        lead = () if passed is None else (_lead(passed, context),)
        result = function(*lead, value, *args, **kwargs)
        return _later(context, result) if isawaitable(result) else settled(context, result)

    return update_wrapper(run, function, assigned=("__name__", "__doc__"), updated=())


async def _later(context: Context, result: Awaitable[Value]) -> Value:
    return settled(context, await result)


def _lead(passed: _PassArg, context: Context) -> Value:
    if passed is _PassArg.context:
        return context
    return context.environment if passed is _PassArg.environment else context.eval_ctx


@pass_environment
def _join(
    environment: Environment, items: Iterable[Value], between: str = "", attribute: Value = None
) -> str:
    if attribute is not None:
        items = map(make_attrgetter(environment, attribute), items)
    texts = [printed(item) for item in items]
    require(sum(map(len, texts)) + len(between) * len(texts) <= MAX_TEXT)
    return between.join(texts)


@pass_environment
async def _join_async(
    environment: Environment, items: Value, between: str = "", attribute: Value = None
) -> str:
    if hasattr(items, "__aiter__"):
        items = [item async for item in items]
    return _join(environment, items, between, attribute)


# --- sizes known beforehand -----------------------------------------------------------


def check_power(base: Value, exponent: Value) -> None:
    """Refuse a power with too many digits."""
    if isinstance(base, int) and isinstance(exponent, int):
        require(base.bit_length() * max(exponent, 0) <= MAX_NUMBER_BITS)


def check_product(left: Value, right: Value) -> None:
    """Refuse a text or list repeated into something too large."""
    for one, times in ((left, right), (right, left)):
        if isinstance(one, (str, list, tuple)) and isinstance(times, int):
            characters, parts = weigh(one)
            require((characters + parts) * max(times, 0) <= MAX_TEXT)


def check_format(text: str) -> None:
    """Refuse ``%`` formats with a width or precision over three digits."""
    require(not re.search(r"%[^a-zA-Z%]*(\*|\d{4})", text))


def check_replace(text: str, old: str = "", new: str = "", *_: Value, **__: Value) -> None:
    """Refuse a replacement whose result would be too large."""
    if isinstance(old, str) and isinstance(new, str):
        text = printed(text)
        require(len(text) + text.count(old) * max(len(new) - len(old), 0) <= MAX_TEXT)


def _check_indent(text: Value, width: int | str = 4, *_: Value, **__: Value) -> None:
    text = printed(text)
    size = width if isinstance(width, int) else len(width)
    require(len(text) + (text.count("\n") + 1) * size <= MAX_TEXT)


def _check_count(_: Value, count: Value = 0, *__: Value, **named: Value) -> None:
    numbers = [value for value in (count, *named.values()) if isinstance(value, int)]
    require(all(abs(number) <= MAX_COUNT for number in numbers))


def _check_round(_: Value, precision: int = 0, *__: Value, **___: Value) -> None:
    require(abs(precision) <= 100)


def _check_json(_: Value, indent: int | None = None) -> None:
    require(indent is None or 0 <= indent <= 16)


def _check_sum(_: Value, __: Value = None, start: Value = 0) -> None:
    require(isinstance(start, (int, float)))


def _check_percent(text: Value, *_: Value, **__: Value) -> None:
    check_format(printed(text))


_CHECKS: dict[str, Callable[..., None]] = {
    "batch": _check_count,
    "center": _check_count,
    "format": _check_percent,
    "indent": _check_indent,
    "replace": check_replace,
    "round": _check_round,
    "slice": _check_count,
    "sum": _check_sum,
    "tojson": _check_json,
}
