"""Two teams compared: their differences, the prompts of a sample unit, their graphs.

``docs/how-to/diff.md`` shows what it looks like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orglab.engine.graph.draw.diagram import diagram_of
from orglab.engine.graph.draw.draw import draw
from orglab.engine.graph.draw.mermaid import mermaid_text
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import InputField, Topology
from orglab.engine.study.experiment.diff import ABSENT, Difference, differences, tested, undeclared
from orglab.engine.study.plan.dry_run import Prompt, rendered_prompts
from orglab.providers.base import JSON
from orglab.results.word_diff import changed_words


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptPair:
    """The same prompt on both sides; "" where one side has none.

    Attributes:
        title: Whose it is, and in which turn.
        left: Its text on the left.
        right: Its text on the right.
    """

    title: str
    left: str
    right: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two teams compared.

    Attributes:
        left: Name of the one.
        right: Name of the other.
        differences: Every difference of the teams.
        measured: Where evaluators differ: no difference of a treatment, since an experiment measures all
            arms alike.
        treatment: The declared paths; None where none were declared.
        prompts: Prompts of a sample unit that differ.
        unit: Id of the sample unit.
        errors: Why a side has no more prompts than these, as where a tool found no file.
        graphs: Both graphs as Mermaid, what changed marked; equal where nothing did.
    """

    left: str
    right: str
    differences: Sequence[Difference]
    treatment: Sequence[str] | None
    prompts: Sequence[PromptPair]
    unit: str
    graphs: tuple[str, str]
    errors: Sequence[str] = ()
    measured: Sequence[Difference] = ()

    @property
    def undeclared(self) -> list[Difference]:
        """The differences beyond the treatment; [] where no treatment was declared."""
        return undeclared(self.differences, self.treatment) if self.treatment is not None else []

    def as_json(self) -> dict[str, JSON]:
        """Return the comparison as plain data."""
        return {
            "left": self.left,
            "right": self.right,
            "treatment": self.treatment,
            "differences": [_difference_json(each) for each in self.differences],
            "measured": [_difference_json(each) for each in self.measured],
            "undeclared": [each.where for each in self.undeclared],
            "unit": self.unit,
            "prompts": [
                {"title": pair.title, "left": pair.left, "right": pair.right}
                for pair in self.prompts
            ],
            "faults": list(self.errors),
            "graphs": {"left": self.graphs[0], "right": self.graphs[1]},
        }


def _difference_json(found: Difference) -> dict[str, JSON]:
    body: dict[str, JSON] = {"path": found.where, "kind": found.kind}
    if found.left is not ABSENT:
        body["left"] = found.left
    if found.right is not ABSENT:
        body["right"] = found.right
    if isinstance(found.left, str) and isinstance(found.right, str):
        body["words"] = changed_words(found.left, found.right)
    return body


async def frozen_comparison(
    left: Team,
    right: Team,
    *,
    names: tuple[str, str],
    unit: Unit,
    treatment: Sequence[str],
    seed: int,
) -> dict[str, JSON]:
    """Return a comparison with both drawings, as the store keeps it for the report."""
    found = await compare_teams(left, right, names=names, unit=unit, treatment=treatment, seed=seed)
    drawings = {names[0]: draw(left, "svg"), names[1]: draw(right, "svg")}
    return {**found.as_json(), "drawings": drawings}


async def compare_teams(
    left: Team,
    right: Team,
    *,
    names: tuple[str, str],
    unit: Unit | None = None,
    treatment: Sequence[str] | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two teams.

    Args:
        left: The one.
        right: The other.
        names: What to call them.
        unit: A unit whose prompts are rendered; default: inputs that name themselves.
        treatment: Paths in which they may differ; None: anything may.
        seed: The root seed of the dry runs.
    """
    every = differences(left.topology.normal, right.topology.normal)
    found = tested(every)
    sample = unit or sample_unit(left.topology, right.topology)
    sides = [await rendered_prompts(team, sample, seed=seed) for team in (left, right) if found]
    changed = frozenset(
        each.path[1] for each in found if len(each.path) > 1 and each.path[0] in ("roles", "links")
    )
    graphs = [mermaid_text(diagram_of(team), changed) for team in (left, right)]
    return Comparison(
        left=names[0],
        right=names[1],
        differences=found,
        treatment=treatment,
        prompts=_pairs(*(side.prompts for side in sides)) if sides else [],
        unit=sample.id,
        graphs=(graphs[0], graphs[1]),
        errors=[
            f"{name}: {side.issue}" for name, side in zip(names, sides, strict=False) if side.issue
        ],
        measured=[each for each in every if each not in found],
    )


def sample_unit(*topologies: Topology) -> Unit:
    """Return a unit whose inputs name themselves, for looking at prompts: those of all the teams."""
    declared = {name: field for team in topologies for name, field in team.inputs.items()}
    inputs = {name: _sample(field) for name, field in declared.items()}
    named = [inputs[name] for name, field in declared.items() if field.file]
    folder = topologies[0].folder
    files = {text: folder / text for text in named}  # not there: only tools would open it
    return Unit(id="sample", inputs=inputs, files=files)


def _sample(declared: InputField) -> JSON:
    schema = declared.schema
    if "enum" in schema:
        return schema["enum"][0]
    samples: Mapping[str, JSON] = {
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return samples.get(str(schema.get("type")), f"[{declared.name}]")


def _pairs(left: Sequence[Prompt], right: Sequence[Prompt]) -> list[PromptPair]:
    ours, theirs = _texts(left), _texts(right)
    titles = [*ours, *(title for title in theirs if title not in ours)]
    pairs = [
        PromptPair(title=title, left=ours.get(title, ""), right=theirs.get(title, ""))
        for title in titles
    ]
    return [pair for pair in pairs if pair.left != pair.right]


def _texts(prompts: Sequence[Prompt]) -> dict[str, str]:
    return {
        prompt.title: "\n".join(
            f"[{message.role}]\n{message.content}" for message in prompt.messages
        )
        for prompt in prompts
    }
