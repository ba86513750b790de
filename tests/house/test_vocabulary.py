"""One vocabulary: coined words of earlier versions do not come back.

`CONTRIBUTING.md` has the table of standard terms.
Where a word belongs to the spec language, the store or an entry point it is exempt by name.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("engine", "evaluators", "orglab", "providers", "results")

STANDARD = {
    "teller": "event renderer",
    "desk": "model registry",
    "seat": "bound model",
    "seats": "bound models",
    "crew": "worker pool",
    "foretold": "upper bounds",
    "imagined": "dry run",
    "sightings": "tool observations",
    "manner": "capability",
    "manners": "capabilities",
    "knob": "setting",
    "knobs": "settings",
    "sturdiness": "robustness",
    "dearest": "most expensive",
    "cure": "hint",
    "cures": "hints",
    "told": "reported",
    "purse": "budget",
}
"""Coined words, alone or as part of an identifier, and what to write."""

NAMES = {
    "in_doubt": "unconfirmed_cost",
    "inner_meter": "nested_limits",
    "kept_calls": "response_cache",
    "planted_faults": "fault_injection",
    "seen_figures": "tool_observations",
    "side_by_side": "asyncio.gather",
    "team_turn": "subrun",
    "InLine": "RequestQueue",
    "Bends": "CallAdjustments",
    "Blame": "ErrorIndex",
    "Wish": "RunOptions",
    "InnerMeter": "NestedLimits",
}
"""Old identifiers."""

PHRASES = {
    "in one go": "together, at once",
    "goes on where": "resumes where",
    "gone on from": "resumed from",
    "asked again": "retried",
    "goes in a circle": "forms a cycle",
}
"""Sayings that messages and pages used."""

VAGUE = ("_of", "_read", "_said", "_text", "_told", "_words")
"""Names of private functions that say nothing where they are read."""

EXEMPT = {
    '"kept_calls"': "a key of report.json",
    "(CrewAI)": "a product",
    "crews within flows": "CrewAI's own term, quoted in specs/topologies",
    '"imagined_calls': "keys of orglab plan --json",
}
"""Text that may hold an old word, with the reason."""


def _pattern() -> re.Pattern[str]:
    words = "|".join(STANDARD)
    parts = "|".join(word.capitalize() for word in STANDARD)
    return re.compile(
        rf"(?<![A-Za-z])(?i:{words})(?![A-Za-z])"  # alone, or between underscores
        rf"|(?<=[a-z])(?:{parts})(?![a-z])|\b(?:{parts})(?=[A-Z])"  # inside CamelCase
        rf"|\b(?:{'|'.join(NAMES)})\b"
        rf"|(?i:{'|'.join(PHRASES)})"
        rf"|(?<=def )(?:{'|'.join(VAGUE)})(?=\()"
    )


PATTERN = _pattern()


def old_words(text: str) -> list[str]:
    """Return the old words in a text, exempt ones aside."""
    for exempt in EXEMPT:
        text = text.replace(exempt, "")
    return [match[0] for match in PATTERN.finditer(text)]


def checked_texts() -> dict[str, str]:
    """Product code, pages, and the names of test files and of their functions, by path."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    texts = {}
    for name in listed.stdout.splitlines():
        path, top = ROOT / name, name.partition("/")[0]
        if not path.is_file() or name == "CONTRIBUTING.md" or name.startswith("tests/data/"):
            continue  # the table of terms itself; stored inputs
        if (top in PRODUCT and path.suffix == ".py") or path.suffix == ".md":
            texts[name] = name + "\n" + path.read_text(encoding="utf-8")
        elif top == "tests" and path.suffix == ".py":
            functions = re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
            texts[name] = "\n".join([name, *functions])
    return texts


def test_old_words_do_not_come_back() -> None:
    """Each finding names the file and the words; the standard term stands in this file."""
    found = {
        name: sorted(set(words))
        for name, text in checked_texts().items()
        if (words := old_words(text))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ["class Teller:", "EventTeller", "_imagined_calls", "self.desk", "def _told(", "In one go"],
)
def test_an_old_word_is_found(text: str) -> None:
    """Alone, in snake case, in camel case, in prose."""
    assert old_words(text)


@pytest.mark.parametrize("text", ["storyteller", "secured", "Desktop", "a_read("])
def test_other_words_are_left_alone(text: str) -> None:
    """A longer word that contains an old one is another word."""
    assert not old_words(text)
