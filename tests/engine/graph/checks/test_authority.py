"""Targets of authority links, and checks that look at someone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orglab.engine.graph.compile import compile_topology
from orglab.engine.spec.errors import Problem
from orglab.engine.spec.model import AuthorityLink, EvaluatorUse, Topology, Trigger

Build = Callable[..., Topology]
COIN = Trigger(kind="coin", probability=0.5)


def checks(*roles: str | None) -> Trigger:
    """A check for each role, None: of whatever is reviewed."""
    uses = tuple(
        EvaluatorUse(use="contains", arguments={"text": "x"} | ({"role": role} if role else {}))
        for role in roles
    )
    return Trigger(kind="checks", checks=uses)


def reviewed(build: Build, **fields: Any) -> list[Problem]:
    """The problems of researcher > writer > critic with a link over the last two."""
    settings: dict[str, Any] = {
        "id": "x",
        "source": "boss",
        "targets": ("writer", "critic"),
        "cap": 1,
    }
    return compile_topology(
        build("researcher > writer", "writer > critic", AuthorityLink(**settings | fields))
    )[1]


@pytest.mark.parametrize(
    ("target", "trigger"),
    [
        ("researcher", COIN),
        ("writer", COIN),
        ("writer", checks(None)),
        ("critic", checks("critic")),
        ("writer", checks("critic", "writer")),
        ("writer", Trigger(kind="never")),
    ],
)
def test_a_target_comes_before_whoever_can_fire_it(
    build: Build, target: str, trigger: Trigger
) -> None:
    """Or is the same; checks with a role fire for it alone."""
    assert reviewed(build, target=target, trigger=trigger) == []


@pytest.mark.parametrize("trigger", [COIN, checks(None), checks("critic", None), checks("writer")])
def test_a_target_after_one_that_can_fire_it_is_refused(build: Build, trigger: Trigger) -> None:
    """The writer's failure cannot send the critic back."""
    (problem,) = reviewed(build, target="critic", trigger=trigger)
    assert problem.path == ("links", 2, "target")
    assert "`critic` does not come before `writer`" in problem.wrong


def test_a_judgement_names_its_target_itself(build: Build) -> None:
    """``target`` would be without effect."""
    (problem,) = reviewed(build, target="writer")
    assert problem.path == ("links", 2, "target")
    assert "when a check or a coin fires" in problem.wrong


def test_a_target_that_is_nobody(build: Build) -> None:
    """Is told with the nearest name."""
    (problem,) = reviewed(build, target="writr", trigger=COIN)
    assert problem.hint == "did you mean `writer`?"


def test_a_check_looks_at_someone_whom_the_link_reviews(build: Build) -> None:
    """A role of another link, or nobody's name, is refused."""
    (problem,) = reviewed(build, trigger=checks("writer", "researcher"))
    assert problem.path == ("links", 2, "trigger", "checks", 1, "contains", "role")
    assert problem.hint == "add `researcher` to the link's `to`"
    (problem,) = reviewed(build, trigger=checks("critc"))
    assert problem.hint == "did you mean `critic`?"


def test_an_evaluator_looks_at_a_role_that_there_is(build: Build) -> None:
    """By its argument ``role``."""
    uses = (EvaluatorUse(use="length"), EvaluatorUse(use="length", arguments={"role": "aa"}))
    _, (problem,) = compile_topology(build("a > b", evaluators=uses))
    assert problem.path == ("evaluators", 1, "length", "role")


@pytest.mark.parametrize(
    ("trigger", "directive", "invalid"),
    [
        (Trigger(), None, True),
        (Trigger(kind="checks", checks=(EvaluatorUse(use="x"),)), None, True),
        (Trigger(kind="checks", checks=(EvaluatorUse(use="x"),), voice="findings"), None, False),
        (COIN, None, True),
        (COIN, "Try again.", False),
        (Trigger(kind="never"), None, False),
    ],
)
def test_a_superior_that_must_speak_needs_a_model(
    build: Build, trigger: Trigger, directive: str | None, invalid: bool
) -> None:
    """Findings, a fixed directive and silence need none."""
    link = AuthorityLink(
        id="x", source="boss", targets=("a",), cap=1, trigger=trigger, directive=directive
    )
    _, found = compile_topology(build(link, roles={"a": {}, "boss": {"model": None}}, output="a"))
    assert [problem.path for problem in found] == ([("links", 0, "from")] if invalid else [])
