"""A spec reads nothing outside its folder, however the path is written or made."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

Den = Any

pytestmark = pytest.mark.timeout(240)  # whole processes, many of them

OUTSIDE = "outside the spec's folder"
RELATIVE = "a path is relative to the file that says it"
WEIGHTS = "{provider: llama, %s}"

PATHS = {
    "up": ("../secret.txt", OUTSIDE),
    "up-and-down": ("inner/../../secret.txt", OUTSIDE),
    "absolute": ("/etc/passwd", RELATIVE),
    "home": ("~/secret.txt", RELATIVE),
    "link": ("link.txt", OUTSIDE),
    "link-to-folder": ("linked/secret.txt", OUTSIDE),
    "chain-of-links": ("chain.txt", OUTSIDE),
    "device": ("zero", OUTSIDE),
    "environment": ("environ", OUTSIDE),
    "pipe": ("pipe", "no regular file"),
    "folder": ("inner", "this is a folder"),
    "nul": ("a\\0b", "NUL"),
    "missing": ("nothing.txt", "no such file"),
}


def lay_links(den: Den) -> None:
    """Links out of the stranger's folder, a pipe and devices."""
    (den.spec / "inner").mkdir()
    (den.spec / "link.txt").symlink_to("../secret.txt")
    (den.spec / "linked").symlink_to("..")
    (den.spec / "chain.txt").symlink_to("link.txt")
    (den.spec / "zero").symlink_to("/dev/zero")
    (den.spec / "environ").symlink_to("/proc/self/environ")
    os.mkfifo(den.spec / "pipe")


def refusals(den: Den, specs: dict[str, str]) -> dict[str, str]:
    """What ``orglab check`` says of each spec, by name; all are refused."""
    den.write({f"{name}.yaml": text for name, text in specs.items()})
    ended = den.orglab("check", *[f"{name}.yaml" for name in specs])
    assert ended.code == 2
    lines = ended.out.splitlines()
    return {name: "\n".join(li for li in lines if li.startswith(f"{name}.yaml")) for name in specs}


def test_no_path_of_a_prompt_leads_out(den: Den) -> None:
    """Ways up, absolute paths, links, devices and pipes are refused, each with its reason."""
    lay_links(den)
    specs = {
        name: den.text.replace("system: S", f'system: {{file: "{path}"}}')
        for name, (path, _) in PATHS.items()
    }
    said = refusals(den, specs)
    for name, (_, reason) in PATHS.items():
        assert reason in said[name], said[name]


def test_no_other_path_of_a_spec_leads_out(den: Den) -> None:
    """Wherever a spec may name a file: extends, catalogues, scripts, weights, tools, templates."""
    text = den.text
    model = "{provider: scripted, file: replies.jsonl}"
    specs = {
        "extends": f"extends: ../team.yaml\n{text}",
        "catalogue": text.replace(f"{{m: {model}}}", "{file: ../team.yaml}"),
        "script": text.replace("replies.jsonl", "../secrets.jsonl"),
        "weights": text.replace(model, WEIGHTS % "model: ../weights.gguf"),
        "weights-in-capitals": text.replace(model, WEIGHTS % "model: ../weights.GGUF"),
        "weights-by-another-name": text.replace(model, WEIGHTS % "model: ../weights.bin"),
        "weights-as-file": text.replace(model, WEIGHTS % "file: ../weights.bin"),
        "chat-template": text.replace(
            model, WEIGHTS % "model: smollm2, chat_template: ../secret.txt"
        ),
        "tool": f"{text}tools: {{t: {{use: head, with: {{file: ../secrets.csv}}}}}}\n",
        "templates": f"{text}templates: {{prompt: {{file: ../secret.txt}}}}\n",
    }
    for name, said in refusals(den, specs).items():
        assert OUTSIDE in said, (name, said)


def test_no_path_of_an_experiment_leads_out(den: Den) -> None:
    """Neither arms nor units nor changed values."""
    plan = (
        "kind: experiment\nversion: 1\nname: plan\n"
        "arms: {a: a.yaml, b: {base: a.yaml, set: {roles.w.prompt: Q}}}\n"
        "treatment: [roles.w.prompt]\nunits: {file: u.jsonl}\nseed: 1\nevaluators: [usage]\n"
    )
    den.write({"a.yaml": den.text, "u.jsonl": '{"id": "1", "x": "a"}\n', "replies.jsonl": ""})
    (den.spec / "link.jsonl").symlink_to("../secrets.jsonl")
    specs = {
        "arm": plan.replace("{a: a.yaml", "{a: ../team.yaml"),
        "base": plan.replace("base: a.yaml", "base: ../team.yaml"),
        "set": plan.replace("prompt: Q", "prompt: {file: ../secret.txt}"),
        "units": plan.replace("u.jsonl", "../secrets.jsonl"),
        "linked-units": plan.replace("u.jsonl", "link.jsonl"),
    }
    for name, said in refusals(den, specs).items():
        assert OUTSIDE in said, (name, said)


@pytest.mark.parametrize(
    ("setting", "declared"),
    [
        ("{{ x }}", "type: string"),
        ("{{ '..' }}/secrets.csv", "type: string"),
        ("{{ x }}/../secrets.csv", "type: string, format: file"),
        ("{% if 1 %}../secrets.csv{% endif %}", "type: string"),
    ],
    ids=["input", "literal", "beside a typed file", "statement"],
)
def test_no_path_made_by_a_template_leads_out(den: Den, setting: str, declared: str) -> None:
    """A tool's setting is confined after it is rendered; a file that the user typed opens no others."""
    text = den.text.replace("prompt: P", "prompt: P, tools: [t]").replace("type: string", declared)
    den.write(
        {
            "t.yaml": f"{text}tools: {{t: {{use: head, with: {{file: {json.dumps(setting)}}}}}}}\n",
            "replies.jsonl": '{"role": "w", "tool_calls": [{"name": "t", "arguments": {}}]}\n',
        }
    )
    typed = "t.yaml" if "format" in declared else "../secrets.csv"
    ended = den.orglab("run", "t.yaml", "--input", f"x={typed}")
    assert ended.code in (1, 2)
    assert OUTSIDE in ended.out or "no such file" in ended.out


def test_a_units_file_opens_nothing_outside(den: Den) -> None:
    """A path in a column stays in the folder of the units file or of the spec."""
    text = den.text.replace("type: string, optional: true", "type: string, format: file")
    (den.spec / "link.csv").symlink_to("../secrets.csv")
    rows = ["../secrets.csv", "/etc/passwd", "link.csv", "/dev/zero"]
    lines = "".join(json.dumps({"id": str(n), "x": row}) + "\n" for n, row in enumerate(rows))
    den.write({"t.yaml": text, "u.jsonl": lines, "replies.jsonl": ""})
    ended = den.orglab("run", "t.yaml", "--units", "u.jsonl")
    assert ended.code == 2
    assert [f"u.jsonl:{n}" in ended.out for n in (1, 2, 3, 4)] == [True] * 4


def test_names_are_no_paths(den: Den) -> None:
    """A team's name, which names its folder, and a unit's id lead nowhere."""
    said = refusals(
        den,
        {
            "up": den.text.replace("name: team", "name: ../../evil"),
            "dots": den.text.replace("name: team", 'name: ".."'),
            "long": den.text.replace("name: team", f"name: {'a' * 5000}"),
            "signs": den.text.replace("name: team", 'name: "a\\e[2J\\n"'),
            "role": den.text.replace("{w:", '{"../w":').replace("output: w", 'output: "../w"'),
        },
    )
    assert all(said.values())
    rows = ["../../evil", "/tmp/evil", "..", "a" * 5000, "x\u0000\u001b[2J"]
    lines = "".join(json.dumps({"id": row, "x": "a"}) + "\n" for row in rows)
    reply = '{"role": "w", "reply": "fine"}\n'
    den.write({"t.yaml": den.text, "u.jsonl": lines, "replies.jsonl": reply})
    ended = den.orglab("run", "t.yaml", "--units", "u.jsonl")
    assert ended.code == 0, ended.out
    made = {path.relative_to(den.spec).parts[0] for path in den.spec.rglob("*")}
    assert made - {"t.yaml", "u.jsonl", "replies.jsonl"} <= {f"{n}.yaml" for n in said} | {"runs"}
