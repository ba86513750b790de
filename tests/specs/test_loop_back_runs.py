"""Study 2 run: what each arm lets the Manager do, with models whose mind is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.units import read_units
from orglab.providers.base import Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.records import RunRecord

STUDY = Path(__file__).parents[2] / "specs" / "loop-back-authority"
POOL = ("gpt", "gemini", "qwen", "glm", "mistral")
ARMS = (
    "hierarchical",
    "flat",
    "flat-blackboard",
    "hierarchical-latest",
    "verifier-gated",
    "single-pass",
    "peer-negotiation",
    "staked",
    "random-loops",
    "placebo",
)
SECTIONS = (
    "Executive Summary",
    "Product and Specifications",
    "Customer Experience",
    "Root Causes",
    "Strategic Outlook",
    "Recommendations",
)
REPORT = "\n\n".join(f"## {section}\n\nAll is said here." for section in SECTIONS)


def units(count: int) -> list[Unit]:
    """The first products of the study."""
    path = STUDY / "data" / "synthetic_laptops.jsonl"
    return read_units(path, orglab.load(STUDY / "flat.yaml").topology)[:count]


def simulated(name: str, out: Path, count: int = 2) -> list[RunRecord]:
    """Runs of an arm with the models of its file."""
    return list(orglab.run(STUDY / f"{name}.yaml", units=units(count), out=out).records())


class Team:
    """A team whose members say what they are told to; it keeps the prompts that it was shown."""

    def __init__(self, *, wants: str = "revise", claims: str = "supported") -> None:
        self.wants = wants
        self.claims = claims
        self.seen: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> str | Mapping[str, Any]:
        """The reply to any call of a run."""
        role = request.labels.role
        self.seen.append((role, request.messages[-1].content or ""))
        if role == "manager" and request.schema is not None:
            offered = json.dumps(request.schema)
            action = self.wants if f'"{self.wants}"' in offered else "comment"
            return {"action": action, "reason": "Say what follows from it."}
        if role == "critic":
            item = {"claim": "It is a laptop.", "verdict": self.claims, "evidence": "See listing."}
            good = self.claims == "supported"
            return {"claims": [item], "assessment": "Checked.", "publishable": good}
        return REPORT if role == "writer" else f"What the {role} found."

    def prompts(self, role: str) -> list[str]:
        """What a role was told, turn by turn."""
        return [prompt for name, prompt in self.seen if name == role]


def scripted(name: str, team: Team, out: Path, **options: Any) -> RunRecord:
    """One run of an arm in which every model is the scripted team."""
    study = orglab.run(
        STUDY / f"{name}.yaml",
        units=units(1),
        out=out,
        providers=dict.fromkeys(POOL, ScriptedProvider(team)),
        **options,
    )
    (record,) = study.records()
    assert record.status == "completed"
    return record


def obliged(record: RunRecord) -> list[str]:
    """Who had to act, verdict by verdict."""
    return [verdict.target or verdict.copy for verdict in record.verdicts if verdict.obliged]


def visits(record: RunRecord, role: str) -> int:
    """Outputs of a role."""
    return sum(output.role == role for output in record.outputs)


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_completes_with_the_simulated_models(tmp_path: Path, name: str) -> None:
    """The answer is the Writer's, tools give results, and every reply says that it is simulated."""
    for record in simulated(name, tmp_path / "study"):
        assert record.status == "completed"
        assert record.answer is not None
        assert record.answer.role == "writer"
        assert all(call.simulated for call in record.calls)
        assert len(obliged(record)) <= 2


def test_in_the_flat_arm_the_manager_comments_and_obliges_nobody(tmp_path: Path) -> None:
    """It is asked after every step, and its remark stands on the board for those who come later."""
    team = Team()
    record = scripted("flat", team, tmp_path / "study")
    assert [verdict.action for verdict in record.verdicts] == ["comment"] * 4
    assert obliged(record) == []
    assert "Manager, comment to the Researcher" in team.prompts("writer")[0]


def test_in_the_flat_arm_the_manager_reads_the_latest_output_only(tmp_path: Path) -> None:
    """When it judges the report it is not shown the notes; in the hierarchical arm it is."""
    flat, deep = Team(), Team(wants="approve")
    scripted("flat", flat, tmp_path / "flat")
    scripted("hierarchical", deep, tmp_path / "deep")
    assert "What the researcher found." not in flat.prompts("manager")[2]
    assert "What the researcher found." in deep.prompts("manager")[2]


def test_in_the_hierarchical_arm_two_revisions_are_had_and_no_third(tmp_path: Path) -> None:
    """The cap is of the run: two directives for the Researcher leave none for the Writer."""
    record = scripted("hierarchical", Team(), tmp_path / "study")
    assert obliged(record) == ["researcher", "researcher"]
    assert visits(record, "researcher") == 3
    assert visits(record, "writer") == 1


def test_a_worker_sent_back_reads_its_draft_and_the_directive(tmp_path: Path) -> None:
    """The directive is told once, by the engine, and not a second time from the board."""
    team = Team()
    scripted("single-pass", team, tmp_path / "study")
    first, second = team.prompts("writer")
    assert "Say what follows from it." not in first
    assert second.count("Say what follows from it.") == 1


def test_in_the_single_pass_the_revised_report_is_not_reviewed(tmp_path: Path) -> None:
    """One review, one revision, and the second report goes on unread."""
    record = scripted("single-pass", Team(), tmp_path / "study")
    assert obliged(record) == ["writer"]
    assert len(record.verdicts) == 1
    assert visits(record, "writer") == 2


def test_verified_work_is_not_sent_back_whatever_the_manager_thinks(tmp_path: Path) -> None:
    """With all sections there and all claims supported the Manager is not even asked."""
    team = Team()
    record = scripted("verifier-gated", team, tmp_path / "study")
    assert obliged(record) == []
    assert team.prompts("manager") == []


def test_a_claim_that_is_not_supported_sends_the_writer_back(tmp_path: Path) -> None:
    """Not the Critic, who found it; the Manager puts the finding into words."""
    team = Team(claims="contradicted")
    record = scripted("verifier-gated", team, tmp_path / "study")
    assert obliged(record) == ["writer", "writer"]
    assert visits(record, "researcher") == 1
    assert "It is a laptop." in team.prompts("manager")[0]


@pytest.mark.parametrize(("claims", "reports"), [("supported", 1), ("contradicted", 3)])
def test_peers_exchange_while_the_critic_would_not_publish(
    tmp_path: Path, claims: str, reports: int
) -> None:
    """Twice at most, and then the last report stands; nobody is obliged."""
    team = Team(claims=claims)
    record = scripted("peer-negotiation", team, tmp_path / "study")
    assert visits(record, "writer") == reports
    assert obliged(record) == []
    assert len(team.prompts("writer")) == reports


def test_staked_workers_see_the_points_that_they_lose(tmp_path: Path) -> None:
    """Ten at first, five fewer after each directive."""
    team = Team()
    scripted("staked", team, tmp_path / "study")
    told = [prompt.partition("You hold ")[2] for prompt in team.prompts("researcher")]
    assert [float(text.split()[0]) for text in told] == [10, 5, 0]


def coins(record: RunRecord) -> list[tuple[str, bool]]:
    """The coins of a run, in order."""
    return [
        (str(event.body["output"]), bool(event.body["heads"]))
        for event in record.events
        if event.kind == "coin"
    ]


def test_random_loops_and_placebo_fall_on_the_same_coins(tmp_path: Path) -> None:
    """So that the two differ in what the directive says, and in nothing else."""
    loops = simulated("random-loops", tmp_path / "loops", 8)
    empty = simulated("placebo", tmp_path / "empty", 8)
    tossed = {record.unit: coins(record) for record in loops}
    assert tossed == {record.unit: coins(record) for record in empty}
    heads = [heads for record in tossed.values() for _, heads in record]
    assert {True, False} == set(heads)


def test_in_the_placebo_no_manager_is_asked_and_the_directive_says_nothing(tmp_path: Path) -> None:
    """The Writer takes another turn for no reason."""
    records = simulated("placebo", tmp_path / "study", 8)
    assert all(call.role != "manager" for record in records for call in record.calls)
    verdicts = [verdict for record in records for verdict in record.verdicts if verdict.obliged]
    assert verdicts
    assert {(verdict.reason, verdict.target) for verdict in verdicts} == {
        ("Take another turn.", "writer")
    }
