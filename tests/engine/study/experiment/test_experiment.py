"""Experiment documents: arms by file and by patch, every fault in one go, the guard, the plan."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import yaml
from studies import check_experiment

from orglab.engine.spec.errors import SpecError
from orglab.engine.study.batch.study_folder import open_experiment
from orglab.engine.study.batch.units import UnitError
from orglab.engine.study.experiment.experiment import Experiment, UndeclaredDifference, guard
from orglab.engine.study.experiment.load import experiment_of_files, judges_of, load_experiment
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

STUDY = Path(__file__).parents[4] / "specs/loop-back-authority"
FREE = """\
kind: topology
version: 1
name: free
inputs: {topic: {type: string}}
models: {worker: {provider: scripted, file: replies.jsonl}}
roles:
  writer: {system: You write., prompt: "Write about {{ topic }}."}
  editor: {system: You judge.}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
question: Does a right help?
arms:
  free: free.yaml
  bound: {base: free.yaml, set: {links.oversight.cap: 2}}
treatment: [links.oversight.cap]
units: {file: units.csv, id: id}
seed: 5
evaluators: [usage, {length: {role: writer}}]
"""
PANEL = """\
rubric:
  criteria:
    clarity: {asks: Is it clear?, levels: {"1": No., "5": Yes.}}
judges: {one: {provider: scripted, file: replies.jsonl}}
"""

Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Writes the experiment, its team, its units, and whatever a test adds or changes."""

    def write(**files: str) -> Path:
        known = {
            "free.yaml": FREE,
            "experiment.yaml": EXPERIMENT,
            "units.csv": "id,topic,reviews\na,tea,3\nb,coffee,7\nc,milk,9\n",
            "replies.jsonl": '{"role": "writer", "reply": "x"}\n',
            "panel.yaml": PANEL,
        }
        for name, text in {**known, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / "experiment.yaml"

    return write


def issues(path: Path) -> list[str]:
    """Every fault, as file:line and what follows, without the folder."""
    return [str(issue).replace(f"{path.parent}/", "") for issue in check_experiment(path)]


# --- what a document says ----------------------------------------------------------------------


def test_arms_by_file_and_by_patch(folder: Folder) -> None:
    """A patch sets values by path in a file; defaults stand where nothing is written."""
    experiment = load_experiment(folder())
    assert list(experiment.arms) == ["free", "bound"]
    caps = [team.topology.authority[0].cap for team in experiment.arms.values()]
    assert caps == [0, 2]
    assert experiment.contrasts == [("bound", "free")]
    assert experiment.treatments == {("bound", "free"): ["links.oversight.cap"]}
    assert (experiment.seed, experiment.replicates, experiment.share_prefix) == (5, 1, False)
    assert [unit.id for unit in experiment.units] == ["a", "b", "c"]
    assert experiment.units[1].inputs == {"topic": "coffee"}
    assert experiment.units[1].extra == {"id": "b", "reviews": "7"}
    guard(experiment)


def test_evaluators_are_the_experiment_s(folder: Folder) -> None:
    """They stand in place of the teams' own, in every arm."""
    path = folder(**{"free.yaml": FREE + "evaluators: [approvals]\n"})
    for team in load_experiment(path).arms.values():
        assert [use.use for use in team.topology.evaluators] == ["usage", "length"]


def test_contrasts_and_treatments_of_each_arm(folder: Folder) -> None:
    """Of two arms that are compared each brings its own paths."""
    text = EXPERIMENT.replace(
        "treatment: [links.oversight.cap]",
        "  seen: {base: free.yaml, set: {links.oversight.sees: blackboard}}\n"
        "treatment: {bound: [links.oversight.cap], seen: [links.oversight.sees]}\n"
        "analysis: {contrasts: [[bound, free], [seen, bound]], primary: [words]}",
    )
    experiment = load_experiment(folder(**{"experiment.yaml": text}))
    assert experiment.contrasts == [("bound", "free"), ("seen", "bound")]
    assert experiment.treatments == {
        ("bound", "free"): ["links.oversight.cap"],
        ("seen", "bound"): ["links.oversight.sees", "links.oversight.cap"],
    }
    guard(experiment)
    by_default = text.replace("contrasts: [[bound, free], [seen, bound]], ", "")
    experiment = load_experiment(folder(**{"experiment.yaml": by_default}))
    assert experiment.contrasts == [("bound", "free"), ("seen", "free")]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet"])
def test_units_of_every_kind(folder: Folder, tmp_path: Path, kind: str) -> None:
    """``id`` names the unit, ``where`` chooses, columns that are inputs reach the templates."""
    rows = [
        {"name": name, "topic": topic, "reviews": reviews}
        for name, topic, reviews in (("a", "tea", 3), ("b", "coffee", 7), ("c", "milk", 9))
    ]
    frame = pd.DataFrame(rows)
    text = EXPERIMENT.replace(
        "{file: units.csv, id: id}", f"{{file: u.{kind}, id: name, where: reviews >= 5}}"
    )
    path = folder(**{"experiment.yaml": text})
    if kind == "csv":
        frame.to_csv(tmp_path / "u.csv", index=False)
    elif kind == "parquet":
        columns = duckdb.from_df(frame)  # DuckDB is ours anyway; pandas would need pyarrow
        columns.write_parquet(str(tmp_path / "u.parquet"))
    else:
        lines = json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows))
        (tmp_path / f"u.{kind}").write_text(lines, encoding="utf-8")
    units = load_experiment(path).units
    assert [(unit.id, unit.inputs["topic"], unit.index) for unit in units] == [
        ("b", "coffee", 0),
        ("c", "milk", 1),
    ]


def test_a_sample_is_drawn_by_the_seed(folder: Folder) -> None:
    """The same for a seed, another for another, in the order of the file; more keeps what was."""
    rows = "id,topic\n" + "".join(f"u{number},tea\n" for number in range(40))

    def sampled(sample: int, seed: int | None = None) -> list[str]:
        text = EXPERIMENT.replace("id: id}", f"id: id, sample: {sample}}}")
        path = folder(**{"experiment.yaml": text, "units.csv": rows})
        return [unit.id for unit in load_experiment(path, seed=seed).units]

    ten = sampled(10)
    assert ten == sampled(10)
    assert ten == sorted(ten, key=lambda name: int(name[1:]))
    assert set(ten) < set(sampled(20))
    assert sampled(10, seed=6) != ten
    assert sampled(10, seed=5) == ten


def test_arms_with_other_inputs_share_their_units(folder: Folder) -> None:
    """A unit holds what any of the arms asks for."""
    more = FREE.replace(
        "{topic: {type: string}}", "{topic: {type: string}, reviews: {type: integer}}"
    )
    text = EXPERIMENT.replace("free: free.yaml", "free: more.yaml").replace(
        "[links.oversight.cap]", "[links.oversight.cap, inputs.reviews]"
    )
    experiment = load_experiment(folder(**{"experiment.yaml": text, "more.yaml": more}))
    assert experiment.units[0].inputs == {"topic": "tea", "reviews": 3}
    guard(experiment)


def test_judges_are_known_before_anything_runs(folder: Folder) -> None:
    """The models that evaluators will ask."""
    text = EXPERIMENT.replace("[usage,", "[{judge_panel: panel.yaml},")
    experiment = load_experiment(folder(**{"experiment.yaml": text}))
    assert [entry["provider"] for entry in judges_of(experiment)] == ["scripted"]
    assert sorted(experiment.read) == ["panel.yaml"]


# --- issues ------------------------------------------------------------------------------------

FAULTY = """\
kind: experiment
version: 1
name: right
arms:
  free: free.yaml
  bound:
    base: free.yaml
    set:
      links.oversite.cap: 2
      links.oversight.sees: everything
      evaluators: [usage]
  gone: gone.yaml
  out: ../out.yaml
  broken: broken.yaml
treatment:
  bond: [links.oversight.cap]
units:
  file: units.csv
  id: asin
evaluators:
  - usage
  - lenght: {max: 3}
  - length: {role: wrtier}
  - judge_panel: {file: panel.yaml}
analysis:
  contrasts: [[bound, free], [bund, free], [free, free], [free, bound]]
  primary: [words]
  dose: {outcome: words, dose: loops, within: hierarchical}
  subsets: {some: {arm: nobody, where: "loops == 0"}}
  followups: {outcomes: [words], correct: holm}
"""


def test_every_fault_is_reported_in_one_go_in_its_place(folder: Folder) -> None:
    """Arms, patches, evaluators, units, contrasts, treatments, analysis: file and line of each."""
    broken = FREE.replace("to: writer", "to: writr")
    path = folder(**{"experiment.yaml": FAULTY, "broken.yaml": broken})
    (path.parent.parent / "out.yaml").write_text(FREE, encoding="utf-8")
    found = issues(path)
    for place, words in [
        ("experiment.yaml:9:", "there is no link `oversite`; did you mean `oversight`?"),
        ("experiment.yaml:10:", "everything"),
        ("experiment.yaml:11:", "evaluators are the experiment's own"),
        ("experiment.yaml:12:", "gone.yaml: there is no such file"),
        ("experiment.yaml:13:", "../out.yaml: the file lies outside"),
        ("broken.yaml:10:", "writr"),
        ("experiment.yaml:16:", "there is no arm `bond`; did you mean `bound`?"),
        ("experiment.yaml:22:", "no evaluator `lenght` is installed; did you mean `length`?"),
        ("experiment.yaml:23:", "there is no role `wrtier`; did you mean `writer`?"),
        ("experiment.yaml:26:", "there is no arm `bund`"),
        ("experiment.yaml:26:", "`free` is compared with itself"),
        ("experiment.yaml:26:", "free and bound are compared twice"),
        ("experiment.yaml:28:", "there is no arm `hierarchical`"),
        ("experiment.yaml:29:", "there is no arm `nobody`"),
    ]:
        matching = [line for line in found if line.startswith(place) and words in line]
        assert len(matching) == 1, (place, words, found)
    assert found[-1].startswith("broken.yaml")


SMALL_FAULTS: dict[str, tuple[str, str, str, str]] = {
    "units column": ("id: id}", "id: asin}", "experiment.yaml:9:", "no row has the column 'asin'"),
    "units where": (
        "id: id}",
        'id: id, where: "revews > 2"}',
        "experiment.yaml:9:",
        "revews",
    ),
    "units none": ("id: id}", 'id: id, where: "reviews > 99"}', "experiment.yaml:9:", "no units"),
    "units sample": ("id: id}", "id: id, sample: 4}", "experiment.yaml:9:", "4 units"),
    "units file": ("units.csv", "more.csv", "experiment.yaml:9:", "more.csv: there is no such"),
    "units outside": ("units.csv", "../u.csv", "experiment.yaml:9:", "outside"),
    "units absolute": ("units.csv", "/etc/hostname", "experiment.yaml:9:", "relative"),
    "arm absolute": ("free: free.yaml", "free: /etc/x.yaml", "experiment.yaml:6:", "relative"),
    "unknown key": ("seed: 5", "sed: 5", "experiment.yaml:10:", "did you mean `seed`?"),
    "a field nobody reads": ("seed: 5", "models: {}", "experiment.yaml:10:", "unknown key models"),
    "treatment head": ("[links.ov", "[link.ov", "experiment.yaml:8:", "a team has no `link`"),
    "treatment name": (
        "[links.oversight.cap]",
        "[links.oversigth.cap]",
        "experiment.yaml:8:",
        "no arm has `oversigth` in `links`; did you mean `oversight`?",
    ),
    "treatment kind": ("[links.oversight.cap]", "7", "experiment.yaml:8:", "treatment"),
    "composites": ("seed: 5", "composites: {a: words}", "experiment.yaml:10:", "a list"),
    "analysis key": (
        "seed: 5",
        "analysis: {primary: [tokens], mixed: {outcme: tokens}}",
        "experiment.yaml:10:",
        "outcme",
    ),
    "an arm in a list": (
        "seed: 5",
        "analysis: {primary: [words], dose: [{outcome: words, dose: loops, within: fre}]}",
        "experiment.yaml:10:",
        "there is no arm `fre`; did you mean `free`?",
    ),
    "bounds": (
        "seed: 5",
        "analysis: {primary: [tokens], bounds: {tokens: [5, 1]}}",
        "experiment.yaml:10:",
        "5 is not below 1",
    ),
    "no pair of bounds": (
        "seed: 5",
        "analysis: {primary: [a], bounds: {a: [5]}}",
        "experiment.yaml:10:",
        "bounds",
    ),
    "level": ("seed: 5", "analysis: {primary: [a], level: 95}", "experiment.yaml:10:", "level"),
    "alpha": ("seed: 5", "analysis: {primary: [a], alpha: 0}", "experiment.yaml:10:", "alpha"),
    "a value out of range": ("seed: 5", "replicates: 0", "experiment.yaml:10:", "replicates"),
    "an evaluator's file": (
        "{length: {role: writer}}",
        "{judge_panel: {file: more.yaml}}",
        "experiment.yaml:11:",
        "more.yaml: there is no such file",
    ),
    "an evaluator's argument": (
        "{length: {role: writer}}",
        "{mtld: {threshold: 7}}",
        "experiment.yaml:11:",
        "threshold",
    ),
}


@pytest.mark.parametrize("name", SMALL_FAULTS)
def test_a_fault_has_its_line(folder: Folder, name: str) -> None:
    """One fault, where it stands, in words."""
    old, new, place, words = SMALL_FAULTS[name]
    assert old in EXPERIMENT
    (found,) = issues(folder(**{"experiment.yaml": EXPERIMENT.replace(old, new, 1)}))
    assert found.startswith(place)
    assert words in found


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("criteria:", "criterias:", "unknown key 'criterias'"),
        ('levels: {"1": No., "5": Yes.}', "levels: {}", "levels"),
        ('{"1": No., "5": Yes.}', '{"1": No., "x": Yes.}', "no whole number"),
        ("provider: scripted", "provider: scriptd", "no provider `scriptd` is installed"),
        ("file: replies.jsonl", "file: ../replies.jsonl", "outside"),
        ("file: replies.jsonl", "file: replies.jsonl, temperature: 0", "temperature"),
        ("judges: {one", "repeats: 0\njudges: {one", "repeats"),
        ("judges: {one", "shuffle: sometimes\njudges: {one", "shuffle"),
        ("rubric:", "rubric: {file: none.yaml}\nx-old:", "none.yaml"),
        ("rubric:", "rubric: {file: ../rubric.yaml}\nx-old:", "outside"),
        ("rubric:", "rubric:\n  rubric:", "unknown key 'rubric'"),
        ("clarity:", "analysis:", "analysis"),
        ("rubric:", "rubric: [", "panel.yaml"),
    ],
)
def test_a_faulty_panel_is_reported_before_anything_runs(
    folder: Folder, old: str, new: str, words: str
) -> None:
    """At the line of the experiment that names it."""
    assert old in PANEL
    text = EXPERIMENT.replace("[usage,", "[{judge_panel: panel.yaml},")
    files = {"experiment.yaml": text, "panel.yaml": PANEL.replace(old, new, 1)}
    path = folder(**files)
    (path.parent.parent / "rubric.yaml").write_text("criteria: {}\n", encoding="utf-8")
    (found,) = issues(path)
    assert found.startswith("experiment.yaml:11:")
    assert words in found


def test_an_arm_in_another_folder_cannot_share_evaluators_files(folder: Folder) -> None:
    """It would look for them beside itself; without such files it may lie anywhere below."""
    inner = {"inner/free.yaml": FREE, "inner/replies.jsonl": "", "inner/panel.yaml": PANEL}
    text = EXPERIMENT.replace("free: free.yaml", "free: inner/free.yaml")
    assert issues(folder(**{"experiment.yaml": text, **inner})) == []
    text = text.replace("[usage,", "[{judge_panel: {file: panel.yaml}},")
    found = issues(folder(**{"experiment.yaml": text, **inner}))
    assert any("keep arms and experiment in one folder" in line for line in found)


def test_a_link_that_leads_out_is_refused(folder: Folder, tmp_path: Path) -> None:
    """Also where the link itself lies inside."""
    path = folder(**{"experiment.yaml": EXPERIMENT.replace("free: free.yaml", "free: link.yaml")})
    outside = tmp_path.parent / f"{tmp_path.name}-outside.yaml"
    outside.write_text(FREE, encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to(outside)
    (found,) = issues(path)
    assert "outside" in found


@pytest.mark.parametrize("text", ["", "[]", "kind: experiment", "kind: experiment\narms: {a: 3}\n"])
def test_half_a_document_is_reported_without_a_crash(folder: Folder, text: str) -> None:
    """Whatever is missing."""
    assert issues(folder(**{"experiment.yaml": text}))
    with pytest.raises(SpecError, match=r"experiment\.yaml"):
        load_experiment(folder(**{"experiment.yaml": text}))


# --- the guard ---------------------------------------------------------------------------------


def test_one_word_in_one_prompt_of_one_arm_is_refused_with_that_word(tmp_path: Path) -> None:
    """Of the published study."""
    study = tmp_path / "study"
    shutil.copytree(STUDY, study)
    guard(load_experiment(study / "experiment.yaml"))
    text = (study / "flat.yaml").read_text(encoding="utf-8")
    prompt = (study / "prompts/critic.md").read_text(encoding="utf-8")
    (study / "prompts/critic-2.md").write_text(prompt + " Sternly.\n", encoding="utf-8")
    critic = "\nroles:\n  critic: {system: {file: prompts/critic-2.md}}\n"
    (study / "flat.yaml").write_text(text + critic, encoding="utf-8")
    with pytest.raises(UndeclaredDifference, match="Sternly") as refused:
        guard(load_experiment(study / "experiment.yaml"))
    (line, hint) = refused.value.lines
    assert line.startswith("hierarchical and flat differ in roles.critic.system (prompts)")
    assert "oversight" not in line
    assert "treatment" in hint


def test_the_guard_looks_at_every_contrast(folder: Folder) -> None:
    """Each with its own paths; an arm that is compared with none is not looked at."""
    text = EXPERIMENT.replace(
        "treatment: [links.oversight.cap]",
        "  seen: {base: free.yaml, set: {links.oversight.sees: blackboard, limits.turns: 9}}\n"
        "treatment: {bound: [links.oversight.cap], seen: [links.oversight.sees]}\n",
    )
    with pytest.raises(UndeclaredDifference, match=r"limits\.turns \(limits\): 9 and"):
        guard(load_experiment(folder(**{"experiment.yaml": text})))
    alone = text + "analysis: {contrasts: [[bound, free]]}\n"
    guard(load_experiment(folder(**{"experiment.yaml": alone})))


def test_what_follows_from_the_treatment_is_no_fault(folder: Folder) -> None:
    """Another data file in one arm is named by the setting alone, not by its content too."""
    text = FREE.replace(
        "roles:", "tools: {find: {use: get_record, with: {file: a.jsonl, id: id}}}\nroles:"
    )
    experiment = EXPERIMENT.replace("links.oversight.cap: 2", "tools.find.with.file: b.jsonl")
    experiment = experiment.replace("[links.oversight.cap]", "[tools.find.with.file]")
    files = {name: f'{{"id": "{name}"}}\n' for name in ("a.jsonl", "b.jsonl")}
    path = folder(**{"free.yaml": text, "experiment.yaml": experiment, **files})
    guard(load_experiment(path))


# --- hash, plan, folder ------------------------------------------------------------------------


def changed(experiment: Experiment, **fields: Any) -> Experiment:
    """The experiment with other fields."""
    return replace(experiment, **fields)


def plans(folder: Path) -> list[dict[str, Any]]:
    """The frozen plans, as they were kept."""
    with Reader(folder) as reader:
        rows = reader.rows("SELECT normal FROM specs WHERE kind='experiment' ORDER BY added, hash")
        return [json.loads(row["normal"]) for row in rows]


def test_the_hash_is_of_what_makes_the_runs(folder: Folder) -> None:
    """Units, replicates, evaluators and analysis may grow in the same study."""
    path = folder()
    first = load_experiment(path)
    more = EXPERIMENT.replace("[usage,", "[usage, words,") + "replicates: 3\n"
    grown = {"experiment.yaml": more, "units.csv": "id,topic\nz,water\n"}
    assert load_experiment(folder(**grown)).hash == first.hash
    assert load_experiment(folder(), seed=6).hash != first.hash
    shared = EXPERIMENT + "pairing: {share_prefix: true}\n"
    assert load_experiment(folder(**{"experiment.yaml": shared})).hash != first.hash
    other = EXPERIMENT.replace("cap: 2", "cap: 3")
    assert load_experiment(folder(**{"experiment.yaml": other})).hash != first.hash


def test_the_plan_is_frozen_once_and_each_change_of_it(folder: Folder, tmp_path: Path) -> None:
    """The analysis changed, and changed back: three plans in order, the last one counts."""
    study = tmp_path / "study"
    first = load_experiment(folder())
    open_experiment(study, first).close()
    open_experiment(study, first).close()
    assert [plan["analysis"] for plan in plans(study)] == [{}]
    changed_analysis = {"primary": ["words"]}
    open_experiment(study, changed(first, analysis=changed_analysis)).close()
    open_experiment(study, first).close()
    assert [plan["analysis"] for plan in plans(study)] == [{}, changed_analysis, {}]


def test_the_plan_holds_what_evaluators_read(folder: Folder, tmp_path: Path) -> None:
    """Another rubric is another plan, also where a panel names the file."""
    panel = PANEL.replace("rubric:\n", "rubric: {file: rubric.yaml}\nx-old:\n")
    rubric = 'criteria: {clarity: {asks: Clear?, levels: {"1": No., "5": Yes.}}}\n'
    text = EXPERIMENT.replace("[usage,", "[{judge_panel: panel.yaml},")
    files = {"experiment.yaml": text, "panel.yaml": panel, "rubric.yaml": rubric}
    experiment = load_experiment(folder(**files))
    assert sorted(experiment.read) == ["panel.yaml", "rubric.yaml"]
    stricter = load_experiment(folder(**{**files, "rubric.yaml": rubric.replace("Yes", "Ja")}))
    assert stricter.read["panel.yaml"] == experiment.read["panel.yaml"]
    assert stricter.plan() != experiment.plan()
    for each in (experiment, stricter):
        open_experiment(tmp_path / "study", each).close()
    assert len(plans(tmp_path / "study")) == 2


def one_run(folder: Path, experiment: Experiment, arm: str) -> None:
    """Begins a run of an arm."""
    store = Store(folder)
    spec = experiment.arms[arm].topology.hash
    head: dict[str, Any] = {"arm": arm, "unit": "a", "inputs": {}, "extra": {}, "replicate": 0}
    store.open_run("r1", **head, seed=experiment.seed, spec_hash=spec, order=0)
    store.leave("r1")
    store.close()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("arm", "other teams than this experiment's arms"),
        ("swapped", "other teams than this experiment's arms"),
        ("seed", "with the seed 5, not 6"),
        ("pairing", "of arms that share no calls"),
    ],
)
def test_runs_that_are_others_are_refused_in_the_folder(
    folder: Folder, tmp_path: Path, what: str, words: str
) -> None:
    """Another team, teams under each other's names, another seed, another pairing."""
    study = tmp_path / "study"
    first = load_experiment(folder())
    open_experiment(study, first).close()
    one_run(study, first, "bound")
    arms = dict(first.arms)
    other = {
        "arm": lambda: changed(first, arms={"free": arms["free"], "bound": arms["free"]}),
        "swapped": lambda: changed(first, arms={"free": arms["bound"], "bound": arms["free"]}),
        "seed": lambda: changed(first, seed=6),
        "pairing": lambda: changed(first, share_prefix=True),
    }[what]()
    with pytest.raises(StoreError, match=words):
        open_experiment(study, other)
    open_experiment(study, first).close()


# --- two files ---------------------------------------------------------------------------------


def test_two_files_are_an_experiment(folder: Folder, tmp_path: Path) -> None:
    """Arms are named after the files, the treatment is what differs, both are measured alike."""
    folder()
    bound = FREE.replace("cap: 0", "cap: 2").replace("You write.", "You write well.")
    (tmp_path / "free.yaml").write_text(FREE + "evaluators: [usage]\n", encoding="utf-8")
    (tmp_path / "bound.yaml").write_text(bound + "evaluators: [words, usage]\n", encoding="utf-8")
    experiment = experiment_of_files(
        tmp_path / "free.yaml", tmp_path / "bound.yaml", units=tmp_path / "units.csv", seed=3
    )
    assert list(experiment.arms) == ["free", "bound"]
    assert experiment.treatments == {
        ("bound", "free"): ["roles.writer.system", "links.oversight.cap"]
    }
    for team in experiment.arms.values():
        assert [use.use for use in team.topology.evaluators] == ["usage", "words"]
    assert experiment.plan()["evaluators"] == [{"usage": {}}, {"words": {}}]
    guard(experiment)


def test_two_files_that_do_not_differ_are_no_experiment(folder: Folder, tmp_path: Path) -> None:
    """Other evaluators are no treatment; equal names cannot be told apart."""
    folder(**{"same.yaml": FREE + "evaluators: [usage]\n", "inner/free.yaml": FREE})
    free, units = tmp_path / "free.yaml", tmp_path / "units.csv"
    with pytest.raises(ValueError, match="do not differ"):
        experiment_of_files(free, tmp_path / "same.yaml", units=units)
    with pytest.raises(ValueError, match="named after their files"):
        experiment_of_files(free, tmp_path / "inner/free.yaml", units=units)


def test_the_faults_of_both_files_are_reported(folder: Folder, tmp_path: Path) -> None:
    """In one go."""
    folder(**{"one.yaml": FREE.replace("cap: 0", "cap: -1"), "two.yaml": "kind: topology\n"})
    with pytest.raises(SpecError, match=r"one\.yaml(.|\n)*two\.yaml"):
        experiment_of_files(
            tmp_path / "one.yaml", tmp_path / "two.yaml", units=tmp_path / "units.csv"
        )


def test_units_must_fit_both_files(folder: Folder, tmp_path: Path) -> None:
    """An input of the second team is missing in the units: told before anything runs."""
    more = FREE.replace("{topic: {type: string}}", "{topic: {type: string}, size: {type: integer}}")
    folder(**{"more.yaml": more})
    with pytest.raises(UnitError, match="size: missing"):
        experiment_of_files(
            tmp_path / "free.yaml", tmp_path / "more.yaml", units=tmp_path / "units.csv"
        )


def test_shipped_experiments_have_treatments_that_name_something() -> None:
    """A treatment path that named nothing would be told."""
    for path in STUDY.glob("experiment*.yaml"):
        assert check_experiment(path) == ()
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["treatment"]
