"""What a template may see: the variables of a role's turn and of a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orglab.engine.run.blackboard import NOTHING, Blackboard, BoardEntries, BoardEntry, Directive
from orglab.engine.run.replicas import Replica, Replicas
from orglab.engine.run.routing import InboxItem
from orglab.engine.spec.model import AuthorityLink
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.records import Output, Verdict

NO_DIRECTIVE = ""
"""What ``directive`` is on a turn that nobody directed: it prints as nothing and is false."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastVerdict:
    """An earlier verdict of a superior on a link, without the output it judged."""

    role: str
    action: str
    reason: str


def turn_variables(
    copy: Replica,
    *,
    inputs: Mapping[str, JSON],
    inbox: Sequence[InboxItem],
    board: Blackboard,
    replicas: Replicas,
    directive: Directive | None,
    visit: int,
    own: Sequence[Output],
    stake: float | None,
) -> dict[str, JSON]:
    """Return the variables of a role's own turn: only what ``sees`` grants."""
    role = copy.role
    names: dict[str, JSON] = {
        "vars": role.vars,
        "directive": directive or NO_DIRECTIVE,
        "visit": visit,
        "role": role.name,
        "copy": copy.index,
        "stake": stake,
    }
    sections: list[str] = []
    for sight in role.sees:
        _grant(sight, names, sections, inputs, inbox, board, replicas, copy, own)
    names["sight"] = "\n\n".join(section for section in sections if section)
    return names


def _grant(
    sight: str,
    names: dict[str, JSON],
    sections: list[str],
    inputs: Mapping[str, JSON],
    inbox: Sequence[InboxItem],
    board: Blackboard,
    replicas: Replicas,
    copy: Replica,
    own: Sequence[Output],
) -> None:
    if sight == "task":
        names.update(inputs)
        sections.append(_task(inputs))
    elif sight == "inbox":
        names["inbox"] = BoardEntries(
            [board.entry(item.output, item.link, item.part) for item in inbox]
        )
        sections.append(_section("Messages", names["inbox"]))
    elif sight == "own":
        names["own"] = own
    elif sight == "latest":
        names["latest"] = board.latest(copy.role.name) or NOTHING
        sections.append(_section("Latest output", _with_speaker(names["latest"])))
    elif sight == "blackboard":
        names["blackboard"] = board.visible()
        sections.append(_section("Blackboard", names["blackboard"]))
    else:
        _grant_role(sight.removeprefix("role:"), names, sections, board, replicas)


def _grant_role(
    name: str, names: dict[str, JSON], sections: list[str], board: Blackboard, replicas: Replicas
) -> None:
    members = replicas.by_role[name]
    found = board.last_of([member.name for member in members])
    seen: BoardEntry | BoardEntries = (
        BoardEntries(found) if len(members) > 1 else found[0] if found else NOTHING
    )
    names.setdefault("outputs", {})[name] = seen
    sections.append(_section(f"Last output of {name}", seen))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewSight:
    """What a review turn is about.

    Attributes:
        link: The authority link.
        output: The output under review.
        actions: The actions offered.
        uses_left: How often the link may still oblige.
        findings: What failed, for a superior that puts it into words.
        verdicts: The superior's earlier verdicts on this link.
        targets: Replicas further up that a revise may name.
    """

    link: AuthorityLink
    output: Output
    actions: Sequence[str]
    uses_left: int
    findings: Sequence[str] = ()
    verdicts: Sequence[PastVerdict] = ()
    targets: Sequence[str] = ()


def review_variables(
    superior: Replica,
    sight: ReviewSight,
    *,
    inputs: Mapping[str, JSON],
    board: Blackboard,
    visit: int,
) -> dict[str, JSON]:
    """Return the variables of a review turn: the task and what the link grants."""
    draft = board.entry(sight.output.id)
    names: dict[str, JSON] = {
        **inputs,
        "vars": superior.role.vars,
        "visit": visit,
        "role": superior.role.name,
        "copy": superior.index,
        "reviewed": sight.output.role,
        "draft": draft,
        "findings": list(sight.findings),
        "actions": list(sight.actions),
        "uses_left": sight.uses_left,
        "cap": sight.link.cap,
        "verdicts": list(sight.verdicts),
        "targets": list(sight.targets),
    }
    sections = [_task(inputs)]
    if sight.link.sees == "blackboard":
        names["blackboard"] = board.visible()
        others = BoardEntries([entry for entry in names["blackboard"] if entry is not draft])
        sections.append(_section("Blackboard", others))
    sections.append(output_section(sight, board))
    names["sight"] = "\n\n".join(section for section in sections if section)
    return names


def output_section(sight: ReviewSight, board: Blackboard) -> str:
    """Return the section that shows a superior what it reviews."""
    return _section(f"Output of {sight.output.copy} under review", board.entry(sight.output.id))


def past_verdict(verdict: Verdict) -> PastVerdict:
    """Return a verdict as its superior remembers it."""
    return PastVerdict(role=verdict.copy, action=verdict.action, reason=verdict.reason)


def _task(inputs: Mapping[str, JSON]) -> str:
    lines = [f"{name}: {_plain(value)}" for name, value in inputs.items() if value is not None]
    return "## Task\n" + "\n".join(lines) if lines else ""


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else canonical(value)


def _section(title: str, body: object) -> str:
    text = str(body) if body else ""
    return f"## {title}\n{text}" if text else ""


def _with_speaker(entry: BoardEntry) -> str:
    return str(BoardEntries([entry])) if entry else ""
