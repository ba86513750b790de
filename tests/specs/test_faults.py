"""The study of faults: what each arm bears, and what it does not."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from studies import check_experiment

import orglab
from orglab.engine.study.experiment.experiment import guard
from orglab.engine.study.experiment.load import load_experiment
from orglab.results.records import RunRecord

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "specs" / "faults"
EXPERIMENT = STUDY / "experiment.yaml"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RunRecord]]:
    """Twelve units under each arm."""
    found = {}
    experiment = load_experiment(EXPERIMENT)
    for name, team in experiment.arms.items():
        out = tmp_path_factory.mktemp(name)
        found[name] = list(orglab.run(team, units=experiment.units[:12], out=out).records())
    return found


def statuses(records: list[RunRecord]) -> Counter[str]:
    """How many runs ended how."""
    return Counter(record.status for record in records)


def planted(records: list[RunRecord]) -> Counter[str]:
    """Calls by the role that spoke, where a fault was planted."""
    return Counter(
        call.role
        for record in records
        for call in record.calls
        if any(note.startswith("planted fault") for note in call.notes)
    )


def test_the_experiment_is_sound() -> None:
    """No fault in it, and its arms differ in faults and in what bears them alone."""
    assert [str(fault) for fault in check_experiment(EXPERIMENT)] == []
    guard(load_experiment(EXPERIMENT))


def test_without_faults_all_runs_complete(runs: dict[str, list[RunRecord]]) -> None:
    """Nothing is planted, nothing fails."""
    assert statuses(runs["sound"]) == {"completed": 12}
    assert not planted(runs["sound"])


def test_a_silent_critic_is_borne_by_skipping(runs: dict[str, list[RunRecord]]) -> None:
    """Every run completes; what was not reviewed is marked."""
    records = runs["silent-skip"]
    assert statuses(records) == {"completed": 12}
    marked = sum(output.unreviewed for record in records for output in record.outputs)
    assert planted(records) == {"critic": marked}
    assert marked > 0


def test_a_silent_critic_fails_runs(runs: dict[str, list[RunRecord]]) -> None:
    """Without `skip` each silent review fails its run, in words."""
    failed = [record for record in runs["silent-fail"] if record.status == "failed"]
    assert len(failed) == planted(runs["silent-fail"])["critic"] > 0
    assert all("no attempt of this call is ever answered" in record.reason for record in failed)


def test_broken_json_is_borne_by_asking_again(runs: dict[str, list[RunRecord]]) -> None:
    """More runs complete where a reply that cannot be read is asked again."""
    repaired, unrepaired = runs["broken-repaired"], runs["broken-unrepaired"]
    assert set(planted(repaired)) == set(planted(unrepaired)) == {"writer"}
    assert statuses(repaired)["completed"] > statuses(unrepaired)["completed"]
    failed = [record for record in unrepaired if record.status == "failed"]
    assert len(failed) == planted(unrepaired)["writer"]
    assert all("unreadable reply" in record.reason for record in failed)


def test_arms_of_a_fault_meet_the_same_faults(runs: dict[str, list[RunRecord]]) -> None:
    """The first review of each unit is silent under both arms, or under neither."""
    first = {
        name: {
            record.unit: next(call for call in record.calls if call.role == "critic").notes
            for record in runs[name]
        }
        for name in ("silent-skip", "silent-fail")
    }
    assert first["silent-skip"] == first["silent-fail"]


def test_the_page_on_faults_shows_a_sound_spec(tmp_path: Path) -> None:
    """docs/how-to/errors-and-retries.md: its YAML checks clean, and it names every fault."""
    page = (ROOT / "docs/how-to/errors-and-retries.md").read_text(encoding="utf-8")
    (fence,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    spec = tmp_path / "tried.yaml"
    spec.write_text(fence, encoding="utf-8")
    assert orglab.check(spec) == []
    team = orglab.load(spec)
    assert team.topology.roles["critic"].faults == {"silent": 0.3}
    assert team.topology.models["worker"].faults == {"malformed": 0.2, "timeout": 0.1}


def test_the_readme_names_every_arm() -> None:
    """And no other."""
    readme = (STUDY / "README.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([a-z-]+)` \|", readme, flags=re.MULTILINE)
    arms = yaml.safe_load(EXPERIMENT.read_text(encoding="utf-8"))["arms"]
    assert table == list(arms)
