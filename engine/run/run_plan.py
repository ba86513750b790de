"""What all runs of a team share, and the frame of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.model_call import SharedResponses
from orglab.engine.run.calls.model_registry import ModelRegistry
from orglab.engine.run.calls.toolbox import Toolbox
from orglab.engine.run.outcome import Unit
from orglab.engine.run.prompts.rendering import Prompter
from orglab.engine.run.routing import RoutingPlan
from orglab.engine.run.subrun import SubrunContext
from orglab.engine.spec.model import AuthorityLink
from orglab.engine.spec.validate.path_confinement import confined_file
from orglab.engine.tools.source_pool import SourcePool


class RunPlan:
    """What all runs of a team share: made once, read by many runs at a time."""

    def __init__(
        self, team: Team, registry: ModelRegistry, sources: SourcePool | None = None
    ) -> None:
        self.team = team
        self.sources = sources or SourcePool()
        self.topology = team.topology
        self.registry = registry
        self.routing = RoutingPlan(team)
        self.prompter = Prompter(team.topology)
        self.reviews = {role: _reviewing(team, role) for role in team.topology.roles}
        self.teams = {
            role: RunPlan(inner, registry, self.sources) for role, inner in team.teams.items()
        }


def _reviewing(team: Team, role: str) -> list[AuthorityLink]:
    links = [link for link in team.topology.authority if role in link.targets]
    return sorted(links, key=lambda link: link.trigger.kind != "checks")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFrame:
    """The surroundings of a run: by itself, or in a turn of a role that is a team.

    Attributes:
        seed: The root seed.
        replicate: The replicate.
        scope: Digest that distinguishes its calls from those of other runs.
        sharing: Replies that arms share, or None.
        drawn: Whom models are drawn for: the unit, and the copy whose team this is.
        tossed: Whom coins are tossed for: the same, and which turn of the copy.
        within: The output that the run is to give in the run around it; "" for a run by itself.
        context: What reaches the roles that begin it.
    """

    seed: int
    replicate: int
    scope: str
    sharing: SharedResponses | None
    drawn: str
    tossed: str
    within: str = ""
    context: SubrunContext | None = None


def toolbox_for(plan: RunPlan, unit: Unit) -> Toolbox:
    """Return the tools of a run on a unit."""
    topology = plan.topology
    return Toolbox(
        uses=topology.tools,
        inputs=unit.inputs,
        resolve=resolver(topology.folder, unit),
        folder=topology.folder,
        sources=plan.sources,
    )


def resolver(folder: Path, unit: Unit) -> Callable[[str], Path]:
    """Return what finds the files of a run: those of the unit, else inside the spec's folder."""

    def resolve(text: str) -> Path:
        return unit.files.get(text) or confined_file(text, folder=folder, root=folder)

    return resolve
