"""The stored cases on reading replies: 13, 14, 17, 18, 20, 23, 25, 31 and 40."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from case_files import case_folder

from orglab.providers.structured_output.parse import Reading, read_reply
from orglab.providers.structured_output.tool_arguments import read_arguments

ACTION = {
    "type": "object",
    "required": ["action"],
    "properties": {"action": {"enum": ["query", "final", "transfer"]}},
}


def files(folder: str) -> list[Any]:
    """One parameter for each text of a case."""
    return [
        pytest.param(path, id=path.name) for path in sorted((case_folder(folder)).glob("*.txt"))
    ]


def text(path: Path) -> str:
    """The text as it was handed, line ends kept."""
    return path.read_bytes().decode("utf-8")


def expected(path: Path) -> Any:
    """The value that the case asks for."""
    return json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))[path.name]


@pytest.mark.parametrize("path", files("13-reply-fenced-json"))
def test_fenced_json_is_read_whole(path: Path) -> None:
    """Case 13: the object inside the fence, backticks of a value included."""
    reading = read_reply(text(path), ACTION)
    assert reading.value == expected(path)
    assert not reading.repaired


@pytest.mark.parametrize("path", files("14-reply-think-blocks"))
def test_reasoning_is_never_an_action(path: Path) -> None:
    """Case 14: what stands in reasoning is kept apart; without more there is no value."""
    reading = read_reply(text(path), ACTION)
    assert reading.value == expected(path)
    assert reading.reasoning
    if reading.value is None:
        assert reading.problem in ("no json", "reasoning not closed")


def test_reasoning_that_is_never_closed_is_said_to_be() -> None:
    """Case 14 c: the kind says so, and `delete_all` is not the value."""
    reading = read_reply(
        text(case_folder("14-reply-think-blocks") / "c-never-closed.txt"), {"type": "object"}
    )
    assert (reading.value, reading.problem) == (None, "reasoning not closed")


@pytest.mark.parametrize("path", files("17-reply-many-objects"))
def test_several_objects_are_counted_and_never_chosen_among(path: Path) -> None:
    """Case 17: one usable object counts, several are a conflict, an invented turn is not read."""
    usable = json.loads((path.parent / "expected.json").read_text())["usable_objects"][path.name]
    reading = read_reply(text(path), ACTION)
    assert reading.objects.usable == usable
    assert (reading.value is not None) == (usable == 1)
    assert reading.problem == (None if usable == 1 else "conflict")
    assert "invented" not in str(reading.value)


NEARLY = {"e-smart-quotes.txt", "f-apostrophes.txt"}


@pytest.mark.parametrize("path", files("18-reply-nearly-json"))
def test_nearly_json_gives_the_value_marked_as_repaired_or_none(path: Path) -> None:
    """Case 18: the one value that is meant; e and f are asked again; never another value."""
    reading = read_reply(text(path), ACTION)
    if path.name in NEARLY:
        assert (reading.value, reading.problem) == (None, "malformed")
        return
    assert reading.value == expected(path)
    assert (reading.repaired, reading.how) == (True, "repaired")


def test_missing_brace_is_added_only_when_the_model_stopped_by_itself() -> None:
    """Case 18 g: cut by the limit it is truncated."""
    path = case_folder("18-reply-nearly-json") / "g-missing-brace.txt"
    assert read_reply(text(path), ACTION, stop="length").problem == "truncated"


@pytest.mark.parametrize("path", files("20-reply-truncated"))
def test_cut_reply_is_never_completed(path: Path) -> None:
    """Case 20: an object that the model did not close is truncated, a closed one counts."""
    meta = json.loads(path.with_name(path.stem + ".meta.json").read_text(encoding="utf-8"))
    reading = read_reply(text(path), ACTION, stop=meta["finish_reason"])
    wanted = expected(path)
    assert (reading.problem or reading.value) == wanted
    if path.name == "c.txt":
        assert any("cut" in note for note in reading.notes)


COLUMN = {
    "type": "object",
    "properties": {"column": {"type": "string"}},
    "required": ["column"],
    "additionalProperties": False,
}
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def arguments() -> list[Any]:
    """The rows of case 23."""
    path = case_folder("23-reply-tool-arguments") / "arguments.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [pytest.param(row, id=row["arguments"] or "empty") for row in csv.DictReader(file)]


@pytest.mark.parametrize("row", arguments())
def test_tool_arguments_are_the_models_own_or_an_error(row: dict[str, str]) -> None:
    """Case 23: the value, flagged where it is repaired; else words for the model, and no call."""
    schema = NO_ARGUMENTS if row["arguments"] in ("", "{}") else COLUMN
    read = read_arguments(row["arguments"], schema)
    if row["right"].startswith(("ok", "{}")) or "repaired + flag" in row["right"]:
        assert read.value == json.loads(row["value"])
        assert read.repaired == (row["arguments"] not in ("", "{}", row["value"]))
    else:
        assert read.value is None
        assert read.error
    if "unknown argument" in row["right"]:
        assert "allowed: `column`" in read.error
    if "wrong type" in row["right"]:
        assert "`column` must be a text" in read.error


SCORE = {
    "type": "object",
    "required": ["score"],
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}},
}


LETTER = {
    "type": "object",
    "required": ["grade"],
    "properties": {"grade": {"enum": ["C", "P", "I"]}},
}


def verdicts(*scales: str) -> list[Any]:
    """The rows of case 25 of these scales."""
    path = case_folder("25-reply-judge-verdicts") / "judge.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["scale"] in scales]
    return [pytest.param(row, id=row["judge_text"]) for row in rows]


@pytest.mark.parametrize("row", verdicts("letters C/P/I", '0-10 text "Score: n"'))
def test_a_verdict_in_prose_is_never_guessed_at(row: dict[str, str]) -> None:
    """Case 25: our judges answer in JSON, so a grade in a sentence is asked for again, then missing."""
    for schema in (LETTER, SCORE):
        reading = read_reply(row["judge_text"], schema)
        assert (reading.value, bool(reading.problem)) == (None, True)


@pytest.mark.parametrize("row", verdicts("0-10 JSON"))
def test_a_score_that_is_not_given_is_missing(row: dict[str, str]) -> None:
    """Case 25: out of range, null, a text, two values or prose: no score, and never 0."""
    reading = read_reply(row["judge_text"], SCORE)
    assert reading.value == ({"score": 7, "why": "clear"} if row["right"] == "7" else None)


def scripts(folder: str) -> dict[str, tuple[str, Any]]:
    """Text and stop reason of each single answer of a case, as our providers would give them."""
    found = {}
    for name, script in json.loads((case_folder(folder) / "scripts.json").read_text()).items():
        body = script["responses"][0]["body"]
        if "choices" in body:
            choice = body["choices"][0]
            found[name] = (choice["message"]["content"] or "", choice["finish_reason"])
        elif "stop_reason" in body:
            texts = [part["text"] for part in body["content"] if part["type"] == "text"]
            stop = "length" if body["stop_reason"] == "max_tokens" else "stop"
            found[name] = ("".join(texts), stop)
    return found


@pytest.mark.parametrize("schema", [None, ACTION], ids=["free text", "structured"])
def test_nothing_is_no_answer(schema: dict[str, Any] | None) -> None:
    """Case 31: cut before any text is truncated, a blank reply is empty."""
    wanted = json.loads((case_folder("31-provider-empty-content") / "expected.json").read_text())
    found = scripts("31-provider-empty-content")
    problems = {
        name: read_reply(text, schema, stop=stop).problem for name, (text, stop) in found.items()
    }
    assert problems == wanted


def test_a_reply_held_to_a_schema_by_the_provider_is_checked_all_the_same() -> None:
    """Case 40: 200 OK proves nothing."""
    folder = case_folder("40-provider-grammar-fails-open")
    schema = json.loads((folder / "schema.json").read_text())
    read: dict[str, Reading] = {
        name: read_reply(text, schema, stop=stop, native=True)
        for name, (text, stop) in scripts(folder.name).items()
    }
    assert read["a-ignored"].value is None
    assert read["a-ignored"].problem == "no json"
    assert read["b-whitespace-run"].problem == "truncated"
    assert read["c-endless-string"].problem == "truncated"
    assert (read["d-ok"].value, read["d-ok"].how) == ({"code": "abc!"}, "native")
