"""Whether a worker has what the client has: another orglab or plugin might play another run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orglab.engine.study.batch.batch import Arm
from orglab.engine.study.cluster.client.bundle import teams_of
from orglab.providers.base import JSON

__all__ = ["differences", "plugins_used"]


_PRICES = "genai-prices"
"""What calls cost, where a spec does not say so, comes from here."""


def plugins_used(arms: Iterable[Arm]) -> set[tuple[str, str]]:
    """Return group and name of each plugin that runs of the arms need."""
    found: set[tuple[str, str]] = set()
    for team in (team for arm in arms for team in teams_of(arm.team.topology)):
        found |= {("orglab.providers", model.provider) for model in team.models.values()}
        found |= {("orglab.tools", tool.use) for tool in team.tools.values()}
        checks = [check for link in team.authority for check in link.trigger.checks]
        found |= {("orglab.evaluators", check.use) for check in checks}
    return found


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
