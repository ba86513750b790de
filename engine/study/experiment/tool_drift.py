"""Tools from elsewhere that are no longer what a study began with: noticed, and refused as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from orglab.engine.graph.team import Team
from orglab.providers.base import JSON
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader

_HASH: Final = 8
"""Hex digits of a spec's hash in a study's default folder."""
_REMARKS: Final = frozenset({"description", "name"})


def changed_tools(before: Mapping[str, JSON], now: Mapping[str, JSON]) -> str:
    """Return what changed, where two normal forms are equal but for what sources of tools said; else ""."""
    if not before or before == now or _written(before) != _written(now):
        return ""
    then, tools = before["tools"], now["tools"]
    changes = [
        _change(name, then[name]["served"], tool["served"])
        for name, tool in tools.items()
        if "served" in tool and then[name]["served"] != tool["served"]
    ]
    return "; ".join(changes)


def _written(normal: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return what the author wrote, less what changes no event."""
    tools = {
        name: {key: value for key, value in tool.items() if key != "served"}
        for name, tool in normal["tools"].items()
    }
    kept = {key: value for key, value in normal.items() if key not in _REMARKS}
    return {**kept, "tools": tools, "evaluators": None}


def _change(name: str, before: Mapping[str, JSON], now: Mapping[str, JSON]) -> str:
    parts = []
    for key in sorted({*before["what"], *now["what"]}):
        then, is_now = before["what"].get(key), now["what"].get(key)
        if then != is_now:
            parts.append(f"{key} was {_shown(then)} and is {_shown(is_now)}")
    for tool in {**before["tools"], **now["tools"]}:
        then, is_now = before["tools"].get(tool), now["tools"].get(tool)
        if then != is_now:
            how = "is new" if then is None else "is gone" if is_now is None else "is described anew"
            parts.append(f"its tool {tool} {how}")
    return f"`{name}` changed: {', '.join(parts)}"


def _shown(value: JSON) -> str:
    if isinstance(value, dict):
        return " ".join(_shown(part) for part in value.values()) or "nameless"
    text = "nothing" if value is None else str(value)
    return text[:12] if len(text) == 64 else text  # the beginning of a digest says enough


def refuse_changed_tools(folder: Path, teams: Sequence[Team]) -> None:
    """Refuse to begin silently in a new folder because tools from elsewhere changed.

    A spec is known by what its tools are, so that another server makes another hash and another
    default folder: the study that the user means to go on with would seem to have vanished.

    Args:
        folder: The default folder, ``NAME-HASH``.
        teams: The teams to be run.

    Raises:
        StoreError: A folder beside it holds the same study with other tools; as text.
    """
    normals = [team.topology.normal for team in teams]
    if folder.exists() or not any(
        "served" in t for each in normals for t in each["tools"].values()
    ):
        return
    stem = folder.name[: -_HASH - 1]
    for other in sorted(folder.parent.glob(f"{_escaped(stem)}-{'[0-9a-f]' * _HASH}")):
        if changed := _changed_in(other, normals):
            raise StoreError(
                f"{other} holds this study, begun with other tools: {changed}. To begin a new study "
                "add --fresh; to go on with that one, bring back what it began with"
            )


def _escaped(stem: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in stem)


def _changed_in(folder: Path, normals: Sequence[Mapping[str, JSON]]) -> str:
    try:
        with Reader(folder) as reader:
            rows = reader.rows("SELECT hash FROM specs WHERE kind='topology'")
            known = [reader.spec(row["hash"]) or {} for row in list(rows)]
    except (StoreError, OSError):
        return ""  # no study
    changes = [changed_tools(before, now) for before in known for now in normals]
    return "; ".join(dict.fromkeys(each for each in changes if each))
