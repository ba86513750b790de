"""The stored cases 87, 90 and 92: torn files, a crash before routing, a changed spec."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from case_files import case_folder

import orglab
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.study_folder import study_folder
from orglab.engine.study.batch.units import UnitError, read_units
from orglab.providers.base import Request
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader


def forget_after(folder: Path, role: str) -> None:
    """Leaves the file as a process does that dies when the role's reply is durable."""
    with sqlite3.connect(folder / "study.sqlite") as connection:
        turn = "SELECT MAX(seq) FROM events WHERE kind='turn' AND json_extract(body, '$.role')=?"
        ((last,),) = connection.execute(turn, (role,)).fetchall()
        connection.execute("DELETE FROM events WHERE seq>?", (last,))
    connection.close()


def case(name: str, file: str) -> Any:
    """A file of a case."""
    return json.loads((case_folder(name) / file).read_text(encoding="utf-8"))


async def test_90_routing_is_done_again(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """Killed between a role's answer and the choice of the next link: only the next role is asked."""
    graph = case("90-resume-crash-before-routing", "graph.json")
    expected = case("90-resume-crash-before-routing", "expected.json")
    output = "{output: {type: object, required: [is], properties: {is: {type: string}}}}"
    roles = "".join(
        f"  {name}: {output if name == 'writer' else '{}'}\n" for name in graph["nodes"]
    )
    links = "".join(
        f"  - {{from: {edge['from']}, to: {edge['to']}, kind: forward"
        + (f", when: {{is: {edge['when']}}}" if "when" in edge else "")
        + "}\n"
        for edge in graph["edges"]
        if edge["to"] != "END"
    )
    routed = team(f"{head}roles:\n{roles}links:\n{links}output: critic\n")

    stop = asyncio.Event()

    def answer(request: Request) -> Any:
        if request.labels.role != "writer":
            return "to writer"
        stop.set()
        return {"is": "draft"}

    arguments: dict[str, Any] = {"inputs": {"topic": "run-7"}, "out": tmp_path / "study"}
    before = asked(answer)
    await orglab.run_async(routed, providers=before.providers, stop=stop, **arguments)
    assert before.copies == ["lead", "writer"]
    forget_after(tmp_path / "study", "writer")
    after = asked(answer)
    study = await orglab.run_async(routed, providers=after.providers, **arguments)
    assert after.copies == expected["calls_after_resume"]
    (record,) = study.records()
    assert record.status == "completed"
    assert [output.role for output in record.outputs] == ["lead", "writer", "critic"]
    assert [event.kind for event in record.events].count("turn") == 3


def solo(team: Callable[..., Team], head: str, spec: Any) -> Team:
    """The team of a spec of case 92."""
    role = spec["roles"]["solo"]
    text = head.replace("name: team", "name: solo")
    text += f"description: {spec.get('description', 'none')}\n"
    text += f"roles:\n  solo:\n    prompt: {role['prompt']!r}\n"
    text += f"    limits: {{output_tokens: {role['max_tokens']}}}\nlinks: []\noutput: solo\n"
    return team(text)


def items(spec: Any) -> list[Unit]:
    """The units of a spec of case 92."""
    return [
        Unit(id=item, inputs={"topic": item}, index=number)
        for number, item in enumerate(spec["items"])
    ]


def test_92_a_changed_spec_never_mixes(
    team: Callable[..., Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """Another prompt has another hash and folder, and is refused in the old folder."""
    name = "92-resume-changed-spec"
    before, after = case(name, "before.json"), case(name, "after.json")
    old, new = solo(team, head, before), solo(team, head, after)
    assert study_folder(old.topology) != study_folder(new.topology)
    folder = tmp_path / "study"
    orglab.run(old, units=items(before), out=folder, providers=asked().providers)
    calls = asked()
    said = r"holds runs of another spec .*; changed since: roles\.solo\.prompt\), .* --fresh"
    with pytest.raises(StoreError, match=said):
        orglab.run(new, units=items(after), out=folder, providers=calls.providers)
    assert calls.copies == []
    study = orglab.run(new, units=items(after), out=tmp_path / "new", providers=calls.providers)
    assert (study.tally.completed, study.tally.kept) == (4, 0)
    with Reader(folder) as reader:
        assert {row.spec for row in reader.runs()} == {old.topology.hash}


def test_92_more_units_and_remarks_run_only_what_is_new(
    team: Callable[..., Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """One more item runs one more cell; a remark runs nothing; a cell is named in its record."""
    name = "92-resume-changed-spec"
    before, expected = case(name, "before.json"), case(name, "expected.json")
    folder = tmp_path / "study"
    old = solo(team, head, before)
    orglab.run(old, units=items(before), out=folder, providers=asked().providers)
    calls = asked()
    remark = case(name, "comment-only.json")
    noted = solo(team, head, remark)
    orglab.run(noted, units=items(remark), out=folder, providers=calls.providers)
    assert len(calls.copies) == expected["comment_only"]
    more = items(case(name, "after.json"))
    orglab.run(noted, units=more, out=folder, providers=calls.providers)
    assert len(calls.copies) == expected["added_item_only"]
    with Reader(folder) as reader:
        cells = [(row.spec, row.unit, row.arm, row.replicate) for row in reader.runs()]
    assert cells == [(old.topology.hash, f"i{n}", "solo", 0) for n in range(4)]


def test_87_a_torn_units_file_is_refused_with_its_lines(pair: Team, tmp_path: Path) -> None:
    """Glued and cut lines are told with their numbers; nothing is skipped without a word."""
    torn = (case_folder("87-resume-torn-jsonl") / "results.jsonl").read_bytes()
    lines = torn.decode().replace('"cell"', '"topic"').splitlines()
    file = tmp_path / "units.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UnitError, match=r"line 4: not one strict JSON value"):
        read_units(file, pair.topology)
    whole = [line for line in lines if "}{" not in line]
    file.write_text("\n".join(whole), encoding="utf-8")
    with pytest.raises(UnitError, match=r"line 6: not one strict JSON value"):
        read_units(file, pair.topology)
    file.write_text("\n".join(whole[:-1]), encoding="utf-8")
    read = read_units(file, pair.topology)
    assert [unit.inputs["topic"] for unit in read] == [f"i{n}|solo|0" for n in (0, 1, 4, 5)]
