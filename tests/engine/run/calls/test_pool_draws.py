"""Pools: which model each role draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from orglab.engine.run.calls.pool_draws import draw_models
from orglab.engine.run.replicas import Replicas
from orglab.engine.spec.model import Model, Pool, Topology

MEMBERS = ("gpt", "gemini", "qwen", "glm", "mistral")
MODELS = {name: Model(alias=name, provider="scripted") for name in MEMBERS}


def pooled(build: Callable[..., Topology], **pool: Any) -> Topology:
    """Five roles that draw from one pool."""
    roles = {name: {"model": None, "pool": "p"} for name in "abcde"}
    pools = {"p": Pool(name="p", members=MEMBERS, **pool)}
    return build(roles, [], "a", models=MODELS, pools=pools)


def drawn(topology: Topology, unit: int, replicate: int = 0) -> dict[str, str]:
    """The draw of a unit."""
    return draw_models(
        topology,
        Replicas(topology.roles),
        seed=7,
        unit=f"u{unit}",
        unit_index=unit,
        replicate=replicate,
    )


def test_a_draw_is_the_same_for_a_unit(build: Callable[..., Topology]) -> None:
    """`per_unit`: replicates share it; other units have others."""
    topology = pooled(build)
    assert drawn(topology, 1) == drawn(topology, 1, replicate=3)
    assert len({tuple(drawn(topology, unit).values()) for unit in range(20)}) > 10


def test_a_draw_per_run_changes_with_the_replicate(build: Callable[..., Topology]) -> None:
    """`per_run`: every replicate draws anew."""
    topology = pooled(build, draw="per_run")
    assert len({tuple(drawn(topology, 1, n).values()) for n in range(20)}) > 10


def test_without_replacement_no_two_roles_share_a_model(build: Callable[..., Topology]) -> None:
    """Five roles, five members: each once."""
    topology = pooled(build, replace=False)
    for unit in range(30):
        assert sorted(drawn(topology, unit).values()) == sorted(MEMBERS)


def test_balance_draws_each_member_equally_often(build: Callable[..., Topology]) -> None:
    """Over 25 units each role has each member five times."""
    topology = pooled(build, balance=True)
    counts = Counter(drawn(topology, unit)["c"] for unit in range(25))
    assert set(counts.values()) == {5}


def test_draws_with_replacement_are_about_uniform(build: Callable[..., Topology]) -> None:
    """Over 1,000 units no member is drawn out of all proportion."""
    topology = pooled(build)
    counts = Counter(drawn(topology, unit)["a"] for unit in range(1000))
    assert all(140 < counts[member] < 260 for member in MEMBERS)
