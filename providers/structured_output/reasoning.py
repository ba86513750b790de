"""Reasoning that a model wrote into its reply, set aside: it is never an answer, nor an action."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

_NAMES = "think|thinking|thought|thoughts|reasoning"
_TAG = re.compile(
    rf"<(?P<close>/?)(?P<tag>{_NAMES})\s*>"
    r"|\[(?P<shut>/?)THINK\]"
    r"|◁(?P<end>/?)think▷"
    r"|<\|(?P<edge>begin|end)_of_thought\|>",
    re.IGNORECASE,
)
#: Where a channel begins, in the chat format that names channels; the last `final` is the reply.
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}<\|message\|>")


Span: TypeAlias = tuple[int, int]


class SplitReply(NamedTuple):
    """A reply without its reasoning.

    Attributes:
        rest: What is left.
        reasoning: What was set aside, "" where there was none.
        open: A reasoning block was begun and never closed.
    """

    rest: str
    reasoning: str
    open: bool


def split_reasoning(text: str, spared: Callable[[str], Sequence[Span]] | None = None) -> SplitReply:
    """Separate reasoning blocks from the reply.

    A closing tag alone (the chat template opened the block) makes everything before it reasoning;
    an opening tag alone makes everything after it reasoning.

    Args:
        text: The reply.
        spared: Gives the places where a tag is part of a value, and no tag.
    """
    if not ("<" in text or "[" in text or "◁" in text):
        return SplitReply(text, "", False)
    before, text = _final_channel(text, spared)
    kept: list[str] = []
    thoughts: list[str] = [before] if before else []
    at = 0
    inside: str | None = None
    for tag in _outside(_TAG, text, spared):
        kind, closes = _kind(tag)
        if inside is None and closes:
            thoughts += [*kept, text[at : tag.start()]]
            kept.clear()
        elif inside is None:
            kept.append(text[at : tag.start()])
            inside = kind
        elif closes and kind == inside:
            thoughts.append(text[at : tag.start()])
            inside = None
        else:
            continue
        at = tag.end()
    (kept if inside is None else thoughts).append(text[at:])
    return SplitReply("".join(kept), _joined(thoughts), inside is not None)


def _outside(
    pattern: re.Pattern[str], text: str, spared: Callable[[str], Sequence[Span]] | None
) -> list[re.Match[str]]:
    """Return the tags of ``text`` that are no part of a value."""
    tags = list(pattern.finditer(text))
    spans = spared(text) if spared and tags else ()
    return [tag for tag in tags if not any(start <= tag.start() < end for start, end in spans)]


def _kind(tag: re.Match[str]) -> tuple[str, bool]:
    """Which block a tag belongs to, and whether it closes it."""
    if tag["tag"] is not None:
        return tag["tag"].lower(), bool(tag["close"])
    if tag["edge"] is not None:
        return "of_thought", tag["edge"].lower() == "end"
    if tag["shut"] is not None:
        return "[think]", bool(tag["shut"])
    return "◁think▷", bool(tag["end"])


def _final_channel(text: str, spared: Callable[[str], Sequence[Span]] | None) -> tuple[str, str]:
    """Return what stands before the final channel, and what is in it; a text without channels is whole."""
    if "<|channel|>" not in text:
        return "", text
    channels = _outside(_CHANNEL, text, spared)
    finals = [channel for channel in channels if channel[1].lower() == "final"]
    if finals:
        return text[: finals[-1].start()], text[finals[-1].end() :]
    return (text, "") if channels else ("", text)


def _joined(thoughts: list[str]) -> str:
    return "\n".join(thought.strip() for thought in thoughts if thought.strip())
