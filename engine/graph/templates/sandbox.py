"""The Jinja2 environment of specs: strict, sandboxed, and bounded in time and memory.

Specs come from strangers. Beside Jinja's own sandbox, a template may use only the filters of
``filters`` and the text methods listed here, cannot load other templates, and has a budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, MutableMapping
from types import BuiltinMethodType, MethodType
from typing import Any, TypeAlias

from jinja2 import StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, Frame, operators
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from orglab.engine.graph.templates.cost_guard import (
    MAX_TEXT,
    BoundedContext,
    charge,
    finished,
    printed,
    require,
    rounds,
    settled,
)
from orglab.engine.graph.templates.filters import (
    bounded_filters,
    bounded_tests,
    check_format,
    check_power,
    check_product,
    check_replace,
)

Value: TypeAlias = Any
"""Whatever a template holds."""

ROUNDS = "rounds of a loop"
"""The filter put around what a loop runs over; no author can write this name."""
TEXT_METHODS = frozenset((
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha",
    "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase",
    "title", "upper",
))  # fmt: skip
LIST_METHODS = frozenset({"count", "index"})
DICT_METHODS = frozenset({"get", "items", "keys", "values"})
CALLED = "called"
"""The context of an attribute that the template calls."""


class _BoundedCode(CodeGenerator):
    """Code of templates whose joins of text, lists, maps, slices and comparisons are weighed."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja's
        self.write("environment.joined(context, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802 - Jinja's
        self.write("(")
        self._weighed(self.visit, node.expr, frame)
        for part in node.ops:
            self.write(f" {operators[part.op]} ")
            self._weighed(self.visit, part.expr, frame)
        self.write(")")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802 - Jinja's
        if node.ctx == CALLED:
            super().visit_Getattr(node, frame)
        else:
            self.write("environment.attribute(")
            self.visit(node.node, frame)
            self.write(f", {node.attr!r})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802 - Jinja's
        if isinstance(node.arg, nodes.Slice):
            self._weighed(super().visit_Getitem, node, frame)
        else:
            super().visit_Getitem(node, frame)

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802 - Jinja's
        self._weighed(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802 - Jinja's
        self._weighed(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802 - Jinja's
        if node.ctx == "load":
            self._weighed(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def _weighed(
        self, visit: Callable[[Value, Frame], None], node: nodes.Expr, frame: Frame
    ) -> None:
        self.write("environment.settled(context, ")
        visit(node, frame)
        self.write(")")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2 as specs may use it. Make it with ``templates.environment``."""

    code_generator_class = _BoundedCode
    context_class = BoundedContext
    intercepted_binops = frozenset({"+", "-", "*", "**", "%", "//", "/"})

    def __init__(self, *, asynchronous: bool) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            enable_async=asynchronous,
            finalize=finished,
            cache_size=0,
        )
        for name in ("lipsum", "cycler", "joiner"):
            del self.globals[name]
        self.filters = {**bounded_filters(asynchronous=asynchronous), ROUNDS: rounds}
        self.tests = bounded_tests()

    settled = staticmethod(settled)

    def make_globals(self, d: MutableMapping[str, Value] | None) -> dict[str, Value]:
        """Return one plain map: Jinja's chain of maps is copied, slowly, for each rendering."""
        return {**self.globals, **(d or {})}

    def preprocess(self, source: str, name: str | None = None, filename: str | None = None) -> str:
        """Remove the line of a tag that is alone on it; every other line keeps its number."""
        return _ALONE.sub(_close_up, super().preprocess(source, name, filename))

    def _generate(
        self,
        source: nodes.Template,
        name: str | None,
        filename: str | None,
        defer_init: bool = False,
    ) -> str:
        for loop in source.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, ROUNDS, [], [], None, None, lineno=loop.lineno)
        for call in source.find_all(nodes.Call):
            if isinstance(call.node, nodes.Getattr):
                call.node.ctx = CALLED
        return super()._generate(source, name, filename, defer_init)

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        """Join rendered pieces as long as they stay bearable."""
        parts: list[str] = []
        total = 0
        for piece in pieces:
            total += len(piece)
            require(total <= MAX_TEXT)
            parts.append(piece)
        return "".join(parts)

    def joined(self, context: Context, parts: tuple[object, ...]) -> str:
        """Return what ``~`` makes."""
        texts = [printed(part) for part in parts]
        require(sum(map(len, texts)) <= MAX_TEXT)
        return str(settled(context, "".join(texts)))

    def call_binop(self, context: Context, operator: str, left: Value, right: Value) -> Value:
        """Arithmetic, after a look at how large the result would be."""
        charge(context, 1)
        if operator == "**":
            check_power(left, right)
        elif operator == "*":
            check_product(left, right)
        elif operator == "%" and isinstance(left, str):
            check_format(left)
        return settled(context, self.binop_table[operator](left, right))

    def call(__self, __context: Context, __obj: Value, *args: Value, **kwargs: Value) -> Value:  # noqa: N805
        """Call what a template calls; each call costs."""
        charge(__context, 1)
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, (str, list, tuple, dict)):
            settled(__context, owner)
            if isinstance(owner, str) and __obj.__name__ == "replace":
                check_replace(owner, *args[:2])
        return settled(__context, super().call(__context, __obj, *args, **kwargs))

    def getattr(self, obj: Value, attribute: str) -> Value:
        """Return what a template calls by its name: a map's own key comes before its methods."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def getitem(self, obj: Value, argument: Value) -> Value:
        """Return an item; a name that is no key may be an attribute, but never a method."""
        return self._data(obj, argument, super().getitem(obj, argument))

    def attribute(self, obj: Value, name: str) -> Value:
        """Return what a template reads by its name, which is never a method."""
        return self._data(obj, name, self.getattr(obj, name))

    def _data(self, obj: Value, name: Value, value: Value) -> Value:
        """Return a value, or undefined for a method: its text would hold a memory address."""
        if not isinstance(value, BuiltinMethodType | MethodType) or not isinstance(obj, Collection):
            return value
        called = f"`{name}` is a method here and no key: write `.{name}()` to call it"
        return self.undefined(f"{called}, or `['{name}']` where there is a key of that name")

    def is_safe_attribute(self, obj: Value, attr: str, value: Value) -> bool:
        """Of built-in values only the methods listed here are within reach."""
        if isinstance(obj, str):
            return attr in TEXT_METHODS
        if isinstance(obj, (list, tuple)) and not hasattr(obj, "_fields"):
            return attr in LIST_METHODS
        if isinstance(obj, dict):
            return attr in DICT_METHODS
        if isinstance(obj, (int, float, bytes, range, type)):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Value) -> None:  # noqa: ARG002 - Jinja's signature
        """``str.format`` is not among the methods within reach."""
        return


# --- lines that hold a tag alone ------------------------------------------------------

_ALONE = re.compile(
    r"(?P<raw>\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\})"
    r"|^[ \t]*(?P<tag>\{%(?:(?!%\}|\{%).)*?|\{\#(?:(?!\#\}).)*?)(?P<end>[-+]?[%#]\})[ \t]*\n",
    re.MULTILINE | re.DOTALL,
)


def _close_up(match: re.Match[str]) -> str:
    """Move the line's end inside the tag, where it prints nothing and still counts."""
    if match["raw"]:
        return match["raw"]
    return f"{match['tag']}\n{match['end']}"
