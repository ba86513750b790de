"""The most turns and calls that a run can take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Bounds
from orglab.engine.spec.model import (
    AuthorityLink,
    EvaluatorUse,
    Limits,
    Phase,
    RoleLimits,
    Topology,
    Trigger,
)

Build = Callable[..., Topology]
CHECKS = (EvaluatorUse(use="contains"),)


def bounds(topology: Topology) -> Bounds:
    """The bounds of a sound topology."""
    team, problems = compile_topology(topology)
    assert problems == []
    assert team is not None
    return team.bounds


def turns(build: Build, *links: Any, **fields: Any) -> int:
    """The bound on turns."""
    return bounds(build(*links, **fields)).turns


@pytest.mark.parametrize(
    ("links", "most"),
    [
        (["a > b", "b > c"], 3),
        (["a > b", "b > a cap 0"], 2),
        (["a > b", "b > a cap 3"], 8),  # case 72: four turns each
        (["a > a cap 2"], 3),
        (["a > b", "b > c", "c > b cap 2"], 3 + 2 * 2),
        (["boss => a cap 0"], 2),  # an advisory link still reads
        (["boss => a cap 2"], 6),
        (["a > b", "boss => a cap 1"], 3 + 3),  # a, its review and b, twice
        (["a > b", "boss => b cap 1"], 3 + 2),
        (["a > b", "boss => a, b cap 2"], 4 + 2 * 4),  # dearest: a, with all that follows it
        (["a > b", "x: boss => b cap 1", "y: chief => b cap 1"], 4 + 2 * 3),
    ],
)
def test_the_bound_on_turns(build: Build, links: list[str], most: int) -> None:
    """First pass, reviews, and all that each use of a cap can start again."""
    assert turns(build, *links, roles={"a": {}}) == most


def test_copies_multiply(build: Build) -> None:
    """A closing link starts all copies again, a verdict the one it is about."""
    roles = {"a": {}, "b": {"replicas": 3}}
    assert turns(build, "a > b", "b > a cap 1", roles=roles) == 2 * 4
    assert turns(build, "a > b", "boss => b cap 1", roles=roles) == 1 + 6 + 2
    assert turns(build, "a > b", "boss => a cap 1", roles=roles) == 2 * (2 + 3)


def over(build: Build, **fields: Any) -> int:
    """The bound of a > b with a link of these fields over b, cap 2."""
    settings: dict[str, Any] = {"id": "x", "source": "boss", "targets": ("b",), "cap": 2}
    link = AuthorityLink(**settings | fields)
    return turns(build, "a > b", link)


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({}, 2 + 1 + 2 * 2),
        ({"phases": (Phase(actions=("approve", "comment")),)}, 3),
        ({"trigger": Trigger(kind="never")}, 2),
        ({"trigger": Trigger(kind="coin", probability=0.0)}, 2),
        ({"trigger": Trigger(kind="coin", probability=1.0), "directive": "again"}, 2 + 2),
        ({"trigger": Trigger(kind="coin", probability=0.5)}, 2 + 2 + 2),
        ({"trigger": Trigger(kind="checks", checks=CHECKS, voice="findings")}, 2 + 2),
        ({"trigger": Trigger(kind="checks", checks=CHECKS)}, 3 + 2 * 2),
        ({"reviews": 1}, 2 + 2 + 1),
        ({"reviews": 9}, 2 + 2 + 3),
        (
            {"trigger": Trigger(kind="checks", checks=CHECKS, voice="findings"), "target": "a"},
            2 + 2 * 2,
        ),
    ],
)
def test_each_trigger_has_its_own_share(build: Build, fields: dict[str, Any], most: int) -> None:
    """Who asks a model, who obliges, how often."""
    assert over(build, **fields) == most


def test_a_revise_may_send_all_copies_of_an_earlier_role_back(build: Build) -> None:
    """Where a subordinate of the same link comes after them."""
    roles = {"a": {"replicas": 2}, "b": {}}
    assert turns(build, "a > b", "boss => a, b cap 1", roles=roles) == 2 * (4 + 2)


def test_calls_weigh_turns_by_tools_and_repairs(build: Build) -> None:
    """tool_calls, where there are tools, + 1 + repair_attempts; reviews by the superior's."""
    roles = {
        "a": {"tools": ("t",), "limits": RoleLimits(tool_calls=5, repair_attempts=1)},
        "b": {"limits": RoleLimits(tool_calls=5, repair_attempts=0)},
        "boss": {"limits": RoleLimits(repair_attempts=2)},
    }
    assert bounds(build("a > b", "boss => b cap 1", roles=roles)) == Bounds(
        turns=5, calls=7 + 2 * (1 + 3)
    )


def test_limits_turns_cuts_both(build: Build) -> None:
    """A limit equal to the need changes nothing."""
    assert bounds(build("a > b", "b > a cap 3", limits=Limits(turns=8))).turns == 8
    assert bounds(build("a > b", "b > a cap 3", limits=Limits(turns=5))) == Bounds(
        turns=5, calls=15
    )


def test_roles_that_only_review_take_no_turns_of_their_own(build: Build) -> None:
    """They count by their reviews alone."""
    assert turns(build, "a > b", "boss => b cap 0", "chief => b cap 0") == 4
