"""Transcripts: everything that happened can be read, on any terminal, whatever a model wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from orglab.results.display.transcript import transcript_text
from orglab.results.records import CallEntry, Event, JournalEntry, RunRecord, ToolEntry
from orglab.results.store.journal.history import run_record

GOLDEN = Path(__file__).with_name("transcript.txt")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Told:
    """Builds a run event by event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.entries: list[JournalEntry] = []
        self.tick = 0

    def say(self, kind: str, **body: Any) -> None:
        """Adds an event."""
        event = Event(seq=len(self.events), tick=self.tick, kind=kind, body=body)
        self.events.append(event)

    def call(self, copy: str, visit: int, purpose: str = "turn", **body: Any) -> None:
        """Adds a call of a simulated model."""
        position = f"{self.tick}.{purpose}.{len(self.entries)}.0"
        full = {
            "provider": "simulated",
            "model": "careful",
            "request": {"messages": []},
            "copy": copy,
            "role": copy,
            "purpose": purpose,
            "visit": visit,
            "text": "…",
            "stop": "stop",
            "tokens": {"input": 1200, "output": 180},
            "served": "simulated-careful",
            "cost_usd": 0.0021,
            "service_seconds": 3.2,
            "simulated": True,
            "read": {"how": "native"},
            "attempts": 1,
        }
        self.entries.append(CallEntry(**{"position": position, **full, **body}))

    def tool(
        self, copy: str, visit: int, tool: str, arguments: Any, result: Any, **body: Any
    ) -> None:
        """Adds a tool call."""
        position = f"{self.tick}.turn.{len(self.entries)}.0"
        named: dict[str, Any] = {"copy": copy, "role": copy, "visit": visit, "tool": tool}
        full = named | {"arguments": arguments, "result": result, "seconds": 0.1} | body
        self.entries.append(ToolEntry(position=position, **full))

    def turn(
        self, copy: str, visit: int, value: Any, inbox: tuple[str, ...] = (), **body: Any
    ) -> None:
        """A turn and its output."""
        reads = [{"output": output, "link": "x"} for output in inbox]
        again = body.pop("again", False)
        self.say("turn", copy=copy, role=copy, visit=visit, inbox=reads, again=again, **body)
        text = value if isinstance(value, str) else str(value)
        output = {"id": f"{copy}@{visit}", "copy": copy, "role": copy, "visit": visit}
        self.say("output", **output, value=value, text=text)

    def review(self, output: str, visit: int, action: str, reason: str, **more: Any) -> None:
        """A review by the manager and its verdict."""
        link, copy = "oversight", output.split("@", maxsplit=1)[0]
        self.say("review", link=link, superior="manager", output=output, visit=visit, phase=0)
        self.verdict(output, action, reason, copy=copy, **more)

    def verdict(self, output: str, action: str, reason: str, **more: Any) -> None:
        """A verdict."""
        verdict = {"link": "oversight", "superior": "manager", "output": output}
        self.say("verdict", **verdict, by="judgement", action=action, reason=reason, **more)

    def deliver(self, output: str, link: str, *to: str, **more: Any) -> None:
        """A delivery."""
        self.say("delivered", output=output, link=link, to=list(to), **more)


def told() -> Told:
    """A report by five roles: a question, a revision, a reject, a forced accept, a failed check."""
    run = Told()
    run.say("started", unit="B0C1", replicate=0, seed=7, models={"writer": "worker"})
    run.tick = 1
    run.call("researcher", 1, reasoning="I should look at the listing first. " * 9)
    run.tool("researcher", 1, "get_record", {"id": "B0C1"}, {"title": "Nitro 15", "price": 999})
    many = [{"stars": 2, "body": "The fan howls at night and the lid creaks."}] * 5
    run.tool("researcher", 1, "search_reviews", {"query": "fan noise"}, many)
    run.tool("researcher", 1, "get_record", '{"id": ', "this is no JSON", error=True)
    run.turn(
        "researcher",
        1,
        {
            "product": "Nitro 15",
            "facts": ["an RTX 4060", "999 dollars", "2.1 kg"],
            "complaints": [
                {"theme": "fan", "reviews": 14, "example": "The fan howls at night."},
                {"theme": "lid", "reviews": 6, "example": "The lid creaks."},
            ],
        },
    )
    run.call("manager", 1, "review")
    run.review("researcher@1", 1, "approve", "Thorough, and the counts are given.", used=0, cap=2)
    run.deliver("researcher@1", "researcher>analyst", "analyst")
    run.tick = 2
    unread = {"problem": "invalid", "message": "share: 'most' is not a number"}
    run.call("analyst", 1, text="", read={"how": None, **unread})
    run.call("analyst", 1, read={"how": "fenced"})
    run.turn("analyst", 1, "Noise drives the returns.\n\nPrice does not.", ("researcher@1",))
    run.call("manager", 2, "review")
    obliged = {"obliged": True, "used": 1, "cap": 2, "target": "analyst"}
    words = "How many of the returns are about noise? Without a number this persuades nobody."
    run.review("analyst@1", 2, "question", words, suggestion="Count them by theme.", **obliged)
    run.say("sent_back", output="analyst@1")
    run.tick = 3
    directive = {"action": "question", "reason": words, "link": "oversight", "superior": "manager"}
    run.call("analyst", 2)
    run.turn(
        "analyst",
        2,
        "14 of 21 returns name the fan.",
        ("researcher@1",),
        directive=directive,
        again=True,
    )
    run.call("manager", 3, "review", read={"how": "native"})
    run.review("analyst@2", 3, "comment", "Better.", used=1, cap=2)
    run.deliver("analyst@2", "analyst>writer", "writer")
    run.deliver("analyst@2", "analyst>critic", "critic")
    run.tick = 4
    run.call("writer", 1)
    run.turn("writer", 1, "# Report\n\nThe laptop is quiet.", ("analyst@2",))
    error = {"kind": "unavailable", "message": "502"}
    run.say("turn_failed", copy="critic", visit=1, error=error)
    run.say("skipped", copy="critic", why="error", error=error)
    failed = {"evaluator": "required_sections", "passed": False, "value": 0}
    run.say("check", link="form", output="writer@1", reason="no section 'Root cause'", **failed)
    run.say(
        "verdict",
        link="form",
        superior="critic",
        output="writer@1",
        copy="writer",
        by="checks",
        action="reject",
        reason="required_sections: no 'Root cause'",
        obliged=True,
        used=1,
        cap=1,
        target="writer",
    )
    run.say("withdrawn", output="writer@1")
    lapsed = [{"what": "turn", "copy": "critic"}]
    run.say("anew", because=["writer"], roles=["critic"], lapsed=lapsed)
    run.tick = 5
    run.call("writer", 2)
    directive = {"action": "reject", "reason": "x", "link": "form", "superior": "critic"}
    run.turn(
        "writer", 2, "# Report\n\n## Root cause\n\nThe fan.", ("analyst@2",), directive=directive
    )
    run.call("manager", 4, "review")
    run.review("writer@2", 4, "revise", "Still no price.", forced=True, used=2, cap=2)
    run.deliver("writer@2", "")
    run.say("not_taken", link="writer>critic", copy="writer", to=["critic"], why="cap")
    run.say("ended", status="completed", reason="", answer="writer@2", last="writer@2")
    return run


def record_of(run: Told, **about: Any) -> RunRecord:
    """The record of what was told."""
    head: Mapping[str, Any] = {
        "id": "3f9a2c51d0e84b7c9a11223344556677",
        "arm": "hierarchical",
        "unit": "B0C1",
        "inputs": {"product": "Acer Nitro 15", "rows": 21},
        "seed": 7,
    }
    return run_record({**head, **about}, run.events, run.entries)


def test_a_whole_run_reads_as_kept() -> None:
    """The transcript equals the one in transcript.txt, which a person has read."""
    assert transcript_text(record_of(told()), width=90) == GOLDEN.read_text(encoding="utf-8")


def test_outputs_get_their_fates_from_events() -> None:
    """Sent back, rejected, delivered and forced are told apart."""
    record = record_of(told())
    fates = {output.id: (output.fate, output.forced) for output in record.outputs}
    assert fates == {
        "researcher@1": ("delivered", False),
        "analyst@1": ("sent back", False),
        "analyst@2": ("delivered", False),
        "writer@1": ("rejected", False),
        "writer@2": ("delivered", True),
    }
    assert record.answer is not None
    assert record.answer.id == "writer@2"
    assert [asdict(verdict)["action"] for verdict in record.verdicts] == [
        *("approve", "question", "comment", "reject", "revise")
    ]


@pytest.mark.parametrize("width", [30, 60, 200])
def test_fits_any_width(width: int) -> None:
    """No line is wider than the terminal."""
    for full in (False, True):
        text = transcript_text(record_of(told()), width=width, full=full)
        assert max(map(len, text.splitlines())) <= width


def test_full_unfolds_results_and_reasoning() -> None:
    """Folded, the fifth review and the reasoning stay out; unfolded, they are there."""
    folded = transcript_text(record_of(told()), width=100)
    unfolded = transcript_text(record_of(told()), width=100, full=True)
    assert folded.count("creaks") < unfolded.count("creaks")
    assert "look at the listing" not in folded
    assert "look at the listing" in unfolded


def test_colour_adds_codes_and_nothing_else() -> None:
    """Without its codes the coloured transcript is the plain one."""
    plain = transcript_text(record_of(told()), width=90)
    coloured = transcript_text(record_of(told()), width=90, colour=True)
    assert "\x1b[" in coloured
    stripped = [line.rstrip() for line in ANSI.sub("", coloured).splitlines()]
    assert stripped == plain.splitlines()


def test_a_stopped_run_is_never_shown_as_an_answer() -> None:
    """Head, output and foot say that there is no answer."""
    run = told()
    ended = {"status": "stopped", "reason": "limit of turns", "answer": None, "last": "writer@2"}
    run.events[-1] = replace(run.events[-1], body=ended)
    text = transcript_text(record_of(run))
    assert text.count("stopped: no answer (limit of turns)") == 2
    assert "writer, turn 2, the last and no answer" in text
    assert "the answer is" not in text


def test_says_what_is_simulated_and_what_cost_is_unknown() -> None:
    """Partly simulated runs say how much; one unknown price makes the sum unknown."""
    run = told()
    run.call("writer", 3, simulated=False, cost_usd=None)
    text = transcript_text(record_of(run))
    assert "PARTLY SIMULATED (10 of 11 calls)" in text
    assert "cost unknown (over $0.021)" in text
    assert "SIMULATED" in transcript_text(record_of(told())).split("tick", maxsplit=1)[0]


HOSTILE = (
    "\x1b[2J\x1b[31mred\x07 [bold]x[/bold] [link=http://a]b[/link] \u202egnp.exe \u200bz \ud800"
)


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    """Escapes, markup, direction marks and surrogates come out as characters to read, anywhere."""
    run = Told()
    run.tick = 1
    run.call(HOSTILE, 1, served=HOSTILE, notes=[HOSTILE], reasoning=HOSTILE, read={"how": HOSTILE})
    run.tool(HOSTILE, 1, HOSTILE, {HOSTILE: HOSTILE}, {"a": HOSTILE}, refused=HOSTILE)
    value = {HOSTILE: [HOSTILE, {HOSTILE: [HOSTILE, [HOSTILE]]}], "long": HOSTILE + "\n" + HOSTILE}
    run.turn(HOSTILE, 1, value, (HOSTILE,))
    output = f"{HOSTILE}@1"
    run.review(output, 1, "revise", HOSTILE, suggestion=HOSTILE, obliged=True, target="other")
    check = {"evaluator": HOSTILE, "passed": False, "value": HOSTILE}
    run.say("check", link=HOSTILE, output=output, reason=HOSTILE, **check)
    error = {"kind": HOSTILE, "message": HOSTILE}
    run.say("turn_failed", copy=HOSTILE, visit=1, error=error)
    run.say("skipped", copy=HOSTILE, why="error", error=error)
    run.say("unreviewed", link=HOSTILE, output=output, error=error)
    run.say("not_taken", link=HOSTILE, copy=HOSTILE, to=[], why=HOSTILE)
    run.say("late", link=HOSTILE, output=output, copy=HOSTILE)
    run.say("anew", because=[HOSTILE], roles=[HOSTILE], lapsed=[{"what": "turn", "copy": HOSTILE}])
    run.say("cap_used_up", link=HOSTILE)
    run.say("from a later version", what=HOSTILE)
    run.deliver(output, HOSTILE, HOSTILE)
    about = {"arm": HOSTILE, "unit": HOSTILE, "inputs": {HOSTILE: HOSTILE}, "reason": HOSTILE}
    record = record_of(run, **about, status="failed")
    for full in (False, True):
        text = transcript_text(record, width=120, full=full)
        assert not set("\x1b\x07\u202e\u200b\ud800") & set(text)
        assert "␛[31mred␇ [bold]x[/bold]" in text
        coloured = ANSI.sub("", transcript_text(record, width=120, full=full, colour=True))
        assert not set("\x1b\x07\u202e\u200b\ud800") & set(coloured)
