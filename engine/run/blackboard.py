"""What has been said so far in a run, and what each role may see of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from orglab.providers.base import JSON
from orglab.results.records import Output, Verdict

ListItem: TypeAlias = tuple[str, int] | None
"""Of a list handed out item by item: its field, and which item, from 1."""


def readable(value: JSON) -> str:
    """Return an output as other roles read it: its text, or its JSON laid out."""
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardEntry:
    """What a template sees of one thing that was said; printed, it is its text.

    Attributes:
        kind: ``output``, ``comment`` or ``directive``.
        role: Who said it.
        copy: Which copy of the role.
        text: The words.
        value: The structured value, or the text.
        link: The link it came by, in an inbox; else "".
        visit: Which turn of the copy; 0 for verdicts.
        to: For a comment or directive: whom it addresses; else "".
        item: Which item of the list that was handed out, from 1; 0 for a whole output.
    """

    kind: Literal["output", "comment", "directive"]
    role: str
    copy: str
    text: str
    value: JSON
    link: str = ""
    visit: int = 0
    to: str = ""
    item: int = 0

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


NOTHING = BoardEntry(kind="output", role="", copy="", text="", value=None)
"""What a template sees where nothing was said yet: it prints as nothing and is false."""


class BoardEntries(Sequence[BoardEntry]):
    """Board entries as a template sees them; printed, each stands under its speaker's name."""

    def __init__(self, entries: Sequence[BoardEntry]) -> None:
        self._entries = entries

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - a Sequence's two overloads
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[BoardEntry]:
        return iter(self._entries)

    def __str__(self) -> str:
        return "\n\n".join(f"### {_heading(entry)}\n{entry.text}" for entry in self._entries)


def _heading(entry: BoardEntry) -> str:
    if entry.kind == "output":
        return f"From {entry.copy}"
    return f"{entry.kind.capitalize()} of {entry.copy} to {entry.to}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Directive:
    """What obliges a copy to take another turn; printed, it is its reason.

    Attributes:
        action: ``question``, ``revise`` or ``reject``.
        reason: The words.
        suggestion: A suggestion, or "".
        link: The authority link.
        superior: The superior's role.
        draft: The text of the output that was sent back, "" after a reject.
    """

    action: str
    reason: str
    suggestion: str = ""
    link: str = ""
    superior: str = ""
    draft: str = ""

    def __str__(self) -> str:
        return self.reason

    def body(self) -> dict[str, JSON]:
        """Return the directive as an event carries it."""
        return {name: value for name, value in asdict(self).items() if name != "draft"}


@dataclass(kw_only=True, slots=True)
class Post:
    """One thing on the board: an entry, and whether it was withdrawn.

    Attributes:
        entry: What was said.
        output: The output's id, "" for comments and directives.
        hidden: It was withdrawn from everyone's sight.
    """

    entry: BoardEntry
    output: str = ""
    hidden: bool = False


class Blackboard:
    """The blackboard of one run, and the outputs behind it."""

    def __init__(self) -> None:
        self._posts: list[Post] = []
        self._by_output: dict[str, Post] = {}
        self._last: dict[str, str] = {}
        self.outputs: dict[str, Output] = {}
        self._outer_entries: dict[tuple[str, str, ListItem], BoardEntry] = {}

    def add_outer(self, output: str, link: str, part: ListItem, entry: BoardEntry) -> None:
        """Make an entry from outside the run known, for inboxes alone."""
        self._outer_entries[output, link, part] = entry

    def post(self, output: Output) -> None:
        """Put an output on the board."""
        entry = BoardEntry(
            kind="output",
            role=output.role,
            copy=output.copy,
            text=output.text,
            value=output.value,
            visit=output.visit,
        )
        post = Post(entry=entry, output=output.id)
        self._posts.append(post)
        self._by_output[output.id] = post
        self._last[output.copy] = output.id
        self.outputs[output.id] = output

    def say(self, kind: Literal["comment", "directive"], verdict: Verdict, to: str) -> None:
        """Put the words of a verdict on the board."""
        text = verdict.reason
        if verdict.suggestion:
            text += f"\nSuggestion: {verdict.suggestion}"
        entry = BoardEntry(
            kind=kind, role=verdict.superior, copy=verdict.superior, text=text, value=text, to=to
        )
        self._posts.append(Post(entry=entry))

    def withdraw(self, output: str) -> None:
        """Take an output out of everyone's sight."""
        post = self._by_output[output]
        post.hidden = True
        copy = post.entry.copy
        if self._last.get(copy) == output:
            del self._last[copy]
            for each in self._posts:
                if each.output and not each.hidden and each.entry.copy == copy:
                    self._last[copy] = each.output

    def entry(self, output: str, link: str = "", part: ListItem = None) -> BoardEntry:
        """Return an output's inbox entry: the value, or one item of a list in it."""
        if (
            self._outer_entries
            and (outer := self._outer_entries.get((output, link, part))) is not None
        ):
            return outer
        entry = self._by_output[output].entry
        if not link:
            return entry
        if part is None:
            return replace(entry, link=link)
        field, number = part
        value = entry.value[field][number - 1]
        return replace(entry, link=link, value=value, text=readable(value), item=number)

    def visible(self) -> BoardEntries:
        """Everything on the board that was not withdrawn, oldest first."""
        return BoardEntries([post.entry for post in self._posts if not post.hidden])

    def latest(self, other_than: str) -> BoardEntry | None:
        """Return the last visible output of another role than this."""
        for post in reversed(self._posts):
            if post.output and not post.hidden and post.entry.role != other_than:
                return post.entry
        return None

    def last_of(self, replicas: Sequence[str]) -> list[BoardEntry]:
        """Return the last visible output of each of ``replicas`` that has one, in their order."""
        return [self._by_output[self._last[copy]].entry for copy in replicas if copy in self._last]

    def last_id(self, copy: str) -> str | None:
        """Return the id of the last visible output of ``copy``."""
        return self._last.get(copy)

    def standing(self) -> Mapping[str, str]:
        """For each copy with a visible output, the id of its last one."""
        return self._last
