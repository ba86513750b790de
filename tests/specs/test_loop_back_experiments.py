"""The experiments of both studies: sound, and their arms differ as declared and in nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from studies import check_experiment

from orglab.engine.graph.check import check_file
from orglab.engine.study.experiment.experiment import UndeclaredDifference, guard
from orglab.engine.study.experiment.load import load_experiment

SPECS = Path(__file__).parents[2] / "specs"
STUDY = SPECS / "loop-back-authority"
EXPERIMENTS = sorted(
    path
    for study in ("loop-back-authority", "insight-review")
    for path in (SPECS / study).glob("experiment*.yaml")
)
CRITERIA = (
    "structure",
    "coherence",
    "conciseness",
    "actionability",
    "root_cause",
    "strategic_depth",
)


def document(path: Path) -> dict[str, Any]:
    """A YAML file as it is written."""
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def name_of(path: Path) -> str:
    """How a test's case is called."""
    return f"{path.parent.name} {path.stem}"


@pytest.mark.parametrize("path", EXPERIMENTS, ids=name_of)
def test_every_experiment_checks_clean(path: Path) -> None:
    """No fault in it, in its arms, or in how they differ."""
    assert [str(issue) for issue in check_experiment(path)] == []
    guard(load_experiment(path))


def test_the_published_design_has_43_products_under_two_arms() -> None:
    """Those with five reviews or more, each named by its number."""
    experiment = load_experiment(STUDY / "experiment.yaml")
    assert list(experiment.arms) == ["flat", "hierarchical"]
    assert len(experiment.units) == 43
    assert all(unit.id == unit.inputs["product"] for unit in experiment.units)
    assert all(unit.extra["review_count"] >= 5 for unit in experiment.units)


def test_the_forked_pairs_are_the_published_design_but_for_the_sharing() -> None:
    """One field, beside what describes it."""
    whole, forked = (
        document(STUDY / f"{name}.yaml") for name in ("experiment", "experiment-forked")
    )
    assert forked["pairing"] == {"share_prefix": True}
    assert {key for key in whole if whole[key] != forked[key]} == {"name", "pairing"}


def test_all_ten_teams_are_arms_and_each_is_compared() -> None:
    """With flat, and the contrasts that matter besides."""
    every = document(STUDY / "experiment-all.yaml")
    others = ("experiment", "sweep", "personas")
    teams = {path.name for path in STUDY.glob("*.yaml") if not path.stem.startswith(others)}
    assert set(every["arms"].values()) == teams
    contrasts = every["analysis"]["contrasts"]
    assert {arm for arm, against in contrasts if against == "flat"} == set(every["arms"]) - {"flat"}
    assert ["verifier-gated", "hierarchical"] in contrasts
    assert ["random-loops", "placebo"] in contrasts


def test_a_treatment_without_one_of_its_paths_is_refused() -> None:
    """The published treatment changes authority and sight; declaring one alone is not enough."""
    experiment = load_experiment(STUDY / "experiment.yaml")
    treatments = {
        contrast: [path for path in paths if not path.endswith("sees")]
        for contrast, paths in experiment.treatments.items()
    }
    with pytest.raises(UndeclaredDifference, match=r"oversight\.sees"):
        guard(replace(experiment, treatments=treatments))


def test_the_outcomes_of_the_analysis_are_criteria_of_the_panel() -> None:
    """Composites cover each criterion once, and judges are named apart from the workers."""
    rubric = document(STUDY / "judges" / "rubric.yaml")
    panel = document(STUDY / "judges" / "panel.yaml")
    whole = document(STUDY / "experiment.yaml")
    assert tuple(rubric["criteria"]) == CRITERIA
    assert all(
        sorted(map(int, item["levels"])) == [1, 2, 3, 4, 5] for item in rubric["criteria"].values()
    )
    parts = whole["composites"]["writing_clarity"] + whole["composites"]["utility"]
    assert tuple(parts) == CRITERIA
    assert len(panel["judges"]) == 5
    team = check_file(STUDY / "hierarchical.yaml").team
    assert team is not None
    assert not set(panel["judges"]) & set(team.topology.models)
