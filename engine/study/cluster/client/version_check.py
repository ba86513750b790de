"""Whether a worker has what the client has: another orglab or plugin might play another run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from orglab.engine.spec.model import Topology
from orglab.engine.study.batch.batch import Arm
from orglab.providers.base import JSON

__all__ = ["differences", "plugins_used"]


_PRICES = "genai-prices"
"""What calls cost, where a spec does not say so, comes from here."""


def plugins_used(arms: Iterable[Arm]) -> set[tuple[str, str]]:
    """Group and name of each plugin that runs of the arms need."""
    return {used for arm in arms for used in _used(arm.team.topology)}


def _used(topology: Topology) -> Iterator[tuple[str, str]]:
    for model in topology.models.values():
        yield "orglab.providers", model.provider
    for tool in topology.tools.values():
        yield "orglab.tools", tool.use
    for link in topology.authority:
        for check in link.trigger.checks:
            yield "orglab.evaluators", check.use
    for role in topology.roles.values():
        if role.team is not None:
            yield from _used(role.team)


def differences(
    here: Mapping[str, JSON], there: Mapping[str, JSON], used: Iterable[tuple[str, str]]
) -> Sequence[str]:
    """Return what a worker has otherwise than the client, as text; empty where all is the same.

    Args:
        here: ``versions()`` of the client.
        there: Of the worker.
        used: The plugins that count.
    """
    found = []
    if here["orglab"] != there["orglab"]:
        found.append(f"orglab {there['orglab']}, not {here['orglab']}")
    for group, name in sorted(used):
        ours, theirs = (side["plugins"].get(group, {}).get(name) for side in (here, there))
        if ours != theirs:
            kind = group.removeprefix("orglab.").removesuffix("s")
            found.append(f"the {kind} {name} of {theirs or 'nothing installed'}, not {ours}")
    prices, theirs = (side["dependencies"].get(_PRICES) for side in (here, there))
    if prices != theirs:
        found.append(f"{_PRICES} {theirs}, not {prices}")
    return found
