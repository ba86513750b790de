"""Checks of a role that is a team: does each input of the team get a value?"""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import ErrorIndex, choices, meant
from orglab.engine.spec.model import InputField, Role, Topology


def fill_problems(topology: Topology, errors: ErrorIndex) -> Iterator[Problem]:
    """Yield inputs of teams that nothing fills, and values for inputs that no team has."""
    for role in topology.roles.values():
        if role.team is None or errors.touches("roles", role.name):
            continue
        yield from _strange(role, role.team)
        for declared in role.team.inputs.values():
            if not errors.touches("inputs", declared.name):
                yield from _unfilled(topology, role, declared)


def _strange(role: Role, team: Topology) -> Iterator[Problem]:
    for name in role.fill:
        if name not in team.inputs:
            yield Problem(
                path=("roles", role.name, "with", name),
                wrong=f"the team of `{role.name}` has no input `{name}`",
                expected=f"one of {choices(team.inputs)}" if team.inputs else "",
                hint=meant(name, team.inputs) or "declare it under the team's `inputs`",
                at_key=True,
            )


def _unfilled(topology: Topology, role: Role, declared: InputField) -> Iterator[Problem]:
    name, outer = declared.name, topology.inputs.get(declared.name)
    if declared.optional or name in role.fill:
        return
    if outer is not None and "task" in role.sees and not outer.optional:
        return
    why = "there is no input of this name here"
    if outer is not None:
        why = f"`{role.name}` does not see the task"
        if "task" in role.sees:
            why = "it is optional here, and the team needs it"
    path: SpecPath = ("roles", role.name, "with", name)
    yield Problem(
        path=path,
        wrong=f"nothing fills the input `{name}` of the team of `{role.name}`: {why}",
        hint=f'write `with: {{{name}: "{{{{ inbox }}}}"}}`, say',
        at_key=True,
    )
