"""Sweep documents: values by path, designs, names, equal variants, every fault in one go, resuming."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from studies import check_sweep

from orglab.engine.spec.errors import SpecError
from orglab.engine.study.batch.batch import BatchTally
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_sweep, study_folder
from orglab.engine.study.sweep.load import load_sweep
from orglab.engine.study.sweep.sweep import Sweep
from orglab.results.report.experiment.plan_history import sweep_plan, sweep_plans
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader
from orglab.results.tables.export import export
from orglab.results.tables.sweep_table import sweep_frame

TEAM = """\
kind: topology
version: 1
name: free
inputs: {topic: {type: string}}
models: {worker: {provider: simulated, profile: careful}}
roles:
  writer:
    system: You write.
    prompt: "Write about {{ topic }} as {{ vars.persona }}."
    vars: {persona: plain}
  editor: {system: You judge.}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms:
  free: free.yaml
  bound: {base: free.yaml, set: {links.oversight.cap: 2}}
  alone: alone.yaml
treatment: [links.oversight, roles.editor]
units: {file: units.csv, id: id}
seed: 5
evaluators: [words]
"""
ALONE = """\
kind: topology
version: 1
name: alone
extends: free.yaml
roles: {editor: null}
links: {oversight: null}
"""
HEAD = "kind: sweep\nversion: 1\nname: dose\nbase: free.yaml\nunits: {file: units.csv, id: id}\n"

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a sweep beside its team, an experiment and units; without `base:` the head is added."""
    files = {"free.yaml": TEAM, "right.yaml": EXPERIMENT, "alone.yaml": ALONE}
    files["p.md"] = "Write."
    files["units.csv"] = "id,topic\na,tea\nb,milk\n"
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def write(text: str) -> Path:
        path = tmp_path / "sweep.yaml"
        path.write_text(text if "base:" in text else HEAD + text, encoding="utf-8")
        return path

    return write


def names(sweep: Sweep) -> list[str]:
    """The names of the teams that are run."""
    return [cell.name for cell in sweep.cells]


def run(sweep: Sweep, folder: Path) -> BatchTally:
    """Runs what of a sweep is not done yet."""
    store = open_sweep(folder, sweep)
    try:
        return asyncio.run(run_batch(sweep.batch(), store))
    finally:
        store.close()


# --- variants ------------------------------------------------------------------------------------


def test_a_grid_is_every_combination_named_by_what_differs(write: Write) -> None:
    """A factor of one level is in no name."""
    sweep = load_sweep(
        write(
            "vary: {links.oversight.cap: [0, 2], roles.*.vars.persona: [plain, bold],"
            " limits.turns: [9]}\n"
        )
    )
    assert names(sweep) == [
        "cap=0 persona=plain",
        "cap=0 persona=bold",
        "cap=2 persona=plain",
        "cap=2 persona=bold",
    ]
    caps = [cell.team.topology.normal["links"][0]["cap"] for cell in sweep.cells]
    assert caps == [0, 0, 2, 2]
    assert sweep.cells[3].team.topology.normal["roles"]["writer"]["vars"] == {"persona": "bold"}


@pytest.mark.parametrize(
    ("vary", "expected"),
    [
        ("{roles.*.model: [worker]}", ["model=worker"]),
        ("{links.oversight.cap: [0], links.oversight.sees: [latest, blackboard]}", ["sees=latest", "sees=blackboard"]),
        ("{roles.writer.limits.output_tokens: [9], roles.editor.limits.output_tokens: [8]}", ["writer.limits.output_tokens=9 editor.limits.output_tokens=8"]),
        ("{links.oversight.review: [{label: gate, value: [{actions: [approve, reject]}]}]}", ["review=gate"]),
        ("{roles.writer.sees: [[task, own], [task]]}", ["sees=task+own", "sees=task"]),
        ('{roles.writer.vars.persona: ["a/b: c", "a b\\nc"]}', ["persona=a_b_c~0d8d0a", "persona=a_b_c~38f87b"]),
    ],
)  # fmt: skip
def test_names_are_short_stable_and_fit_for_files(
    write: Write, vary: str, expected: list[str]
) -> None:
    """Labels, the shortest ends of paths, and a digest where a value does not fit."""
    assert names(load_sweep(write(f"vary: {vary}\n"))) == expected


def test_a_zip_takes_first_with_first(write: Write) -> None:
    """Lists of unlike lengths are a fault."""
    text = "vary: {links.oversight.cap: [0, 2], roles.writer.vars.persona: [plain, bold]}\ndesign: zip\n"
    assert names(load_sweep(write(text))) == ["cap=0 persona=plain", "cap=2 persona=bold"]
    (issue,) = check_sweep(write(text.replace("[plain, bold]", "[plain]")))
    assert str(issue).endswith("1 values here, 2 under links.oversight.cap; make the lists alike, or write `design: grid`")  # fmt: skip


def test_random_draws_are_kept_when_more_are_drawn(write: Write) -> None:
    """Whole bounds give whole numbers, both ends included; no point comes twice."""
    text = (
        "vary: {links.oversight.cap: {range: [0, 3]},"
        " models.worker.params.temperature: {range: [0.01, 2.0], log: true}}\n"
        "design: {random: {n: %d, seed: 3}}\n"
    )
    few, more = (load_sweep(write(text % n)) for n in (4, 40))
    assert names(more)[:4] == names(few)
    caps = {cell.team.topology.normal["links"][0]["cap"] for cell in more.cells}
    assert caps == {0, 1, 2, 3}
    heats = [cell.team.topology.models["worker"].params["temperature"] for cell in more.cells]
    assert all(0.01 <= heat <= 2 for heat in heats)
    assert sum(heat < 0.141 for heat in heats) in range(12, 29)  # half of the logarithms


def test_random_finds_every_combination_there_is(write: Write) -> None:
    """And asks for no more of them than there are."""
    text = "vary: {links.oversight.cap: [0, 1], roles.writer.vars.persona: [a, b]}\ndesign: {random: {n: %d}}\n"
    assert len(set(names(load_sweep(write(text % 4))))) == 4
    (issue,) = check_sweep(write(text % 5))
    assert "5 variants are to be drawn, and there are 4 in all; write `design: grid`" in str(issue)


def test_a_latin_hypercube_spreads_every_factor_evenly(write: Write) -> None:
    """Each fifth of a range holds one of five points."""
    text = (
        "vary: {models.worker.params.temperature: {range: [0.0, 1.0]},"
        " roles.writer.limits.output_tokens: {range: [1, 5]}}\ndesign: {latin: {n: 5}}\n"
    )
    teams = [cell.team.topology for cell in load_sweep(write(text)).cells]
    heats = sorted(team.models["worker"].params["temperature"] for team in teams)
    assert [int(heat * 5) for heat in heats] == [0, 1, 2, 3, 4]
    assert {team.roles["writer"].limits.output_tokens for team in teams} == {1, 2, 3, 4, 5}


def test_equal_variants_are_run_once_under_all_their_names(write: Write) -> None:
    """A prompt from a file is the same as the prompt itself."""
    path = write(
        "vary:\n  links.oversight.cap: [0, 2]\n"
        "  roles.writer.prompt: [{label: short, value: Write.}, {file: p.md}]\n"
    )
    sweep = load_sweep(path)
    assert names(sweep) == ["cap=0 prompt=short", "cap=2 prompt=short"]
    plan = sweep.plan()
    assert [cell["points"] for cell in plan["cells"]] == [[0, 1], [2, 3]]
    assert plan["points"][1]["name"] == "cap=0 prompt=p"


# --- over an experiment --------------------------------------------------------------------------


def test_over_an_experiment_a_path_is_applied_to_every_arm_that_has_it(write: Write) -> None:
    """An arm without the link is run once, whatever its cap would be."""
    path = write(
        "kind: sweep\nversion: 1\nname: s\nbase: right.yaml\nvary: {links.*.reviews: [1, 2]}\n"
    )
    path.write_text(path.read_text().replace("links.*.reviews", "links.oversight.reviews"))
    sweep = load_sweep(path)
    assert names(sweep) == [
        "arm=free reviews=1",
        "arm=bound reviews=1",
        "arm=alone",
        "arm=free reviews=2",
        "arm=bound reviews=2",
    ]
    assert (sweep.seed, len(sweep.units), sweep.share_prefix) == (5, 2, False)
    assert sweep.cells[2].points == (0, 1)


def test_an_experiment_brings_its_own_units(write: Write) -> None:
    """A sweep over it may not name any."""
    path = write(HEAD.replace("free.yaml", "right.yaml") + "vary: {limits.turns: [5]}\n")
    (issue,) = check_sweep(path)
    assert str(issue).endswith(
        "units: the base is an experiment, which brings its own; leave it out"
    )


# --- issues --------------------------------------------------------------------------------------


def test_every_fault_is_reported_in_one_go(write: Write) -> None:
    """Paths, levels, designs, units, evaluators, analysis: each at its place."""
    path = write("""\
vary:
  links.oversigt.cap: [0, 1]
  roles.*.vars.persnoa: [a]
  links.oversight.cap: [0, 1, 1]
  roles.writer.limits.output_tokens: {range: [10, 2]}
  evaluators: [[usage]]
design: {random: {n: 3, sed: 4}}
evaluators: [usage, wrds]
analysis: {reference: {links.oversight.cup: 1}}
""")
    lines = [str(issue).removeprefix(str(path)) for issue in check_sweep(path)]
    assert lines == [
        ":7:3 vary.links.oversigt.cap: there is no `oversigt` in `links`; did you mean `oversight`?",
        ":8:3 vary.roles.*.vars.persnoa: there is no `persnoa` in `roles.*.vars`; did you mean `persona`?",
        ":9:31 vary.links.oversight.cap[2]: this value is listed twice; keep one",
        ":10:46 vary.roles.writer.limits.output_tokens.range: 10 is not below 2; write the least first",
        ":11:3 vary.evaluators: evaluators are the sweep's own, the same for all variants",
        ":12:25 design.random.sed: unknown key sed; did you mean `seed`?",
        ":13:21 evaluators[1]: no evaluator `wrds` is installed; did you mean `words`?",
        ":14:24 analysis.reference.links.oversight.cup: `links.oversight.cup` does not vary; did you mean `links.oversight.cap`?",
    ]  # fmt: skip


def test_values_that_no_team_takes_are_reported_where_they_stand(write: Write) -> None:
    """Once, however many variants have them."""
    path = write("""\
vary:
  links.oversight.cap: [0, -2, {label: x, value: two}]
  links.oversight.on_cap: [accept, fial]
  roles.writer.vars.persona: [a, b]
""")
    lines = [str(issue).removeprefix(str(path)) for issue in check_sweep(path)]
    assert lines == [
        ":7:28 vary.links.oversight.cap[1]: -2 is below the minimum 0; expected a whole number",
        ':7:50 vary.links.oversight.cap[2].value: expected a whole number, got the text "two"',
        ':8:36 vary.links.oversight.on_cap[1]: "fial" is not one of accept, fail; did you mean `fail`?',
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vary: {links.*.cap: [1], links.oversight.cap: [2]}\n", "it sets what links.*.cap sets as well"),
        ("vary: {links.oversight.cap: {range: [0, 2]}}\n", "a grid and a zip need a list of values"),
        ("vary: {links.oversight.cap: {range: [0, 2, 3]}}\ndesign: {latin: {n: 2}}\n", "expected two numbers"),
        ("vary: {links.oversight.cap: {range: [0, 2], log: true}}\ndesign: {latin: {n: 2}}\n", "0 has no logarithm"),
        ("vary: {inputs.topic: [{type: string}]}\n", "inputs belong to the units"),
        ("vary: {}\n", "write at least one"),
        ("vary: {roles.writer.vars.persona: [a]}\nanalysis: {reference: {roles.writer.vars.persona: b}}\n", "no such value; there are: a"),
    ],
)  # fmt: skip
def test_single_faults(write: Write, text: str, words: str) -> None:
    """Each in words that say how to mend it."""
    with pytest.raises(SpecError) as error:
        load_sweep(write(text))
    assert words in str(error.value)


def test_paths_and_wildcards_reach_into_a_team_within(write: Write, tmp_path: Path) -> None:
    """Its links have names there too; a value that it does not take is told where it stands."""
    outer = TEAM[: TEAM.index("roles:")] + "roles: {lead: {team: free.yaml}}\noutput: lead\n"
    (tmp_path / "outer.yaml").write_text(outer.replace("name: free", "name: outer"))
    head = HEAD.replace("free.yaml", "outer.yaml")
    links = (
        'vary: {"roles.lead.team.links.*.cap": [0, 1], "roles.*.team.roles.*.vars.persona": [a]}'
    )
    sweep = load_sweep(write(f"{head}{links}\n"))
    caps = [
        cell.team.topology.normal["roles"]["lead"]["team"]["links"][0]["cap"]
        for cell in sweep.cells
    ]
    assert caps == [0, 1]
    whole = "vary: {roles.lead.team.links.oversight: [{kind: authority, cap: 0}]}"
    found = [str(issue) for issue in check_sweep(write(f"{head}{whole}\n"))]
    assert "vary.roles.lead.team.links.oversight[0]: `from` is required" in found[0]


def test_a_base_that_is_a_sweep_or_outside_is_refused(write: Write) -> None:
    """A base lies in the sweep's folder and is a topology or an experiment."""
    text = "kind: sweep\nversion: 1\nname: s\nbase: BASE\nvary: {limits.turns: [5]}\n"
    (issue,) = check_sweep(write(text.replace("BASE", "sweep.yaml")))
    assert "a sweep of a sweep" in str(issue)
    (issue,) = check_sweep(write(text.replace("BASE", "../free.yaml")))
    assert "../free.yaml" in str(issue)


# --- running -------------------------------------------------------------------------------------

CAPS = "vary: {links.oversight.cap: [0, 1]}\nevaluators: [words]\n"


def test_more_values_and_factors_run_only_what_is_new(write: Write, tmp_path: Path) -> None:
    """In the same folder; runs of before stand under the new names."""
    first = load_sweep(write(CAPS))
    assert run(first, tmp_path / "study").planned == 4
    grown = load_sweep(
        write(
            "vary: {links.oversight.cap: [0, 1, 2], roles.writer.vars.persona: [plain, bold]}\n"
            "evaluators: [words]\n"
        )
    )
    assert study_folder(grown) == study_folder(first)
    tally = run(grown, tmp_path / "study")
    assert (tally.planned, tally.kept, tally.completed, tally.others) == (12, 4, 8, 0)
    with Reader(tmp_path / "study") as reader:
        assert {row.arm for row in reader.runs()} == set(names(grown))
        assert len(sweep_plans(reader)) == 2
        plan = sweep_plan(reader)
    assert plan is not None
    assert plan.normal == grown.plan()


def test_a_name_whose_team_changed_keeps_the_old_runs_apart(write: Write, tmp_path: Path) -> None:
    """A label may be given another value; the figures of the two are not mixed."""
    text = "vary: {roles.writer.vars.persona: [{label: x, value: %s}]}\nevaluators: [words]\n"
    run(load_sweep(write(text % "one")), tmp_path / "study")
    run(load_sweep(write(text % "two")), tmp_path / "study")
    frame = sweep_frame(tmp_path / "study")
    assert frame["variant"].tolist() == ["persona=x"] * 2
    with Reader(tmp_path / "study") as reader:
        kept = sorted(row.arm for row in reader.runs())
    assert kept[2].startswith("persona=x (spec ")


def test_another_base_is_another_study(write: Write, tmp_path: Path) -> None:
    """So is another seed."""
    run(load_sweep(write(CAPS)), tmp_path / "study")
    with pytest.raises(StoreError, match="with the seed 0, not 3"):
        open_sweep(tmp_path / "study", load_sweep(write(CAPS), seed=3))
    (tmp_path / "free.yaml").write_text(TEAM.replace("You write.", "You write well."))
    with pytest.raises(StoreError, match="over an earlier form of this one"):
        open_sweep(tmp_path / "study", load_sweep(write(CAPS)))


def test_the_table_has_a_row_a_run_with_factors_and_measures(write: Write, tmp_path: Path) -> None:
    """Numbers stay numbers; a run that stands for several variants says so."""
    text = (
        "vary: {links.oversight.cap: [0, 1], limits.turns: [50, 60], "
        "roles.writer.prompt: [{label: a, value: Write.}, {label: b, value: {file: p.md}}]}\n"
        "evaluators: [usage, words]\n"
    )
    run(load_sweep(write(text)), tmp_path / "study")
    frame = sweep_frame(tmp_path / "study")
    assert len(frame) == 8
    columns = ["run", "variant", "also", "cap", "factor.turns", "prompt", "unit", "replicate"]
    assert list(frame.columns[:8]) == columns
    assert (sorted(set(frame["cap"])), str(frame["cap"].dtype)) == ([0, 1], "Int64")
    assert frame["prompt"].isna().all()
    assert frame.loc[frame["cap"] == 1, "also"].tolist()[0].endswith("prompt=b")
    assert frame["words"].notna().all()
    written = export(tmp_path / "study", "csv", tmp_path / "export")
    assert written[-1].name == "sweep.csv"
    assert len(written[-1].read_text().splitlines()) == 9


def test_draws_are_the_same_for_all_variants_of_a_unit(write: Write) -> None:
    """Units, replicates and seed are common; keys tell the variants apart."""
    batch = load_sweep(write(CAPS), seed=4, replicates=3).batch()
    planned = list(batch.planned())
    assert (batch.seed, len(planned), len({run.id for run in planned})) == (4, 12, 12)
    assert [arm.key for arm in batch.arms] == [arm.team.topology.hash for arm in batch.arms]


def test_the_shipped_example_is_sound() -> None:
    """Its plan: four caps by two personas."""
    path = Path(__file__).parents[4] / "specs/loop-back-authority/sweep-cap-persona.yaml"
    sweep = load_sweep(path)
    assert len(sweep.cells) == 8
    assert yaml.safe_load(path.read_text())["name"] == sweep.name
