"""A file checked whole: loader's and compiler's faults together, in order, each told once."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_files import case_folder

from orglab.engine.graph.check import Checked, check_file

HEAD = """kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {m: {provider: simulated}}
"""


def checked(folder: Path, text: str) -> Checked:
    """The file with this text after the head, checked."""
    path = folder / "team.yaml"
    path.write_text(HEAD + text, "utf-8")
    return check_file(path)


def places(found: Checked) -> list[tuple[int, str]]:
    """Line and what is wrong of each fault."""
    return [(issue.line, issue.problem.wrong) for issue in found.issues]


def test_a_sound_file_gives_a_team(tmp_path: Path) -> None:
    """And no faults."""
    found = checked(
        tmp_path,
        """roles:
  writer: {system: "Write on {{ topic }}."}
  critic: {}
links:
  - {from: writer, to: critic, kind: forward}
  - {from: critic, to: writer, kind: forward, cap: 2}
output: writer
""",
    )
    assert found.issues == ()
    assert found.team is not None
    assert found.team.order == ("writer", "critic")
    assert found.team.topology is found.loaded.topology


def test_faults_of_the_graph_have_their_lines(tmp_path: Path) -> None:
    """A cycle, a misspelt input and a role nobody reaches, in order of lines."""
    found = checked(
        tmp_path,
        """roles:
  writer: {system: "Write on {{ topik }}."}
  critic: {}
  idler: {}
links:
  - {from: writer, to: critic, kind: forward}
  - {from: critic, to: writer, kind: forward}
output: writer
start: writer
""",
    )
    assert found.team is None
    assert places(found) == [
        (7, "the template uses `topik`; it is not an input and nothing else that writer has"),
        (
            9,
            "`idler` never takes a turn: the start does not lead to it, and it is no one's superior",
        ),
        (12, "a cycle without a cap: writer > critic > writer"),
    ]


def test_graph_and_loader_speak_in_one_go(tmp_path: Path) -> None:
    """What follows from a faulty part is not told; what does not is, at its own line."""
    found = checked(
        tmp_path,
        """roles:
  writer: {system: "Write on {{ topic }}."}
  critic: {}
  editor: {prompt: "{{ blackboard }}"}
links:
  - {from: writer, to: crtic, kind: forward}
  - {from: critic, to: editor, kind: forward}
  - {from: editor, to: critic, kind: forward}
output: editor
""",
    )
    assert places(found) == [
        (9, "the template uses `blackboard`, which editor does not see"),
        (11, "there is no role `crtic`"),
        (13, "a cycle without a cap: critic > editor > critic"),
    ]


def test_a_fault_below_another_is_not_reported(tmp_path: Path) -> None:
    """A condition on a role whose schema is faulty may be right once that is mended."""
    found = checked(
        tmp_path,
        """roles:
  writer: {output: {type: object, properties: {v: {type: strin}}}}
  critic: {}
links:
  - {from: writer, to: critic, kind: forward, when: {v: ok}}
output: critic
""",
    )
    assert [line for line, _ in places(found)] == [7]


@pytest.mark.parametrize("text", ["", "roles: [", "roles: {a: 3}\n", "links: 7\noutput: x\n"])
def test_no_text_makes_it_raise(tmp_path: Path, text: str) -> None:
    """There are faults and no team."""
    found = checked(tmp_path, text)
    assert found.issues
    assert found.team is None


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    """Not an exception."""
    found = check_file(tmp_path / "none.yaml")
    assert len(found.issues) == 1
    assert found.team is None


def test_overrides_are_checked_too(tmp_path: Path) -> None:
    """A path set on the command line can mend or break a graph."""
    text = """roles: {a: {}, b: {}}
links:
  - {from: a, to: b, kind: forward}
  - {id: back, from: b, to: a, kind: forward, cap: 1}
output: b
"""
    assert checked(tmp_path, text).team is not None
    broken = check_file(tmp_path / "team.yaml", overrides={"links.back.cap": None})
    assert [wrong for _, wrong in places(broken)] == ["a cycle without a cap: a > b > a"]


def test_a_money_limit_over_an_endless_model_is_reported_in_its_place(tmp_path: Path) -> None:
    """At the model's name, with the cure; a limit of the roles that use it is one."""
    text = """limits: {cost_usd: 0.5}
models: {m: {provider: simulated, price: {input: 1, output: 2}}}
roles: {writer: {system: Write., limits: {LIMIT: 5}}}
output: writer
"""
    for limit, invalid in (("output_tokens", False), ("tool_calls", True)):
        path = tmp_path / "team.yaml"
        head = HEAD.replace("models: {m: {provider: simulated}}\n", "")
        path.write_text(head + text.replace("LIMIT", limit), "utf-8")
        issues = check_file(path).issues
        assert [issue.line for issue in issues] == [6] * invalid
    words = str(issues[0])
    assert "has no `params.max_output_tokens`" in words
    assert "add `params.max_output_tokens` to `m` (or `limits.output_tokens` to `writer`)" in words


ALONE = "roles: {writer: {}, critic: {SEES}}\noutput: [writer, critic]\n"


def test_case_77_several_roles_without_links_are_a_warning(tmp_path: Path) -> None:
    """The team runs; its author is told that no role reads another, unless one does."""
    found = checked(tmp_path, ALONE.replace("SEES", ""))
    assert found.team is not None
    (warning,) = found.warnings
    assert str(warning).endswith(
        "team.yaml:6:1 roles: 2 roles and no links: each works alone, and none reads another; "
        "add `links`, if they are to be a team"
    )
    assert checked(tmp_path, ALONE.replace("SEES", "sees: [blackboard]")).warnings == ()
    assert checked(tmp_path, "roles: {writer: {}}\noutput: writer\n").warnings == ()


def test_case_127_a_link_into_the_start_is_a_warning() -> None:
    """B begins at once, so nothing that comes from a can be read in its first turn."""
    found = check_file(case_folder("127-engine-startfwd") / "spec.yaml")
    assert found.issues == ()
    (warning,) = found.warnings
    assert "`b` begins the run, so what `a` sends it is too late; take `b` out of `start`" in str(
        warning
    )
