"""What compiles, into what, and every structural problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orglab.engine.graph.checks.cost_limit import lacking, price_of, unbounded_models
from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.model import (
    ForwardLink,
    Limits,
    Model,
    Pool,
    Price,
    RoleLimits,
    Topology,
)

Build = Callable[..., Topology]


def team(topology: Topology) -> Team:
    """The team, which must compile."""
    made, problems = compile_topology(topology)
    assert problems == []
    assert made is not None
    return made


def problems(topology: Topology, **options: Any) -> list[Problem]:
    """The problems, which there must be."""
    made, found = compile_topology(topology, **options)
    assert made is None
    return found


def only(topology: Topology) -> Problem:
    """The one problem that there is."""
    (problem,) = problems(topology)
    return problem


# --- the team -----------------------------------------------------------------------------------


def test_a_chain(build: Build) -> None:
    """Start, order, what lies before and after."""
    made = team(build("a > b", "b > c", "boss => a, b, c cap 2"))
    assert made.start == ("a",)
    assert made.order == ("a", "b", "c", "boss")
    assert made.reviewers == {"boss"}
    assert made.upstream["c"] == {"a", "b"}
    assert made.downstream["a"] == {"b", "c"}
    assert made.upstream["boss"] == made.downstream["boss"] == frozenset()
    assert made.closing == frozenset()


def test_every_parallel_edge_survives(build: Build) -> None:
    """Case 77: four links in, four edges out, of both kinds."""
    made = team(
        build(
            "lead > writer",
            "boss: lead => writer cap 1",
            "writer > lead cap 2",
            "urgent: lead > writer when v=urgent",
        )
    )
    edges = list(made.graph.edges(keys=True, data=True))
    assert len(edges) == 4
    assert [data["kind"] for *_, data in edges].count("authority") == 1
    assert set(made.graph["lead"]["writer"]) == {"lead>writer", "boss", "urgent"}
    assert made.graph.nodes["lead"]["role"].name == "lead"
    assert made.graph.edges["lead", "writer", "urgent"]["link"].when == {"v": ("urgent",)}


def test_a_link_with_several_subordinates_is_several_edges(build: Build) -> None:
    """All under the link's id."""
    made = team(build("a > b", "x: boss => a, b cap 1"))
    assert sorted(made.graph.edges("boss", keys=True)) == [("boss", "a", "x"), ("boss", "b", "x")]


def test_ties_of_order_go_by_declared_order(build: Build) -> None:
    """However the links are written."""
    roles: dict[str, Any] = {name: {} for name in ("z", "m", "a", "j")}
    links = ["a > j", "m > j", "z > j"]
    for some in (links, links[::-1]):
        assert team(build(*some, roles=roles)).order == ("z", "m", "a", "j")


def test_closing_links_are_no_part_of_the_dag(build: Build) -> None:
    """A cycle's entry is found without its back link, also of a role to itself."""
    made = team(build("a > b", "b > a cap 1", "b > b cap 2", "b > c"))
    assert made.closing == {"b>a", "b>b"}
    assert made.start == ("a",)
    assert made.upstream["a"] == frozenset()
    assert made.downstream["a"] == {"b", "c"}


def test_two_links_with_caps_may_close_one_cycle(build: Build) -> None:
    """Then no link of the DAG enters either role, and both begin."""
    made = team(build("a > b cap 1", "b > a cap 1"))
    assert made.closing == {"a>b", "b>a"}
    assert made.start == ("a", "b")


def test_superiors_with_forward_links_take_turns(build: Build) -> None:
    """Only those without forward links are left out of the default start."""
    made = team(build("lead > writer", "lead => writer cap 1"))
    assert made.start == ("lead",)
    assert made.reviewers == frozenset()


def test_a_named_start_is_kept_in_declared_order(build: Build) -> None:
    """Also where a link enters it."""
    made = team(build("a > b", "b > c", start=("b", "a")))
    assert made.start == ("a", "b")


def test_roles_without_links_all_begin(build: Build) -> None:
    """Side by side, all of them the answer."""
    made = team(build(roles={"a": {}, "b": {}}, output=("a", "b")))
    assert made.start == made.order == ("a", "b")


def test_a_superior_can_be_started(build: Build) -> None:
    """Named in ``start``, it takes a turn of its own."""
    made = team(build("boss => a cap 1", start=("boss", "a"), output="a"))
    assert made.reviewers == frozenset()


# --- cycles and caps ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("links", "cycle", "path"),
    [
        (["a > b", "b > a"], "a > b > a", ("links", 1)),
        (["a > a"], "a > a", ("links", 0)),
        (["a > b", "b > c", "c > b", "c > d"], "b > c > b", ("links", 2)),
        (["a > b", "b > c", "c > a", "c > a2", "a2 > c", "b > a cap 2"], "a > b > c > a", ("links", 2)),
    ],
)  # fmt: skip
def test_an_uncapped_cycle_is_named(
    build: Build, links: list[str], cycle: str, path: SpecPath
) -> None:
    """One for each group of roles, at the link that closes it."""
    problem = only(build(*links))
    assert problem.wrong == f"a cycle without a cap: {cycle}"
    assert problem.path == path


def test_each_group_of_roles_has_its_cycle_named(build: Build) -> None:
    """In declared order."""
    found = problems(build("a > b", "b > a", "b > c", "c > d", "d > c"))
    assert [problem.wrong.split(": ")[1] for problem in found] == ["a > b > a", "c > d > c"]


def test_a_dense_tangle_is_named_at_once(build: Build) -> None:
    """Not by listing its cycles, of which there are more than atoms."""
    names = [f"r{number}" for number in range(40)]
    links = [f"{one} > {other}" for one in names for other in names if one != other]
    assert only(build(*links)).wrong == "a cycle without a cap: r0 > r1 > r0"


def test_a_long_cycle_is_cut_in_the_middle(build: Build) -> None:
    """Its ends still tell where it is."""
    links = [f"r{number} > r{(number + 1) % 300}" for number in range(300)]
    assert only(build(*links)).wrong == (
        "a cycle without a cap: r0 > r1 > r2 > r3 > r4 > r5 > … 290 more … > "
        "r296 > r297 > r298 > r299 > r0"
    )


def test_a_cap_off_any_cycle_is_refused(build: Build) -> None:
    """It would bound nothing."""
    problem = only(build("a > b", "b > c cap 2"))
    assert problem.path == ("links", 1, "cap")
    assert "`b>c` has a cap and lies on no cycle" in problem.wrong


def test_authority_must_not_go_in_a_circle(build: Build) -> None:
    """The circle is named."""
    problem = only(build("a > b", "b > c", "b => a cap 1", "c => b cap 1", "a => c cap 1"))
    assert problem.wrong == "authority links form a cycle: a > c > b > a"
    assert problem.path == ("links", 4)


def test_nobody_is_its_own_superior(build: Build) -> None:
    """Told in plainer words."""
    assert only(build("a > b", "b => a, b cap 1")).wrong == "`b` is its own superior"


# --- who takes part -----------------------------------------------------------------------------


def test_a_role_nobody_reaches_is_refused(build: Build) -> None:
    """With where the run starts."""
    problem = only(build("a > b", "c > b", start=("a",)))
    assert problem.path == ("roles", "c")
    assert "`c` never takes a turn" in problem.wrong
    assert problem.expected == "the run starts with `a`"


def test_closing_links_reach_too(build: Build) -> None:
    """A role entered by a closing link alone is reached from a named start."""
    assert team(build("a > b", "b > a cap 1", start=("b",), output="b")).start == ("b",)


def test_an_uncapped_cycle_does_not_hide_who_is_unreached(build: Build) -> None:
    """Nor does it make its own roles unreached."""
    found = problems(build("a > b", "b > a", "b > c", "d > c", start=None))
    assert [problem.path for problem in found] == [("links", 1)]
    found = problems(build("a > b", "b > a", "b > c", "d > c", start=("a",)))
    assert [problem.path for problem in found] == [("links", 1), ("roles", "d")]


def test_links_of_a_mere_reviewer_deliver_nothing(build: Build) -> None:
    """A superior outside the start has no outputs to send on."""
    problem = only(build("a > b", "boss => a cap 1", "boss > b", start=("a",), output="b"))
    assert problem.path == ("links", 2, "from")


def test_a_mere_reviewer_has_nothing_to_review(build: Build) -> None:
    """A subordinate must take turns of its own."""
    found = only(build("boss => a cap 1", "chief => a, boss cap 1", roles={"a": {}}, output="a"))
    assert found.path == ("links", 1, "to", 1)
    assert "`boss` only reviews" in found.wrong


def test_a_mere_reviewer_has_no_answer(build: Build) -> None:
    """``output`` must name roles with turns of their own."""
    problem = only(build("a > b", "boss => b cap 1", output=("b", "boss")))
    assert problem.path == ("output", 1)


@pytest.mark.parametrize(
    "hint",
    [
        {"roles": {"b": {}, "c": {"sees": ("task", "role:b")}}},
        {"roles": {"b": {}, "c": {"sees": ("task", "blackboard")}}},
        {"roles": {"b": {}, "c": {"sees": ("task", "latest")}}},
        {"output": ("b", "c")},
    ],
)
def test_a_dead_end_is_refused_unless_someone_reads_it(build: Build, hint: dict[str, Any]) -> None:
    """By name, by the blackboard, as the latest, or as the answer."""
    problem = only(build("a > b", "a > c", output="c"))
    assert problem.path == ("roles", "b")
    assert "nothing uses what `b` writes" in problem.wrong
    team(build("a > b", "a > c", **{"output": "c", **hint}))


def test_a_reviewed_critic_is_no_dead_end(build: Build) -> None:
    """Where its review can send another role back, whatever the cap."""
    for cap in (0, 2):
        team(build("a > b", "b > c", f"boss => b, c cap {cap}", output="b"))
    assert only(build("a > b", "b > c", "boss => c cap 2", output="b")).path == ("roles", "c")


def test_names_that_are_nobody_are_reported_with_the_nearest(build: Build) -> None:
    """Wherever a role is named."""
    topology = build("writr > critic", "boss => critc cap 1", without=("writr", "critc"))
    topology = replace(topology, start=("critic", "bos"), output=("crtic",))
    found = {problem.path: problem.hint for problem in problems(topology)}
    assert found["links", 1, "to"] == found["output",] == "did you mean `critic`?"
    assert found["start", 1] == "did you mean `boss`?"
    assert ("links", 0, "from") in found


def test_twins_are_refused(build: Build) -> None:
    """Links equal in everything but the id."""
    problem = only(build("a > b", "again: a > b"))
    assert problem.path == ("links", 1)
    assert "same link as `a>b`" in problem.wrong
    topology = build("a > b when v=ok", "again: a > b when v=redo")
    assert len(team(topology).graph.edges) == 2


# --- money --------------------------------------------------------------------------------------


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that is not free."""

    class Hosted:
        free = False

    monkeypatch.setattr(
        "orglab.engine.graph.checks.cost_limit.load_plugin", lambda group, name: Hosted
    )


@pytest.mark.usefixtures("hosted")
def test_a_money_limit_needs_prices_and_a_longest_reply(build: Build) -> None:
    """Of the models that roles use, pools included, and of no others."""
    price = Price(input=1.0, output=2.0)
    models = {
        "none": Model(alias="none", provider="x"),
        "priced": Model(alias="priced", provider="x", price=price),
        "half": Model(
            alias="half", provider="x", price=Price(input=1.0), params={"max_output_tokens": 9}
        ),
        "good": Model(alias="good", provider="x", price=price, params={"max_output_tokens": 9}),
        "unused": Model(alias="unused", provider="x"),
    }
    topology = build(
        roles={"a": {"model": None, "pool": "p"}, "b": {"model": "good"}},
        output=("a", "b"),
        models=models,
        pools={"p": Pool(name="p", members=("none", "priced", "half"))},
    )
    team(topology)
    found = problems(replace(topology, limits=Limits(cost_usd=1.0)))
    assert {problem.path: problem.wrong.split("it has ")[1] for problem in found} == {
        ("models", "none"): "no `price` and no `params.max_output_tokens`",
        ("models", "priced"): "no `params.max_output_tokens`",
        ("models", "half"): "no `price.output`",
    }


@pytest.mark.usefixtures("hosted")
def test_limits_of_roles_bound_replies_too(build: Build) -> None:
    """Where every role that uses a model has ``output_tokens``, the model needs none."""
    model = Model(alias="m", provider="x", price=Price(input=1.0, output=2.0))
    bound, endless = RoleLimits(output_tokens=9), RoleLimits()
    for limits, invalid in ((bound, False), (endless, True)):
        topology = build(
            roles={"a": {"model": "m", "limits": bound}, "b": {"model": "m", "limits": limits}},
            output=("a", "b"),
            models={"m": model},
        )
        found = problems(replace(topology, limits=Limits(cost_usd=1.0))) if invalid else []
        assert [problem.path for problem in found] == [("models", "m")] * invalid
        assert unbounded_models(topology) == ["m"] * invalid
    assert "(or `limits.output_tokens` to `b`)" in found[0].hint


def test_a_published_price_is_enough_for_a_money_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of which a price is known needs none in the spec; a server of one's own has none."""
    kind = type("Hosted", (), {"free": False})
    monkeypatch.setattr(
        "orglab.engine.graph.checks.cost_limit.load_plugin", lambda group, name: kind
    )
    model = Model(
        alias="m", provider="openai", model="gpt-4o-mini", params={"max_output_tokens": 9}
    )
    assert lacking(model, []) == []
    assert lacking(replace(model, params={}), []) == ["params.max_output_tokens"]
    assert lacking(replace(model, model="unheard-of"), []) == ["price"]
    assert lacking(replace(model, options={"base_url": "http://localhost:1/v1"}), []) == ["price"]


def test_a_written_price_stands_whole(build: Build) -> None:
    """Nothing is added from the published list; and a free model with a price is billed."""
    half = Model(alias="m", provider="openai", model="gpt-4o-mini", price=Price(input=1.0))
    assert price_of(half) == Price(input=1.0)
    free = Model(alias="m", provider="simulated")
    priced = replace(free, price=Price(input=1.0, output=1.0))
    assert [lacking(free, []), lacking(priced, [])] == [[], ["params.max_output_tokens"]]


# --- several at once ----------------------------------------------------------------------------


def test_all_problems_come_in_one_go(build: Build) -> None:
    """A cycle, a condition, a template and an unreached role."""
    topology = build(
        "a > b",
        "b > a",
        "b > c when w=ok",
        "d > c",
        roles={"a": {"prompt": "{{ topik }}"}, "d": {}},
        start=("a",),
        output="c",
    )
    assert {problem.path for problem in problems(topology)} == {
        ("links", 1),
        ("links", 2, "when", "w"),
        ("roles", "a", "prompt"),
        ("roles", "d"),
    }


def test_of_a_partial_topology_only_what_is_certain_is_reported(build: Build) -> None:
    """A missing link may be why a role is unreached; a cycle is a cycle."""
    topology = build("a > b", "b > a", "b > c cap 1", start=("c",), output="z")
    assert [problem.path for problem in problems(topology, blamed=[("links", 3)])] == [("links", 1)]
    assert compile_topology(build("a > b"), blamed=[("links", 3)]) == (None, [])


def test_compiling_changes_nothing(build: Build) -> None:
    """The same topology compiles to an equal team."""
    topology = build("a > b", ForwardLink(id="x", source="b", target="a", cap=1), output="b")
    one, other = team(topology), team(topology)
    assert one.topology is topology
    assert (one.order, one.start, one.bounds) == (other.order, other.start, other.bounds)
