"""Hostile words of models and specs are shown, not obeyed: terminals, spreadsheets, summaries."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from case_files import case_folder

from orglab.providers.structured_output.parse import read_reply
from orglab.results.store.reader import Reader

Den = Any

pytestmark = pytest.mark.timeout(240)  # whole processes, many of them

HOSTILE = (
    "\x1b[31mRED\x1b[0m \x1b]8;;http://evil.example\x07click\x1b]8;;\x07 \x1b]0;title\x07 \x9b2J \x00 "
    "\u202eevil\u2066 \u200bx\u2028y [bold]b[/bold] [link=http://evil.example]l[/link] [/] \x7f\b\r\n"
    "=HYPERLINK(1) {{ 7*7 }} </script><script>alert(1)</script>"
)
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f]")
NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")
MARKS = (
    "{",
    "[",
    '"',
    "`",
    "<think>",
    "</think>",
    '{"a":',
    "```json\n",
    "\\",
    "{}",
    '{"b":1} ',
    "[1,",
)
CASES = case_folder("94-report-html-escape")


def study(den: Den, replies: list[dict[str, Any]], units: str = "") -> str:
    """Runs a scripted team; what the command printed."""
    den.write(
        {
            "t.yaml": den.text.replace("prompt: P", "prompt: P, tools: [q]")
            + "tools: {q: {use: query, with: {file: d.csv}}}\n",
            "d.csv": '"a\x1b[31m","=cmd"\n1,\x1b]8;;x\n',
            "replies.jsonl": "".join(json.dumps(reply) + "\n" for reply in replies),
            "u.jsonl": units or '{"id": "1", "x": "a"}\n',
        }
    )
    return str(den.orglab("run", "t.yaml", "--units", "u.jsonl", "--out", "study").out)


def looked_at(den: Den) -> str:
    """What ``show`` prints of the study and of its first run."""
    with Reader(den.spec / "study") as reader:
        run = next(iter(reader.runs())).id
    listed = den.orglab("show", "study").out
    return str(listed + den.orglab("show", "study", run, "--full").out)


def test_a_hostile_model_steers_nothing(den: Den) -> None:
    """Replies, reasoning, tool calls, units and columns, from `run` through `show` to `export`."""
    replies: list[dict[str, Any]] = [
        {"role": "w", "tool_calls": [{"name": HOSTILE, "arguments": HOSTILE}]},
        {"role": "w", "tool_calls": [{"name": "q", "arguments": {"sql": HOSTILE}}]},
        {"role": "w", "tool_calls": [{"name": "q", "arguments": {"sql": "SELECT * FROM data"}}]},
        {"role": "w", "reply": HOSTILE, "reasoning": HOSTILE},
    ]
    units = json.dumps({"id": f"../x{HOSTILE}", "x": HOSTILE, f"={HOSTILE}": HOSTILE}) + "\n"
    printed = study(den, replies, units) + looked_at(den)
    assert STEERING.findall(printed) == []
    assert "␛[31mRED" in printed
    assert "[bold]b[/bold] [link=http://evil.example]l[/link] [/]" in printed
    assert den.orglab("export", "study", "--to", "csv").code == 0
    files = (den.spec / "study" / "export").glob("*.csv")
    texts = [file.read_bytes().decode("utf-8") for file in files]
    cells = [cell for text in texts for row in csv.reader(io.StringIO(text, "")) for cell in row]
    assert any(HOSTILE in cell for cell in cells)
    run = [cell for cell in cells if cell[:1] in set("=+-@\t\r") - {""}]
    assert [cell for cell in run if not NUMBER.fullmatch(cell)] == []


def test_a_hostile_error_steers_nothing(den: Den) -> None:
    """The words of a failed call, in the summary and in the transcript."""
    error = {"kind": "unavailable", "message": HOSTILE}
    printed = study(den, [{"role": "w", "error": error}]) + looked_at(den)
    assert STEERING.findall(printed) == []
    assert "␛[31mRED" in printed


def test_a_hostile_spec_steers_nothing(den: Den) -> None:
    """Faults, drawings, models, prompts and differences of a stranger's spec."""
    name = json.dumps(HOSTILE)
    model = f"model: {name}, params: {{seed: 1}}"
    text = (
        "kind: topology\nversion: 1\nname: t\n"
        f"models: {{m: {{provider: scripted, file: replies.jsonl, {model}}}}}\n"
        f"roles:\n  w: {{system: {name}, output: {{type: object, properties: {{{name}: {{}}}}}}}}\n"
        "  v: {system: S}\n"
        f"links: [{{from: w, to: v, kind: forward, when: {{{name}: {name}}}}}]\noutput: v\n"
    ).replace("{{ 7*7 }}", "")
    den.write(
        {
            "t.yaml": text,
            "u.yaml": text.replace("RED", "BLUE"),
            "faulty.yaml": f"{text}{name}: 1\n".replace("from: w", f"from: {name}"),
            "replies.jsonl": "",
        }
    )
    formats = [("graph", "t.yaml", "--format", kind) for kind in ("mermaid", "dot", "svg", "json")]
    printed = [
        den.orglab(*command)
        for command in [
            ("check", "t.yaml", "faulty.yaml"),
            ("models", "t.yaml"),
            ("render", "t.yaml"),
            ("diff", "t.yaml", "u.yaml"),
            ("diff", "t.yaml", "u.yaml", "--format", "markdown"),
            *formats,
        ]
    ]
    codes = [ended.code for ended in printed]
    assert codes == [2, 0, 2, 0, 0, 0, 0, 0, 0]  # `render` says where the run would end
    assert [STEERING.findall(ended.out) for ended in printed] == [[]] * len(printed)


def test_a_reply_of_five_megabytes_is_borne(den: Den) -> None:
    """It is kept whole."""
    reply = {"role": "w", "reply": "a\x1b " * 1_700_000 + "."}
    den.write({"t.yaml": den.text, "replies.jsonl": json.dumps(reply) + "\n"})
    assert den.orglab("run", "t.yaml", "--out", "study").code == 0
    with Reader(den.spec / "study") as reader:
        (row,) = reader.runs()
        assert reader.record(row.id).outputs[0].text == reply["reply"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("mark", MARKS, ids=repr)
def test_no_reply_takes_longer_to_read_than_it_is_long(mark: str) -> None:
    """Opening brackets, fences, quotes and marks of reasoning, half a megabyte of each."""
    text = mark * (500_000 // len(mark))
    reading = read_reply(text, {"type": "object", "required": ["a"]})
    assert reading.value is None


def test_the_handed_outputs_are_shown_and_exported(den: Den) -> None:
    """Case 94: page marks, formulas and control characters in outputs."""
    outputs = json.loads((CASES / "outputs.json").read_text(encoding="utf-8"))
    replies = [{"role": "w", "reply": each["output"]} for each in outputs]
    rows = "".join(json.dumps({"id": str(n), "x": "a"}) + "\n" for n in range(len(replies)))
    lines = [{"unit": str(n), **reply} for n, reply in enumerate(replies)]
    printed = study(den, lines, rows) + den.orglab("show", "study").out
    assert STEERING.findall(printed) == []
    assert den.orglab("export", "study", "--to", "csv").code == 0
    with (den.spec / "study/export/outputs.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [c for c in cells if c[:1] in set("=+-@") and not NUMBER.fullmatch(c)]
    assert {"'=1+1", outputs[1]["output"], "{{7*7}} {% raise %} ${7*7}"} <= set(cells)
