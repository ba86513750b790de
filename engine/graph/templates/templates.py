"""Templates of specs: what a text refers to, and its compiled form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from jinja2 import Template, TemplateSyntaxError, nodes

from orglab.engine.graph.templates.errors import TemplateIssue, template_issue
from orglab.engine.graph.templates.sandbox import BoundedEnvironment
from orglab.engine.spec.messages import nearest

MAX_DEPTH = 45
MAX_LOOPS = 10
REFUSED: dict[type[nodes.Node], str] = {
    nodes.Block: "block",
    nodes.Extends: "extends",
    nodes.FromImport: "from … import",
    nodes.Import: "import",
    nodes.Include: "include",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class References:
    """What a template refers to beyond what it sets itself.

    Attributes:
        variables: Top-level names.
        attributes: (name, attribute) for each ``name.attribute`` and ``name["attribute"]``.
        tools: Tools called by ``tool.NAME(…)``.
        whole: Names used otherwise than by a named attribute.
        error: Why the text is no template, or None.
    """

    variables: frozenset[str] = frozenset()
    attributes: frozenset[tuple[str, str]] = frozenset()
    tools: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    error: TemplateIssue | None = None


@lru_cache(maxsize=2)
def environment(asynchronous: bool = False) -> BoundedEnvironment:
    """Return the environment of all templates of specs.

    Args:
        asynchronous: For templates rendered with ``render_async``, in which ``tool.NAME(…)`` may
            be awaitable.
    """
    return BoundedEnvironment(asynchronous=asynchronous)


def is_template(text: str) -> bool:
    """Return whether ``text`` holds anything for Jinja."""
    return "{{" in text or "{%" in text or "{#" in text


@lru_cache(maxsize=8192)
def compiled(text: str, asynchronous: bool = False) -> Template:
    """Return ``text`` ready to be rendered; kept, since the same text is rendered many times.

    Raises:
        jinja2.TemplateSyntaxError: The text is no template; ``references`` reports so beforehand.
    """
    return environment(asynchronous).from_string(text)


@lru_cache(maxsize=8192)
def references(text: str) -> References:
    """Return what ``text`` refers to; ``error`` is set where it is no template. Never raises."""
    if not is_template(text):
        return References()
    try:
        tree = environment().parse(text)
        walk = _Walk()
        walk.body(tree.body, set())
    except TemplateSyntaxError as error:
        return References(error=template_issue(text, error, environment()))
    except RecursionError:
        return References(error=TemplateIssue("nested too deeply", 1))
    return walk.found()


@dataclass(slots=True)
class _Walk:
    """Goes through a template with the names known at each point."""

    variables: set[str] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    loops: int = 0
    depth: int = 0

    def found(self) -> References:
        return References(
            variables=frozenset(self.variables),
            attributes=frozenset(self.attributes),
            tools=frozenset(name for owner, name in self.attributes if owner == "tool"),
            whole=frozenset(self.whole),
        )

    def body(self, body: list[nodes.Node], known: set[str]) -> set[str]:
        """Return visits ``body``; gives the names known after it. ``known`` is left alone."""
        known = set(known)
        for node in body:
            self.node(node, known)
        return known

    def node(self, node: nodes.Node, known: set[str]) -> None:
        """Visits ``node``; adds the names that it sets to ``known``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TemplateSyntaxError("nested too deeply", node.lineno)
        _refuse(node)
        visit = getattr(self, f"_{type(node).__name__.lower()}", self._other)
        visit(node, known)
        self.depth -= 1

    def _other(self, node: nodes.Node, known: set[str]) -> None:
        for child in node.iter_child_nodes():
            self.node(child, known)

    def _name(self, node: nodes.Name, known: set[str]) -> None:
        if node.ctx != "load":
            known.add(node.name)
        elif self._free(node.name, known):
            self.variables.add(node.name)
            self.whole.add(node.name)

    def _free(self, name: str, known: set[str]) -> bool:
        return name not in known and name not in environment().globals

    def _nsref(self, node: nodes.NSRef, known: set[str]) -> None:
        if self._free(node.name, known):
            self.variables.add(node.name)

    def _getattr(self, node: nodes.Getattr, known: set[str]) -> None:
        self._attribute(node.node, node.attr, known)

    def _getitem(self, node: nodes.Getitem, known: set[str]) -> None:
        key = node.arg
        if isinstance(key, nodes.Const) and isinstance(key.value, str):
            self._attribute(node.node, key.value, known)
        else:
            self._other(node, known)

    def _attribute(self, owner: nodes.Expr, name: str, known: set[str]) -> None:
        if not isinstance(owner, nodes.Name):
            self.node(owner, known)
        elif self._free(owner.name, known):
            self.variables.add(owner.name)
            self.attributes.add((owner.name, name))

    def _assign(self, node: nodes.Assign, known: set[str]) -> None:
        self.node(node.node, known)
        self.node(node.target, known)

    def _assignblock(self, node: nodes.AssignBlock, known: set[str]) -> None:
        self.body(node.body, known)
        if node.filter is not None:
            self.node(node.filter, known)
        self.node(node.target, known)

    def _if(self, node: nodes.If, known: set[str]) -> None:
        self.node(node.test, known)
        ends = [self.body(node.body, known)]
        for branch in node.elif_:
            self.node(branch.test, known)
            ends.append(self.body(branch.body, known))
        ends.append(self.body(node.else_, known))
        known |= set.intersection(*ends)

    def _for(self, node: nodes.For, known: set[str]) -> None:
        self.loops += 1
        if self.loops > MAX_LOOPS:
            raise TemplateSyntaxError("loops nested too deeply", node.lineno)
        self.node(node.iter, known)
        inner = known | {"loop"}
        self.node(node.target, inner)
        if node.test is not None:
            self.node(node.test, set(inner))
        self.body(node.body, inner)
        self.body(node.else_, known)
        self.loops -= 1

    def _macro(self, node: nodes.Macro, known: set[str]) -> None:
        known.add(node.name)
        self._callable(node, known)

    def _callblock(self, node: nodes.CallBlock, known: set[str]) -> None:
        self.node(node.call, known)
        self._callable(node, known)

    def _callable(self, node: nodes.Macro | nodes.CallBlock, known: set[str]) -> None:
        for default in node.defaults:
            self.node(default, known)
        inner = known | {"varargs", "kwargs", "caller"}
        self.body(node.body, inner | {argument.name for argument in node.args})

    def _with(self, node: nodes.With, known: set[str]) -> None:
        inner = set(known)
        for value in node.values:
            self.node(value, known)
        for target in node.targets:
            self.node(target, inner)
        self.body(node.body, inner)

    def _filter(self, node: nodes.Filter, known: set[str]) -> None:
        _installed("filter", node, environment().filters)
        self._other(node, known)

    def _test(self, node: nodes.Test, known: set[str]) -> None:
        _installed("test", node, environment().tests)
        self._other(node, known)


def _refuse(node: nodes.Node) -> None:
    tag = REFUSED.get(type(node))
    if tag:
        raise TemplateSyntaxError(f"templates here have no `{tag}`", node.lineno)
    if isinstance(node, nodes.For) and node.recursive:
        raise TemplateSyntaxError("templates here have no recursive loops", node.lineno)


def _installed(kind: str, node: nodes.Filter | nodes.Test, names: Mapping[str, object]) -> None:
    if node.name not in names:
        near = nearest(node.name, names)
        hint = f"; did you mean `{near}`?" if near else ""
        raise TemplateSyntaxError(f"no {kind} `{node.name}`{hint}", node.lineno)
