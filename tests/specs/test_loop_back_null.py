"""Study 2 without an effect: the experiment that counts false alarms."""

from __future__ import annotations

from pathlib import Path

import yaml
from studies import check_experiment

from orglab.engine.graph.check import check_file
from orglab.engine.study.experiment.experiment import guard
from orglab.engine.study.experiment.load import judges_of, load_experiment
from orglab.providers.simulated.profile import make_profile

STUDY = Path(__file__).parents[2] / "specs" / "loop-back-authority"
NULL = STUDY / "experiment-null.yaml"


def test_it_is_sound_and_its_arms_differ_as_in_the_study() -> None:
    """The treatment is the study's own, and the guard finds nothing else."""
    assert not check_experiment(NULL)
    null, study = load_experiment(NULL), load_experiment(STUDY / "experiment.yaml")
    guard(null)
    assert null.treatments == study.treatments
    assert [unit.id for unit in null.units] == [unit.id for unit in study.units]


def test_its_teams_differ_from_the_studys_in_their_profiles_alone() -> None:
    """Every member of the pool keeps its price and settings, and stands on the profile `null`."""
    for name, team in load_experiment(NULL).arms.items():
        checked = check_file(STUDY / f"{name}.yaml")
        assert checked.team is not None
        for alias, model in team.topology.models.items():
            own = checked.team.topology.models[alias]
            assert model.options["profile"] == {**own.options["profile"], "base": "null"}
            assert (model.price, model.model) == (own.price, own.model)


def test_its_judges_do_not_mind_hedges() -> None:
    """As severe as the study's, and not bothered."""
    panel = yaml.safe_load((STUDY / "judges/panel.yaml").read_text(encoding="utf-8"))["judges"]
    entries = judges_of(load_experiment(NULL))
    assert len(entries) == len(panel) == 5
    for entry, own in zip(entries, panel.values(), strict=True):
        habit, usual = make_profile(entry["profile"]).judging, make_profile(own["profile"]).judging
        assert (habit.bother, habit.severity) == (0, usual.severity)
        assert usual.bother > 0


def test_the_null_profile_differs_where_loops_would_have_an_effect() -> None:
    """And nowhere else: as many loops, as much kept, as many words."""
    null, usual = make_profile("null"), make_profile("sycophantic")
    same = ("verdicts", "verdicts_on", "again", "unseen", "target", "hedges", "asked_words")
    assert all(getattr(null, setting) == getattr(usual, setting) for setting in same)
    assert (null.revision.kept, null.revision.words) == (usual.revision.kept, usual.revision.words)
    assert (null.revision.hedges, null.revision.concessions, null.discerning) == (0, 0, 0)
