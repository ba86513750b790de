"""A topology as frozen dataclasses: what the compiler and the engine read.

Built from the canonical form by the loader alone; every default is filled, every text file inlined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from orglab.providers.base import JSON

Action: TypeAlias = Literal["approve", "comment", "question", "revise", "reject"]

OBLIGING: frozenset[Action] = frozenset({"question", "revise", "reject"})
"""Actions that oblige a subordinate to take another turn and use one of the link's cap."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InputField:
    """One input of a unit of work.

    Attributes:
        name: Its name, a template variable.
        schema: JSON Schema of its value, without ``optional``.
        optional: A unit may leave it out; templates then see null.
        file: The value is the path of a file (``format: file``).
    """

    name: str
    schema: Mapping[str, JSON]
    optional: bool = False
    file: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """US dollars per million tokens; None = unknown."""

    input: float | None = None
    output: float | None = None
    cached_input: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """One entry of ``models``.

    Attributes:
        alias: Its name in the spec.
        provider: The provider's registered name.
        model: The exact model name; "" where the provider needs none.
        params: Sampling parameters, only those written.
        options: The provider's other fields (``base_url``, ``api_key_env``, ``file``, ``profile``,
            ``n_ctx``, …); files as absolute paths.
        price: What it costs, or None where the spec does not say.
        max_concurrency: Largest number of calls at once, or None.
        requests_per_minute: Or None.
        tokens_per_minute: Or None.
        timeout_seconds: Seconds after which a call is given up, or None.
        errors: Rates (0 to 1) of planted faults by name.
    """

    alias: str
    provider: str
    model: str = ""
    params: Mapping[str, JSON] = field(default_factory=dict)
    options: Mapping[str, JSON] = field(default_factory=dict)
    price: Price | None = None
    max_concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout_seconds: float | None = None
    faults: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """Models from which roles draw.

    Attributes:
        name: Its name.
        members: Aliases of models.
        draw: A new draw for each unit, or for each run.
        replace: Two roles of one draw may get the same model.
        balance: Over the units of a study each member is drawn about equally often.
    """

    name: str
    members: tuple[str, ...]
    draw: Literal["per_unit", "per_run"] = "per_unit"
    replace: bool = True
    balance: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """One tool that roles may call: an installed tool with settings (templates allowed in texts).

    Attributes:
        name: By which models call it.
        use: The installed tool, or source of tools.
        settings: What the author wrote under ``with``.
        source: For a tool from elsewhere: the entry of ``tools`` that gives it.
        tool: Likewise: the source's own name for it.
        served: Likewise: what the source said when the spec was frozen (``engine.spec.served``).
    """

    name: str
    use: str
    settings: Mapping[str, JSON] = field(default_factory=dict)
    source: str = ""
    tool: str = ""
    served: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluatorUse:
    """An evaluator with its arguments (templates allowed in texts)."""

    use: str
    arguments: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleLimits:
    """Limits of each turn of a role.

    Attributes:
        tool_calls: Tool calls a turn; then the tools are taken away and the model must answer.
        repeated_calls: Calls a turn of one tool with the same arguments; then refused.
        output_tokens: Tokens of one reply; None: the model's own.
        repair_attempts: How often a reply that does not fit is retried.
    """

    tool_calls: int = 8
    repeated_calls: int = 3
    output_tokens: int | None = None
    repair_attempts: int = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """One role: it asks a model, it votes, or it is a team.

    Exactly one of ``model`` (an alias), ``pool`` (a pool's name), ``vote`` and ``team`` is set.

    Attributes:
        errors: Rates (0 to 1) of planted faults by name, added to those of its model.
        vote: The field whose commonest value among its inputs is its output; no model is asked.
        team: The team that takes its turns. Its models are among those of the topology around it.
        fill: For ``team``: values of the team's inputs by name; texts are templates.
    """

    name: str
    system: str = ""
    prompt: str | None = None
    vars: Mapping[str, JSON] = field(default_factory=dict)
    model: str | None = None
    pool: str | None = None
    tools: tuple[str, ...] = ()
    sees: tuple[str, ...] = ("task", "inbox", "own")
    output: Mapping[str, JSON] | None = None
    join: Literal["all", "any"] = "all"
    replicas: int = 1
    on_error: Literal["fail", "skip"] = "fail"
    limits: RoleLimits = field(default_factory=RoleLimits)
    faults: Mapping[str, float] = field(default_factory=dict)
    vote: str | None = None
    team: Topology | None = None
    fill: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether a model takes its turns."""
        return self.vote is None and self.team is None


@dataclass(frozen=True, kw_only=True, slots=True)
class ForwardLink:
    """A's accepted output goes to B.

    Attributes:
        id: ``A>B`` unless the author named it.
        source: From.
        target: To.
        when: None: always. ``otherwise``: when no other link of the source is taken. Else the
            values that each named field of the source's validated output may have, all of which
            must hold.
        cap: Uses per run of a closing link; None on any other.
        on_cap: What a used-up closing link does to the run when nothing else was taken.
        each: The field whose items go out one by one: item i to copy i of the target.
    """

    id: str
    source: str
    target: str
    when: Literal["otherwise"] | Mapping[str, tuple[JSON, ...]] | None = None
    cap: int | None = None
    on_cap: Literal["stop", "accept"] = "stop"
    each: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """A phase of reviewing: the actions offered, and the prompt (None: the default)."""

    actions: tuple[Action, ...]
    prompt: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """What makes an authority link act.

    Attributes:
        kind: Which of the four.
        checks: For ``checks``: evaluators that pass or fail.
        voice: For ``checks``: who puts a failure into words.
        action: For ``checks``: what a failure obliges to.
        probability: For ``coin``: the chance of heads.
    """

    kind: Literal["judgement", "checks", "coin", "never"] = "judgement"
    checks: tuple[EvaluatorUse, ...] = ()
    voice: Literal["superior", "findings"] = "superior"
    action: Literal["revise", "reject"] = "revise"
    probability: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stake:
    """Points of each subordinate: where the balance starts, and what each verdict adds."""

    start: float = 0.0
    approve: float = 0.0
    question: float = 0.0
    revise: float = 0.0
    reject: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthorityLink:
    """``source`` is the superior of each of ``targets``; ``docs/reference/spec.md`` explains each field.

    Attributes:
        id: ``A>B`` unless the author named it (``A>B,C`` for several subordinates).
        source: The superior.
        targets: The subordinates, in written order.
        cap: How often per run this link may oblige.
        phases: First review of a subordinate, then the next, the last for every later one.
        sees: What the superior reads.
        trigger: What makes it act.
        directive: Fixed text in place of the superior's words, or None.
        target: Who must act when a check or coin fires; None: the role reviewed.
        reviews: How often per run a subordinate is reviewed; None: every output.
        on_cap: What happens to an objection when the cap is used up.
        stake: Points, or None.
    """

    id: str
    source: str
    targets: tuple[str, ...]
    cap: int
    phases: tuple[Phase, ...] = (Phase(actions=("approve", "comment", "revise")),)
    sees: Literal["latest", "blackboard"] = "latest"
    trigger: Trigger = field(default_factory=Trigger)
    directive: str | None = None
    target: str | None = None
    reviews: int | None = None
    on_cap: Literal["accept", "fail"] = "accept"
    stake: Stake | None = None


Link: TypeAlias = ForwardLink | AuthorityLink


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of a run; None: none.

    Attributes:
        turns: Turns, reviews by a model included.
        tokens: Tokens read and written.
        cost_usd: US dollars.
        seconds: Seconds on the run's critical path, as recorded.
    """

    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """A validated team. ``roles`` and ``links`` keep the declared order, part of the spec.

    Attributes:
        name: Its name.
        hash: Hex digest of the canonical form, less what cannot change an event.
        folder: The spec's folder: files lie in it.
        inputs: What a unit of work holds.
        models: By alias.
        pools: By name.
        tools: By name.
        roles: By name, in declared order.
        links: In declared order.
        start: Roles that begin the run, or None for the default.
        output: Roles whose delivered output is the answer.
        evaluators: Measures of every run.
        limits: Limits of a run.
        templates: Overridden engine templates by name (``prompt``, ``review``, ``powers``, …).
        normal: The canonical form as plain data, whole.
        description: In words.
        trusted: The user trusts the spec: it may run what it names, and send keys where it says.
    """

    name: str
    hash: str
    folder: Path
    inputs: Mapping[str, InputField]
    models: Mapping[str, Model]
    pools: Mapping[str, Pool]
    tools: Mapping[str, ToolUse]
    roles: Mapping[str, Role]
    links: tuple[Link, ...]
    start: tuple[str, ...] | None
    output: tuple[str, ...]
    evaluators: tuple[EvaluatorUse, ...] = ()
    limits: Limits = field(default_factory=Limits)
    templates: Mapping[str, str] = field(default_factory=dict)
    normal: Mapping[str, JSON] = field(default_factory=dict)
    description: str = ""
    trusted: bool = False

    @property
    def role_paths(self) -> tuple[str, ...]:
        """Names of all roles; of a sub-team, ``ROLE/NAME``, after its role."""
        return tuple(
            path
            for name, role in self.roles.items()
            for path in (name, *(f"{name}/{inner}" for inner in _paths(role)))
        )

    @property
    def forward(self) -> tuple[ForwardLink, ...]:
        """The forward links, in declared order."""
        return tuple(link for link in self.links if isinstance(link, ForwardLink))

    @property
    def authority(self) -> tuple[AuthorityLink, ...]:
        """The authority links, in declared order."""
        return tuple(link for link in self.links if isinstance(link, AuthorityLink))


def _paths(role: Role) -> tuple[str, ...]:
    return role.team.role_paths if role.team is not None else ()
