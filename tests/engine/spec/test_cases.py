"""The stored cases about YAML and about what is told of a faulty spec."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from case_files import case_folder

from orglab.engine.spec.errors import path_text
from orglab.engine.spec.load import Loaded
from orglab.engine.spec.yaml.reader import Document, read_bytes

Load = Callable[..., Loaded]


def case(number: str, file: str) -> Document:
    """A file of a case, read."""
    folder = case_folder(number)
    return read_bytes((folder / file).read_bytes(), file)


def expected(number: str) -> Any:
    """What a case expects."""
    folder = case_folder(number)
    return json.loads((folder / "expected.json").read_text("utf-8"))


def test_01_duplicate_keys() -> None:
    """Both duplicates are told in one go, each with both lines; a merge key makes none."""
    found = case("01", "spec.yaml").issues
    for issue, right in zip(found, expected("01")["spec.yaml"]["duplicates"], strict=True):
        assert path_text(issue.problem.path) == right["path"]
        assert all(str(line) in issue.problem.wrong for line in right["lines"])
    override = case("01", "ok-override.yaml")
    assert not override.issues
    assert override.data["roles"]["critic"] == expected("01")["ok-override.yaml"]["critic"]


def test_02_norway(load_spec: Load) -> None:
    """`on`, `no` and `yes` are text, as names and as values."""
    data = case("02", "spec.yaml").data
    assert list(data["roles"]) == ["on", "no"]
    assert data["edges"] == [{"from": "on", "to": "no"}]
    assert (data["language"], data["strict"]) == ("no", "yes")
    loaded = load_spec(
        """
        roles:
          on: {prompt: "Open the talk."}
          no: {prompt: "Disagree once.", vars: {language: no}}
        links:
          - {from: on, to: no, kind: forward}
        output: no
        pools: {p: {members: [worker], replace: yes}}
        """
    )
    (issue,) = loaded.issues
    assert str(issue).endswith("pools.p.replace: got the text 'yes', write true")
    assert loaded.topology is not None
    assert list(loaded.topology.roles) == ["on", "no"]


def test_04_merge_keys() -> None:
    """First source wins, shallow, own key wins; the double merge key is refused."""
    document = case("04", "spec.yaml")
    for name, right in expected("04")["right"].items():
        assert document.data["roles"][name] == right
    (issue,) = document.issues
    assert path_text(issue.problem.path) == "roles.three"
    assert "[*first, *second]" in issue.problem.hint


def test_05_alias_bomb() -> None:
    """The bomb is refused at once; anchors and a large file without any are fine."""
    begin = time.perf_counter()
    bomb = case("05", "bomb.yaml")
    assert time.perf_counter() - begin < expected("05")["bomb.yaml"]["max_seconds"]
    assert not bomb.whole
    assert "alias" in str(bomb.issues[0])
    assert not case("05", "ok-anchors.yaml").issues
    script = case_folder("05") / "make_large_ok.py"
    made = subprocess.run([sys.executable, script], check=True, capture_output=True)
    large = read_bytes(made.stdout, "large.yaml")
    assert not large.issues
    assert len(large.data["roles"]) == 4000


def test_08_braces_in_prompts_reach_the_topology_byte_for_byte(load_spec: Load) -> None:
    """Braces, dollars and percent signs of a prompt are not touched by loading."""
    prompt = (
        case("08", "spec.yaml").data["roles"]["picker"]["prompt"].replace("{topic}", "{{ topic }}")
    )
    text = json.dumps(prompt)
    loaded = load_spec(
        f"inputs: {{topic: {{type: string}}}}\nroles: {{picker: {{prompt: {text}}}}}\noutput: picker\n"
    )
    assert not loaded.issues
    assert loaded.topology is not None
    assert loaded.topology.roles["picker"].prompt == prompt


def test_10_dangling_names(issues: Callable[..., list[str]]) -> None:
    """All five faults in one run, each with its path, place and a near name."""
    found = issues(
        """\
        start: planer
        roles:
          planner: {prompt: "Plan.", tools: [get_schema, historgam]}
          reviewer: {prompt: "Review.", model: smal}
        models:
          small: {provider: simulated}
        tools:
          get_schema: {use: get_schema, with: {file: "{{ table }}"}}
          histogram: {use: histogram, with: {file: "{{ table }}"}}
        inputs: {table: {type: string, format: file}}
        links:
          - {kind: forward, from: planner, to: reviwer}
          - {kind: forward, from: reviewer, to: planner, max_cap: 2}
        output: reviewer
        """,
        head="kind: topology\nversion: 1\n",
    )
    assert found == [
        "spec.yaml:3:8 start: there is no role `planer`; did you mean `planner`?",
        "spec.yaml:5:50 roles.planner.tools[1]: there is no tool `historgam`; did you mean `histogram`?",
        "spec.yaml:6:40 roles.reviewer.model: there is no model `smal`; did you mean `small`?",
        "spec.yaml:14:40 links[0].to: there is no role `reviwer`; did you mean `reviewer`?",
        "spec.yaml:15:50 links[1].max_cap: unknown key max_cap; did you mean `cap`?",
    ]


def test_11_unions_never_blame_the_wrong_branch(issues: Callable[..., list[str]]) -> None:
    """The kind chooses the branch, then its own fault is told, one line each."""
    found = issues(
        """\
        roles: {critic: {}, writer: {}, lead: {tools: critic}}
        links:
          - {kind: forward, from: critic, to: writer, cap: 0}
          - {kind: forward, id: b, from: critic, to: writer, caps: 2}
          - {kind: authority, from: lead, to: 3, cap: 1}
          - {kind: sideways, id: c, from: lead, to: critic}
          - {from: lead, to: critic}
        output: writer
        """
    )
    texts = [line.split(" ", 1)[1] for line in found]
    assert texts == [
        'roles.lead.tools: expected a list of names, got the text "critic"; write [critic]',
        "links[0].cap: 0 is below the minimum 1; expected a whole number",
        "links[1].caps: unknown key caps; did you mean `cap`?",
        'links[2].to: expected a name or a list of names, got the number 3; write it in quotes: "3"',
        'links[3].kind: "sideways" is not one of forward, authority',
        "links[4].kind: `kind` is required (forward or authority)",
    ]
