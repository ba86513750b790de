"""Claims of a simulated model: search words, statements to check, the report of verdicts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.facts import read_facts
from orglab.providers.simulated.prose import WORDS
from orglab.providers.simulated.schema_sampler import NOTHING
from orglab.providers.simulated.tool_observations import read_result

_LISTED: Final = re.compile(r"(?<=[:,] )[a-z]{4,14}(?: and [a-z]{4,14})?(?=,)")
_WORD: Final = re.compile(r"\b[a-z]{4,14}\b")
_COMMON: Final = frozenset(WORDS["not_searched"])
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_LONGEST: Final = 300


class ClaimHints:
    """Hints for a report on claims: those that a tool checked, with its verdicts."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._claims = checked_claims(messages)

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        """Return the value of a list of claims, or of what follows from it; else ``NOTHING``."""
        if not self._claims:
            return NOTHING
        if name == "publishable" and schema.get("type") == "boolean":
            return all(each["verdict"] != "contradicted" for each in self._claims)
        item = schema.get("items")
        if schema.get("type") == "array" and isinstance(item, Mapping):
            fields = item.get("properties")
            if isinstance(fields, Mapping) and {"claim", "verdict"} <= fields.keys():
                return self._listed(fields, schema)
        return NOTHING

    def _listed(self, fields: Mapping[str, JSON], schema: Mapping[str, JSON]) -> JSON:
        verdicts = fields["verdict"].get("enum")
        made = [
            {
                key: value[: fields[key].get("maxLength", len(value))]
                for key, value in each.items()
                if key in fields
            }
            for each in self._claims
            if verdicts is None or each["verdict"] in verdicts
        ]
        made = made[: schema.get("maxItems", len(made))]
        return made if len(made) >= max(1, schema.get("minItems", 0)) else NOTHING


def subject_words(messages: Sequence[Message]) -> list[str]:
    """Return words to search for: what the task lists (else its words), without earlier searches."""
    task = "\n".join(each.content for each in messages if each.role in ("system", "user"))
    listed = dict.fromkeys(_LISTED.findall(task)) or dict.fromkeys(_WORD.findall(task))
    asked = {call.arguments for message in messages for call in message.tool_calls}
    found = [word for word in listed if word not in _COMMON]
    fresh = [word for word in found if not any(f'"{word}"' in text for text in asked)]
    return fresh or found or ["task"]


def stated_claims(messages: Sequence[Message]) -> list[str]:
    """Return statements to check: the prompt's specifications and some of its sentences."""
    prompt = next((each.content for each in reversed(messages) if each.role == "user"), "")
    facts = read_facts([Message(role="user", content=prompt)])
    lines = [line for line in prompt.split("\n") if line and not line.startswith(("#", "-"))]
    sentences = [each for line in lines for each in _SENTENCE.split(line) if each.endswith(".")]
    some = sentences[-(len(facts) // 2 + 1) :] if facts else sentences
    listed = [f"The {name} is {value}." for name, value in facts.items()]
    claims = [each[:_LONGEST] for each in (*listed, *some)]
    checked = {each["claim"] for each in checked_claims(messages)}
    return [each for each in claims if each not in checked] or claims


def checked_claims(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return each claim that a tool checked once: ``{claim, verdict, evidence}``."""
    found: dict[str, dict[str, str]] = {}
    for message in messages:
        result = read_result(message.content) if message.role == "tool" else None
        if isinstance(result, Mapping) and {"claim", "verdict"} <= result.keys():
            claim, reason = str(result["claim"]), str(result.get("reason", ""))
            verdict = str(result["verdict"])
            found[claim] = {"claim": claim, "verdict": verdict, "evidence": reason}
    return list(found.values())
