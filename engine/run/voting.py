"""A role that votes: the commonest value of a field among its inputs. No model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orglab.engine.graph.output_fields import COUNTS
from orglab.engine.run.blackboard import BoardEntry
from orglab.engine.run.errors import TurnFailed
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical

__all__ = ["counted"]


def counted(field: str, ballots: Sequence[BoardEntry]) -> dict[str, JSON]:
    """The winner and the counts: ``{FIELD: value, counts: [{value, votes}, …]}``.

    Values are equal where their JSON is: 1 and 1.0 are, "yes" and "Yes" are not. Counts stand in
    the order in which values first came; of equally common ones the first wins.

    Raises:
        TurnFailed: An input has no such field, or there is none.
    """
    counts: dict[str, dict[str, JSON]] = {}
    for ballot in ballots:
        if not isinstance(ballot.value, Mapping) or field not in ballot.value:
            words = f"the output of {ballot.copy} has no field `{field}` to vote on"
            raise TurnFailed("vote", words)
        value = ballot.value[field]
        counts.setdefault(_key(value), {"value": value, "votes": 0})["votes"] += 1
    if not counts:
        raise TurnFailed("vote", "there is nothing to count")
    winner = max(counts.values(), key=lambda count: count["votes"])
    return {field: winner["value"], COUNTS: list(counts.values())}


def _key(value: JSON) -> str:
    """A text that equal JSON values share: a number's form makes no difference, at any depth."""
    return canonical(_plain(value))


def _plain(value: JSON) -> JSON:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value
