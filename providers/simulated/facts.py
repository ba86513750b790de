"""Specifications that a simulated model reads in a conversation and passes on as lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.simulated.tool_observations import read_result

_LINE: Final = re.compile(r"^- ([A-Za-z][A-Za-z0-9 ]{0,30}): (\S.{0,200})$", re.MULTILINE)
_NAMES: Final = ("specs", "specifications")
_DIGITS: Final = re.compile(r"\d{2,}|\d")
_MOST: Final = 40
_DEPTH: Final = 6


def read_facts(messages: Sequence[Message]) -> dict[str, str]:
    """Return specifications by name: of tool results, and of lines ``- name: value``."""
    found: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            found |= dict(_specs(read_result(message.content), 0))
        elif message.role == "user":
            for name, value in _LINE.findall(message.content):
                found.setdefault(name, value.strip())
    return dict(list(found.items())[:_MOST])


def fact_lines(facts: dict[str, str], exact: float, stream: RandomStream) -> list[str]:
    """Return a line for each; correct with probability ``exact``, else with one digit changed."""
    reported = {
        name: value if stream.chance(exact) else _miscopied(value, stream)
        for name, value in facts.items()
    }
    return [f"- {name}: {value}" for name, value in reported.items()]


def _miscopied(value: str, stream: RandomStream) -> str:
    """Return ``value`` with one digit of its longest number changed, if it has a number."""
    numbers = list(_DIGITS.finditer(value))
    if not numbers:
        return value
    longest = max(numbers, key=lambda match: len(match.group()))
    place = longest.end() - 1 - stream.below(min(2, len(longest.group())))
    other = (int(value[place]) + stream.between(1, 9)) % 10
    return f"{value[:place]}{other}{value[place + 1 :]}"


def _specs(value: JSON, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict) or depth > _DEPTH:
        return
    for name, inner in value.items():
        if name in _NAMES and isinstance(inner, dict):
            for key, text in inner.items():
                if isinstance(text, str) and text.strip():
                    yield key.replace("_", " "), " ".join(text.split())
        else:
            yield from _specs(inner, depth + 1)
