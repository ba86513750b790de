"""From the store to the tables of the statistics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from orglab.results.report.experiment.data import Tables, read_tables, wanted_names
from orglab.results.report.experiment.plan_history import FrozenPlan, frozen_plans, plan_changes
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader


def tables_of(place: Path) -> tuple[FrozenPlan, Tables]:
    """The last plan of a study, and its tables."""
    with Reader(place) as reader:
        plan = frozen_plans(reader)[-1]
        return plan, read_tables(reader, plan)


def test_every_verdict_of_a_judge_is_a_row(made: Path) -> None:
    """Criteria come by judge; other scores by run, without a judge."""
    _, tables = tables_of(made)
    depth = tables.scores[tables.scores["outcome"] == "depth"]
    assert sorted(set(depth["judge"])) == ["mild", "strict"]
    assert len(depth) == 2 * 16
    words = tables.scores[tables.scores["outcome"] == "words"]
    assert set(words["judge"]) == {""}
    assert len(words) == 16


def test_repeats_of_a_judge_are_averaged(study: Path, bend: Callable[..., None]) -> None:
    """Case 64: two verdicts of one judge are one value, not two judges."""
    detail = (
        '{"verdicts":[{"judge":"strict","repeat":0,"value":2},{"judge":"strict","repeat":1,'
        '"value":5},{"judge":"mild","repeat":0,"value":null},{"judge":"mild","repeat":1,"value":4}]}'
    )
    bend("UPDATE scores SET detail=? WHERE name='depth'", detail)
    _, tables = tables_of(study)
    depth = tables.scores[tables.scores["outcome"] == "depth"]
    assert set(depth.loc[depth["judge"] == "strict", "value"]) == {3.5}
    assert set(depth.loc[depth["judge"] == "mild", "value"]) == {4.0}
    assert len(depth) == 2 * 16
    assert tables.scored.repeats == 2


def test_an_unreadable_verdict_is_missing(study: Path, bend: Callable[..., None]) -> None:
    """Missing, with a reason; never 0."""
    detail = '{"verdicts":[{"judge":"strict","repeat":0,"value":null}]}'
    bend("UPDATE scores SET detail=?, value=NULL WHERE name='depth'", detail)
    _, tables = tables_of(study)
    depth = tables.scores[tables.scores["outcome"] == "depth"]
    assert depth["value"].isna().all()
    assert set(depth["reason"]) == {"no readable verdict"}


def test_runs_hold_counts_drawn_models_and_columns_of_units(made: Path) -> None:
    """One row a planned run."""
    _, tables = tables_of(made)
    runs = tables.runs
    assert len(runs) == 16
    assert set(runs["model.writer"]) == {"one", "two"}
    assert set(runs["region"]) == {"north", "south"}
    assert (runs["tokens"] == runs["tokens_input"] + runs["tokens_output"]).all()
    assert (runs["cost_usd"] > 0).all()


def test_runs_not_begun_have_a_row(study: Path, bend: Callable[..., None]) -> None:
    """Their figures are missing, and their status says why."""
    for table in ("scores", "events", "calls", "evaluations"):
        bend(f"DELETE FROM {table} WHERE run IN (SELECT run FROM runs WHERE unit='u0')")
    bend("DELETE FROM runs WHERE unit='u0'")
    _, tables = tables_of(study)
    gone = tables.runs[tables.runs["unit"] == "u0"]
    assert gone["status"].tolist() == ["not run", "not run"]
    assert gone["loops"].isna().all()
    assert len(tables.runs) == 16


def test_runs_beyond_the_plan_are_left_out(study: Path, add_plan: Callable[..., None]) -> None:
    """Other units, replicates or seeds are counted, not mixed in."""
    add_plan({"units": [f"u{at}" for at in range(6)]}, "2999-01-01T00:00:00.000Z")
    _, tables = tables_of(study)
    assert tables.outside == 4
    assert set(tables.scores["unit"]) == {f"u{at}" for at in range(6)}


def test_drafts_are_numbered_from_one(made: Path) -> None:
    """``words@2`` is the measure ``words`` of the second draft of the evaluator's role."""
    _, tables = tables_of(made)
    drafts = tables.drafts
    own = drafts[(drafts["measure"] == "words") & (drafts["role"] == "writer")]
    assert {1, 2} <= set(own["visit"])
    assert set(drafts.loc[drafts["measure"] == "kept_share", "visit"]) >= {2}
    assert not any("@" in name for name in tables.scores["outcome"])


def test_what_usage_counts_is_taken_from_the_runs(made: Path) -> None:
    """One meaning of seconds and loops: the store's."""
    _, tables = tables_of(made)
    assert not {"seconds", "loops", "cost_usd"} & set(tables.scores["outcome"])


def test_an_outcome_that_nobody_gave_is_missing_not_a_fault(
    study: Path, add_plan: Callable[..., None]
) -> None:
    """The reason stands beside it."""
    analysis = {"contrasts": [["bound", "free"]], "primary": ["wit"]}
    add_plan({"analysis": analysis}, "2999-01-01T00:00:00.000Z")
    _, tables = tables_of(study)
    wit = tables.scores[tables.scores["outcome"] == "wit"]
    assert len(wit) == 16
    assert wit["value"].isna().all()
    assert set(wit["reason"]) == {"no evaluator has given a score of this name"}


def test_an_evaluator_that_failed_leaves_missing_scores(
    study: Path, bend: Callable[..., None]
) -> None:
    """Every score that it gives elsewhere is missing here, with the error."""
    bend("DELETE FROM scores WHERE run=1 AND evaluator='words'")
    bend("UPDATE evaluations SET error='it broke' WHERE run=1 AND evaluator='words'")
    _, tables = tables_of(study)
    words = tables.scores[(tables.scores["outcome"] == "words") & tables.scores["value"].isna()]
    assert words["reason"].tolist() == ["it broke"]


def test_a_name_that_several_evaluators_give(study: Path, bend: Callable[..., None]) -> None:
    """It belongs to the evaluator called so; where two are, to none of them."""
    _, tables = tables_of(study)
    words = [name for name in set(tables.scores["outcome"]) if name.startswith("words")]
    assert sorted(words) == ["words", 'words (length {"max":70})']
    bend("""INSERT INTO scores SELECT run, evaluator, '{"role":"editor"}', name, scale, value, label,
            passed, reason, detail FROM scores WHERE evaluator='words' AND name='words'""")
    _, tables = tables_of(study)
    assert "words" in tables.scored.ambiguous
    plain = tables.scores[tables.scores["outcome"] == "words"]
    assert plain["value"].isna().all()
    assert set(plain["reason"]) == {
        "several evaluators give a score of this name; name one of them alone"
    }


def test_composites_are_wanted_as_their_parts(made: Path) -> None:
    """A composite of composites too."""
    with Reader(made) as reader:
        plan = frozen_plans(reader)[-1]
    assert wanted_names(plan) == ("depth", "order", "words", "kept_share")


def test_a_study_of_one_team_has_no_report(study: Path, bend: Callable[..., None]) -> None:
    """The message says what to do instead."""
    bend("DELETE FROM specs WHERE kind='experiment'")
    with Reader(study) as reader, pytest.raises(StoreError, match="orglab compare"):
        frozen_plans(reader)


def test_changes_of_plan_tell_where_and_when(study: Path, add_plan: Callable[..., None]) -> None:
    """Places that differ, and how many runs had ended by then."""
    analysis = {"contrasts": [["bound", "free"]], "primary": ["depth"]}
    add_plan({"analysis": analysis, "units": ["u0", "u9"]}, "2999-01-01T00:00:00.000Z")
    with Reader(study) as reader:
        changes = plan_changes(reader, frozen_plans(reader))
    assert len(changes) == 1
    assert changes[0].ended == 16
    assert changes[0].touches_analysis
    told = {change.path: change for change in changes[0].changes}
    assert told["analysis.primary"].before == '["quality"]'
    assert told["units"].after.startswith("2; added: u9; left out: u1, u2, u3, u4 and 3 more")


def test_values_are_those_of_the_store(made: Path) -> None:
    """The mean over judges is the score that the panel gave."""
    _, tables = tables_of(made)
    with Reader(made) as reader:
        rows = reader.rows("SELECT value FROM scores WHERE name='depth' ORDER BY run")
        stored = np.mean([row["value"] for row in rows])
    depth = tables.scores[tables.scores["outcome"] == "depth"]
    assert depth["value"].mean() == pytest.approx(stored)
