"""``when`` looks at what the source's output can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orglab.engine.graph.compile import compile_topology
from orglab.engine.spec.errors import Problem
from orglab.engine.spec.model import ForwardLink, Topology

Build = Callable[..., Topology]


def conditional(build: Build, when: Any, output: Any) -> list[Problem]:
    """The problems of a link from ``a`` with this condition, ``a`` having this schema."""
    link = ForwardLink(id="x", source="a", target="b", when=when)
    _, found = compile_topology(build(link, roles={"a": {"output": output}}))
    return found


OBJECT = {
    "type": "object",
    "properties": {"v": {"enum": ["ok", "redo", 1]}, "n": {"type": "integer"}},
}
NESTED = {
    "$defs": {"verdict": {"enum": ["ok", "redo"]}, "whole": {"properties": {"v": {"$ref": "#/$defs/verdict"}}}},
    "anyOf": [{"$ref": "#/$defs/whole"}, {"properties": {"w": {"const": "late"}}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("when", "output"),
    [
        ({"v": ("ok",)}, OBJECT),
        ({"v": ("ok", "redo"), "n": (3,)}, OBJECT),
        ({"n": (3.0,)}, OBJECT),
        ({"v": ("redo",)}, NESTED),
        ({"w": ("late",)}, NESTED),
        ({"v": ("anything", 3, None)}, {"properties": {"v": {}}}),
        ({"v": ("anything",)}, {"properties": {"v": True}}),
        ({"v": ("x",)}, {"properties": {"v": {"$ref": "#/$defs/missing"}}}),
        ({"v": ("x",)}, {"properties": {"v": {"pattern": "("}}}),
    ],
)
def test_what_can_be_is_no_problem(build: Build, when: Any, output: Any) -> None:
    """Also where the schema does not tell, or is broken in ways that the loader tells."""
    assert conditional(build, when, output) == []


def test_free_text_has_no_fields(build: Build) -> None:
    """A condition needs a structured output."""
    (problem,) = conditional(build, {"v": ("ok",)}, None)
    assert problem.path == ("links", 0, "when")
    assert problem.wrong == "`when` looks at `v`, but `a` writes free text"


@pytest.mark.parametrize(
    ("output", "expected", "hint"),
    [
        (OBJECT, "one of `v` or `n`", "add `verdict` to the `output` schema of `a`"),
        ({"properties": {"verdct": {}}}, "one of `verdct`", "did you mean `verdct`?"),
        ({}, "an object with fields", "add `verdict` to the `output` schema of `a`"),
    ],
)
def test_a_field_that_is_not_there(build: Build, output: Any, expected: str, hint: str) -> None:
    """Is told with those that are."""
    (problem,) = conditional(build, {"verdict": ("ok",)}, output)
    assert problem.path == ("links", 0, "when", "verdict")
    assert problem.wrong == "the output of `a` has no field `verdict`"
    assert (problem.expected, problem.hint) == (expected, hint)


@pytest.mark.parametrize(
    ("when", "output", "wrong", "number"),
    [
        ({"v": ("reddo",)}, OBJECT, '`v` of `a` can never be "reddo"', None),
        ({"v": ("ok", True)}, OBJECT, "`v` of `a` can never be true", 1),
        ({"n": ("3",)}, OBJECT, '`n` of `a` can never be "3"', None),
        ({"v": ("late",)}, NESTED, '`v` of `a` can never be "late"', None),
        ({"v": (None,)}, {"properties": {"v": False}}, "`v` of `a` can never be null", None),
    ],
)
def test_a_value_that_can_never_be(
    build: Build, when: Any, output: Any, wrong: str, number: int | None
) -> None:
    """By enum, const or type; of several values the one that is wrong."""
    (problem,) = conditional(build, when, output)
    field = next(iter(when))
    suffix = () if number is None else (number,)
    assert problem.path == ("links", 0, "when", field, *suffix)
    assert problem.wrong == wrong


def test_a_near_value_is_named(build: Build) -> None:
    """With all that the schema allows."""
    (problem,) = conditional(build, {"v": ("reddo",)}, OBJECT)
    assert problem.expected == "the schema allows `ok`, `redo` or `1`"
    assert problem.hint == "did you mean `redo`?"


def test_otherwise_needs_another_link(build: Build) -> None:
    """Alone it has nothing to be other than."""
    _, found = compile_topology(build("a > b otherwise"))
    assert [problem.path for problem in found] == [("links", 0, "when")]
    assert "it has none" in found[0].wrong
    assert compile_topology(build("a > c when v=ok", "a > b otherwise", output=("b", "c")))[1] == []


def test_otherwise_beside_a_link_always_taken_never_is(build: Build) -> None:
    """Unless that link has a cap, which can be used up."""
    _, found = compile_topology(build("a > c", "a > b otherwise", output=("b", "c")))
    assert [problem.wrong for problem in found] == [
        "`otherwise` is never taken, since `a>c` always is"
    ]
    assert compile_topology(build("a > b", "b > a cap 1", "b > c otherwise"))[1] == []
