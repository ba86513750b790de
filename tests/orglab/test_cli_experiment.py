"""Experiments on the command line: diff, check, run, evaluate, explain-call."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.base import Completion, Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.reader import Reader

Cli = Any
STUDY = Path(__file__).parents[2] / "specs/loop-back-authority"
TEAM = """\
kind: topology
version: 1
name: free
inputs: {topic: {type: string}}
models: {worker: {provider: scripted, file: replies.jsonl}}
roles:
  writer: {system: You write well., prompt: "Write about {{ topic }}."}
  editor: {system: You judge.}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}
output: writer
evaluators: [usage]
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms:
  free: free.yaml
  bound: {base: free.yaml, set: {links.oversight.cap: 1}}
treatment: [links.oversight.cap]
units: {file: units.csv}
evaluators: [usage, {judge_panel: panel.yaml}]
"""
PANEL = """\
rubric: {criteria: {clarity: {levels: {"1": No., "5": Yes.}}}}
judges: {one: {provider: scripted, file: replies.jsonl}}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Every call that a scripted model is asked, answered."""
    requests: list[Request] = []

    async def complete(request: Request) -> Completion:
        requests.append(request)
        if request.labels.purpose == "judge":
            return Completion(text='{"analysis": "clear", "clarity": 4}')
        if request.schema is None:
            return Completion(text=f"on {request.labels.unit}")
        actions = request.schema["properties"]["action"]["enum"]
        return Completion(text=json.dumps({"action": actions[-1], "reason": "because"}))

    def from_spec(_: str, __: Mapping[str, Any]) -> ScriptedProvider:
        return ScriptedProvider(complete)

    monkeypatch.setattr(ScriptedProvider, "from_spec", from_spec)
    return requests


@pytest.fixture
def files(tmp_path: Path, cli: Cli, asked: list[Request]) -> Path:
    """A folder with two teams, an experiment, a panel and units."""
    bound = TEAM.replace("cap: 0", "cap: 1").replace("name: free", "name: bound")
    for name, text in {
        "free.yaml": TEAM,
        "bound.yaml": bound,
        "experiment.yaml": EXPERIMENT,
        "panel.yaml": PANEL,
        "units.csv": "id,topic\na,tea\nb,coffee\nc,milk\n",
        "replies.jsonl": '{"role": "writer", "reply": "x"}\n',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def study(folder: Path) -> Path:
    """The only study's folder."""
    (found,) = (folder / "runs").iterdir()
    return found


# --- diff --------------------------------------------------------------------------------------


def test_diff_of_the_published_arms(cli: Cli) -> None:
    """Exactly the declared paths; without one of them the gate says no."""
    pair = (STUDY / "flat.yaml", STUDY / "hierarchical.yaml")
    both = ("--treatment", "links.oversight.cap", "--treatment", "links.oversight.sees")
    ended = cli("diff", *pair, *both, "--format", "json")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert [each["path"] for each in found["differences"]] == [
        "links.oversight.cap",
        "links.oversight.sees",
    ]
    assert found["undeclared"] == []
    ended = cli("diff", *pair, *both[:2])
    assert ended.code == 3
    assert "1 beyond the treatment (links.oversight.cap):\n  links.oversight.sees" in ended.out
    assert cli("diff", *pair).code == 0


def test_diff_of_equal_specs(cli: Cli, files: Path) -> None:
    """Nothing, in every form, also under a treatment."""
    (files / "same.yaml").write_text("# remark\n" + TEAM.replace("name: free", "name: same"))
    for form in ("terminal", "markdown"):
        ended = cli("diff", "free.yaml", "same.yaml", "--format", form, "--treatment", "links")
        assert (ended.code, "No differences." in ended.out) == (0, True)
    found = json.loads(cli("diff", "free.yaml", "same.yaml", "--format", "json").out)
    assert (found["differences"], found["prompts"]) == ([], [])
    assert found["graphs"]["left"] == found["graphs"]["right"]


def test_diff_shows_words_prompts_and_graphs(cli: Cli, files: Path) -> None:
    """Both sides of a text word by word, the prompts of a sample unit, what changed marked."""
    text = TEAM.replace("You write well.", "You write very well.")
    (files / "other.yaml").write_text(text, encoding="utf-8")
    ended = cli("diff", "free.yaml", "other.yaml", "--input", "topic=tea")
    assert "You write{+ very+} well." in ended.out
    assert "prompt of writer, turn 1" in ended.out
    found = json.loads(
        cli("diff", "free.yaml", "other.yaml", "--format", "json", "--units", "units.csv").out
    )
    (one,) = found["differences"]
    assert (one["path"], one["kind"], one["words"]) == ("roles.writer.system", "prompts", "+'very'")
    assert found["unit"] == "a"
    assert "Write about tea." in found["prompts"][0]["left"]
    assert "style n0 stroke" in found["graphs"]["left"]


def test_diff_is_short_and_full_on_demand(cli: Cli, files: Path) -> None:
    """First every path, old and new; then the changed lines of prompts, alike ones once."""
    many = "".join(f"Rule {at} stands as it is.\\n" for at in range(40))
    for name, word in (("long.yaml", "old"), ("other.yaml", "new")):
        text = TEAM.replace("You write well.", f'"{many}The {word} rule.\\n{many}"')
        (files / name).write_text(text, encoding="utf-8")
    ended = cli("diff", "long.yaml", "other.yaml").out
    lines = ended.splitlines()
    assert lines[0] == "long.yaml → other.yaml"
    assert lines[1].startswith("  roles.writer.system (prompts): -'old' +'new'")
    assert "1 difference." in lines[2]
    assert ended.count("Rule 39 stands") == 2, "once a side"
    assert "Rule 20 stands" not in ended
    assert ended.count("prompt of") == 1
    assert len(lines) < len(cli("diff", "long.yaml", "other.yaml", "--full").out.splitlines())


def test_evaluators_are_no_difference_of_teams(cli: Cli, files: Path) -> None:
    """As where the two are run: they are told apart, and no gate minds them."""
    text = TEAM.replace("evaluators:", "evaluators: [mtld]\nx-old:")
    (files / "other.yaml").write_text(text, encoding="utf-8")
    ended = cli("diff", "free.yaml", "other.yaml", "--treatment", "links")
    assert ended.code == 0
    assert "No differences.\nalso measured differently: evaluators" in ended.out
    page = cli("diff", "free.yaml", "other.yaml", "--format", "markdown").out
    assert "Also measured differently: evaluators" in page
    found = json.loads(cli("diff", "free.yaml", "other.yaml", "--format", "json").out)
    assert found["differences"] == []
    assert {each["kind"] for each in found["measured"]} == {"evaluation"}
    ended = cli("run", "free.yaml", "other.yaml", "--units", "units.csv")
    assert "do not differ" in ended.err


HOSTILE = "# Head | `code` <b>*bold*</b> ![x](http://h/i.png) \\\\ _u_ ~~s~~ \\x1b[31m\\u202e"


def test_diff_in_markdown_means_nothing_to_markdown(cli: Cli, files: Path) -> None:
    """Text of a stranger's spec is shown, not obeyed: in cells, in prompts, in a terminal."""
    text = TEAM.replace("You write well.", f'"{HOSTILE}"')
    text = text.replace("evaluators:", "templates: {powers: 'a|b'}\nevaluators:")
    (files / "other.yaml").write_text(text, encoding="utf-8")
    page = cli("diff", "free.yaml", "other.yaml", "--format", "markdown").out
    rows = [line for line in page.splitlines() if line.startswith("| roles.")]
    (row,) = rows
    assert row.count("|") == 5
    for sign in ("`", "<b>", "![", "~~", "\\", "\x1b", "\u202e"):
        assert sign not in row
    assert "\x1b" not in page
    assert "\u202e" not in page
    prompt = page[page.index("<pre>") : page.index("</pre>")]
    assert "<b>" not in prompt
    assert "<del>\nYou write well.</del>" in prompt
    assert page.count("```mermaid") == 2
    for form in ("terminal", "json"):
        out = cli("diff", "free.yaml", "other.yaml", "--format", form).out
        assert "\x1b[31m" not in out


def test_diff_of_teams_with_other_inputs(cli: Cli, files: Path) -> None:
    """A sample unit has the inputs of both; where prompts cannot be rendered that is told."""
    more = TEAM.replace("{topic: {type: string}}", "{topic: {type: string}, size: {type: integer}}")
    more = more.replace("about {{ topic }}", "about {{ topic }} in {{ size }} words")
    (files / "more.yaml").write_text(more, encoding="utf-8")
    ended = cli("diff", "free.yaml", "more.yaml")
    assert ended.code == 0
    assert "inputs.size" in ended.out
    assert "in 1 words" in " ".join(ended.out.split())
    broken = more.replace("{{ size }} words", "{{ size.nothing.at.all }} words")
    (files / "more.yaml").write_text(broken, encoding="utf-8")
    ended = cli("diff", "free.yaml", "more.yaml")
    assert ended.code == 0
    assert "Not all prompts could be rendered: more.yaml: " in ended.out


def test_render_says_where_prompts_end(cli: Cli, files: Path) -> None:
    """A prompt that cannot be rendered is told, not left out in silence."""
    broken = TEAM.replace("You write well.", '"{{ topic.nothing.at.all }}"')
    (files / "broken.yaml").write_text(broken, encoding="utf-8")
    ended = cli("render", "broken.yaml", "--input", "topic=tea")
    assert ended.code == 2
    assert "The run would end here: writer: prompt: " in ended.err


def test_diff_of_a_faulty_spec(cli: Cli, files: Path) -> None:
    """Its faults, exit code 2."""
    (files / "bad.yaml").write_text(TEAM.replace("cap: 0", "cap: -1"), encoding="utf-8")
    ended = cli("diff", "free.yaml", "bad.yaml")
    assert ended.code == 2
    assert "bad.yaml:10" in ended.err


# --- check and the guard -----------------------------------------------------------------------


def test_check_of_an_experiment(cli: Cli, files: Path) -> None:
    """Sound, refused by the guard (3), faulty (2); of several files each is told."""
    assert "2 arms, 3 units, 6 runs" in cli("check", "experiment.yaml").out
    strange = EXPERIMENT.replace("cap: 1}", "cap: 1, roles.editor.system: You judge hard.}")
    (files / "strange.yaml").write_text(strange, encoding="utf-8")
    (files / "bad.yaml").write_text(EXPERIMENT.replace("free.yaml", "fre.yaml"), encoding="utf-8")
    ended = cli("check", "strange.yaml", "experiment.yaml")
    assert ended.code == 3
    assert "roles.editor.system (prompts): -'judge.' +'judge hard.'" in ended.out
    assert "experiment.yaml: sound" in ended.out
    ended = cli("check", "strange.yaml", "bad.yaml", "free.yaml")
    assert ended.code == 2
    assert "bad.yaml:5:" in ended.out
    assert "free.yaml: sound" in ended.out


def test_an_undeclared_word_is_refused_before_anything_is_done(
    cli: Cli, files: Path, asked: list[Request]
) -> None:
    """Exit code 3, the word shown, no study made, no model asked."""
    strange = EXPERIMENT.replace("cap: 1}", "cap: 1, roles.writer.system: You write very well.}")
    (files / "experiment.yaml").write_text(strange, encoding="utf-8")
    ended = cli("run", "experiment.yaml")
    assert ended.code == 3
    assert "bound and free differ in roles.writer.system (prompts): +'very'" in ended.err
    assert not (files / "runs").exists()
    assert asked == []


def test_a_word_in_the_published_study_is_refused(cli: Cli, tmp_path: Path) -> None:
    """Of the files as they are shipped, one word added to one prompt of one arm."""
    copy = tmp_path / "copy"
    shutil.copytree(STUDY, copy)
    text = (copy / "flat.yaml").read_text(encoding="utf-8")
    role = "\nroles:\n  writer: {vars: {now: Hand in the final report.}}\n"
    (copy / "flat.yaml").write_text(text + role, encoding="utf-8")
    ended = cli("run", "copy/experiment.yaml")
    assert ended.code == 3
    assert "roles.writer.vars.now (prompts): -'final'" in ended.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_faulty_panel_stops_an_experiment_and_a_team(
    cli: Cli, files: Path, asked: list[Request], command: str
) -> None:
    """Told at the line that names it, before anything is asked."""
    (files / "panel.yaml").write_text(PANEL.replace("criteria", "criterias"), encoding="utf-8")
    (files / "free.yaml").write_text(TEAM.replace("[usage]", "[{judge_panel: panel.yaml}]"))
    more = ("--input", "topic=tea") if command == "run" else ()
    for name, arguments in (("experiment", ()), ("free", more)):
        ended = cli(command, f"{name}.yaml", *arguments)
        assert ended.code == 2
        assert f"{name}.yaml:" in ended.out + ended.err
        assert "unknown key 'criterias'" in ended.out + ended.err
    assert asked == []


# --- run ---------------------------------------------------------------------------------------


def test_run_of_an_experiment(cli: Cli, files: Path, asked: list[Request]) -> None:
    """Treatment printed first; pairs run, judged; the same again costs nothing."""
    ended = cli("run", "experiment.yaml")
    assert ended.code == 0, ended.err
    assert ended.out.startswith(
        "3 units, 2 arms\nbound against free, treatment: links.oversight.cap"
    )
    assert study(files).name.startswith("right-")
    with Reader(study(files)) as reader:
        assert sorted((row.arm, row.unit) for row in reader.runs()) == [
            (arm, unit) for arm in ("bound", "free") for unit in "abc"
        ]
    asked.clear()
    again = cli("run", "experiment.yaml")
    assert "6 of 6 runs were done before" in again.out
    assert asked == []


def test_run_of_two_files(cli: Cli, files: Path) -> None:
    """Arms named after the files, the treatment being what differs, printed before the first call."""
    ended = cli("run", "free.yaml", "bound.yaml", "--units", "units.csv", "--seed", 3)
    assert ended.code == 0, ended.err
    assert "bound against free, treatment: links.oversight.cap\n" in ended.out
    assert study(files).name.startswith("free-bound-")
    with Reader(study(files)) as reader:
        assert {row.arm for row in reader.runs()} == {"free", "bound"}
        assert {row.seed for row in reader.runs()} == {3}


def test_check_looks_at_what_is_set(cli: Cli, files: Path) -> None:
    """As a run with the same `--set` would."""
    assert (files / "experiment.yaml").exists()
    ended = cli("check", "experiment.yaml", "--set", "links.oversigt.cap=2")
    assert ended.code == 2
    assert "oversight" in ended.out
    assert cli("check", "experiment.yaml", "--set", "limits.turns=9").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("free.yaml", "bound.yaml"), "--units FILE"),
        (("free.yaml", "free.yaml", "--units", "units.csv"), "named after their files"),
        (("free.yaml", "bound.yaml", "pair.yaml", "--units", "units.csv"), "names more arms"),
        (("free.yaml", "bound.yaml", "--units", "units.csv", "--set", "limits.turns=3"), "--set"),
        (("experiment.yaml", "--units", "units.csv"), "names its units itself"),
        (("experiment.yaml", "--set", "links.oversight.cap=2"), "undo what this arm sets"),
        (("experiment.yaml", "--set", "links.oversight.cap=2"), "alike in this treatment"),
        (("free.yaml", "pair.yaml", "--units", "none.csv"), "no such file"),
    ],
)
def test_what_does_not_go_together(
    cli: Cli, files: Path, asked: list[Request], arguments: Any, words: str
) -> None:
    """Exit code 2, in words, and nothing is made."""
    ended = cli("run", *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert not (files / "runs").exists()
    assert asked == []


def test_seed_and_replicates_from_the_command_line(cli: Cli, files: Path) -> None:
    """They stand in place of the document's; a sample is drawn by the seed given."""
    text = EXPERIMENT.replace("units.csv}", "units.csv, sample: 1}")
    (files / "experiment.yaml").write_text(text, encoding="utf-8")
    drawn = set()
    for seed in range(6):
        ended = cli(
            "run", "experiment.yaml", "--seed", seed, "--replicates", 2, "--out", f"s{seed}"
        )
        assert ended.code == 0
        with Reader(files / f"s{seed}") as reader:
            rows = list(reader.runs())
        assert len(rows) == 4
        assert {row.seed for row in rows} == {seed}
        drawn |= {row.unit for row in rows}
    assert len(drawn) > 1


def test_another_rubric_is_reported(cli: Cli, files: Path, asked: list[Request]) -> None:
    """Scores that were given by other words are not passed over in silence."""
    cli("run", "experiment.yaml")
    assert "changed since" not in cli("run", "experiment.yaml").out
    (files / "panel.yaml").write_text(PANEL.replace("Yes.", "Very."), encoding="utf-8")
    asked.clear()
    ended = cli("run", "experiment.yaml")
    assert "panel.yaml changed since runs were scored: their scores stay" in ended.out
    assert asked == []


def test_another_team_is_refused_in_the_folder(cli: Cli, files: Path) -> None:
    """Figures of other teams are not mixed."""
    assert cli("run", "experiment.yaml", "--out", "here").code == 0
    (files / "experiment.yaml").write_text(EXPERIMENT.replace("cap: 1", "cap: 2"), encoding="utf-8")
    ended = cli("run", "experiment.yaml", "--out", "here")
    assert ended.code == 2
    assert "other teams than this experiment's arms" in ended.err


def test_a_team_with_judges(cli: Cli, files: Path, asked: list[Request]) -> None:
    """Outside experiments too: judged when a run ends, shown apart, costing apart."""
    (files / "free.yaml").write_text(TEAM.replace("[usage]", "[usage, {judge_panel: panel.yaml}]"))
    ended = cli("run", "free.yaml", "--units", "units.csv")
    assert ended.code == 0, ended.err
    assert "clarity" in ended.out
    with Reader(study(files)) as reader:
        values = [
            s.value for row in reader.runs() for s in reader.scores(row.id) if s.name == "clarity"
        ]
        calls = [
            s.value for row in reader.runs() for s in reader.scores(row.id) if s.name == "calls"
        ]
        name = next(iter(reader.runs())).id[:8]
    assert (values, calls) == ([4.0] * 3, [2.0] * 3)
    assert cli("show", study(files), name).code == 0
    assert cli("export", study(files), "--to", "jsonl").code == 0
    asked.clear()
    (files / "more.yaml").write_text(
        "- judge_panel: {file: panel.yaml}\n- words\n", encoding="utf-8"
    )
    ended = cli("evaluate", study(files), "--with", "more.yaml", "--anew")
    assert ended.code == 0
    assert asked == []


# --- evaluate and explain-call -----------------------------------------------------------------


def test_evaluate(cli: Cli, files: Path, asked: list[Request]) -> None:
    """New evaluators without new calls; ``--anew`` from kept verdicts; the experiment goes on."""
    cli("run", "experiment.yaml")
    asked.clear()
    (files / "more.yaml").write_text("evaluators: [words, mtld]\n", encoding="utf-8")
    ended = cli("evaluate", study(files), "--with", "more.yaml")
    assert ended.code == 0, ended.err
    assert "6 of 6 ended runs looked at with 2 evaluators." in ended.out
    assert "words" in ended.out
    ended = cli("evaluate", study(files), "--with", "experiment.yaml", "--anew")
    assert ended.code == 0, ended.err
    assert asked == []
    assert "6 of 6 runs were done before" in cli("run", "experiment.yaml").out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- wrds\n", "more.yaml:1:3"),
        ("- words: {role: wirter}\n", "did you mean `writer`?"),
        ("topology\n", "expected a list of evaluators"),
    ],
)
def test_evaluate_with_a_faulty_document(cli: Cli, files: Path, text: str, words: str) -> None:
    """Exit code 2, in its place."""
    cli("run", "experiment.yaml")
    (files / "more.yaml").write_text(text, encoding="utf-8")
    ended = cli("evaluate", study(files), "--with", "more.yaml")
    assert ended.code == 2
    assert words in ended.err


def test_evaluate_where_there_is_no_study(cli: Cli, files: Path) -> None:
    """Nothing is made there."""
    (files / "more.yaml").write_text("[words]\n", encoding="utf-8")
    ended = cli("evaluate", "nowhere", "--with", "more.yaml")
    assert ended.code == 2
    assert "no study was run there" in ended.err
    assert not (files / "nowhere").exists()


def test_explain_call(cli: Cli, files: Path) -> None:
    """Which part of a call differs from the nearest stored one."""
    cli("run", "experiment.yaml")
    with Reader(study(files)) as reader:
        rows = {(row.arm, row.unit): row.id for row in reader.runs()}
    ended = cli("explain-call", study(files), rows["bound", "a"][:8], "1.turn.0.0")
    assert ended.code == 0
    assert f"nearest: run {rows['free', 'a'][:8]}, 1.turn.0.0" in ended.out
    assert "≠ arm free there, bound here" in ended.out
    assert "= unit" in ended.out
    ended = cli("explain-call", study(files), rows["bound", "a"][:8], "7.turn.0.0")
    assert ended.code == 2
    assert "it has: 1.turn.0.0" in ended.err
