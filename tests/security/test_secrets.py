"""Keys: never in a spec, never in what is stored, printed or exported."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import pytest

from orglab.engine.graph.check import check_file

Den = Any

pytestmark = pytest.mark.timeout(240)  # whole processes, many of them

MODEL = "provider: scripted, file: replies.jsonl"


@pytest.mark.parametrize(
    "field",
    [
        "api_key: sk-planted",
        "API-Key: sk-planted",
        "token: sk-planted",
        "headers: {Authorization: sk-planted}",
        "params: {api_key: sk-planted}",
        "params: {extra_body: {api_key: sk-planted}}",
        "params: {extra_body: {provider: [{headers: {Authorization: sk-planted}}]}}",
        "api_key_env: sk-planted",
        "params: {extra_headers: {x-api-key: sk-planted}}",
        "base_url: 'https://me:sk-planted@host.example/v1'",
    ],
)
def test_no_spec_holds_a_secret(den: Den, field: str) -> None:
    """A key written into a model's entry is a fault; the fault says where it belongs, not the key."""
    den.write({"t.yaml": den.text.replace(MODEL, f"provider: simulated, {field}")})
    checked = check_file(den.spec / "t.yaml")
    issues = "\n".join(map(str, checked.issues))
    assert checked.team is None
    assert "api_key_env: NAME" in issues
    assert "sk-planted" not in issues


def test_names_that_only_look_like_secrets_are_fine(den: Den) -> None:
    """The variable's name, and limits of tokens."""
    den.write(
        {
            "t.yaml": den.text.replace(
                MODEL, f"{MODEL}, api_key_env: ORGLAB_TEST_KEY, tokens_per_minute: 1000"
            ),
            "replies.jsonl": "",
        }
    )
    assert [str(issue) for issue in check_file(den.spec / "t.yaml").issues] == []


def test_a_key_in_the_environment_reaches_nothing(den: Den) -> None:
    """Not by templates, tools or errors; not into the store, the transcript or an export."""
    text = den.text.replace(
        "prompt: P", 'prompt: "$ORGLAB_TEST_KEY ${ORGLAB_TEST_KEY} %ORGLAB_TEST_KEY%", tools: [q]'
    )
    replies = [
        {
            "role": "w",
            "tool_calls": [
                {"name": "q", "arguments": {"sql": "SELECT getenv('ORGLAB_TEST_KEY')"}},
                {"name": "$ORGLAB_TEST_KEY", "arguments": {}},
            ],
        },
        {"role": "w", "error": {"kind": "authentication", "message": "$ORGLAB_TEST_KEY is wrong"}},
    ]
    den.write(
        {
            "t.yaml": f"{text}tools: {{q: {{use: query, with: {{file: d.csv}}}}}}\n",
            "d.csv": "a\n1\n",
            "replies.jsonl": "".join(json.dumps(reply) + "\n" for reply in replies),
        }
    )
    assert den.orglab("run", "t.yaml", "--out", "study").code == 1
    assert den.orglab("show", "study").code == 0
    assert den.orglab("export", "study", "--to", "jsonl").code == 0
    assert den.leaks("authentication")
    assert den.leaks(den.key) == []


def test_other_engines_of_code_are_not_installed(den: Den) -> None:
    """Tools and providers by import path are unknown names (`python` and `mcp` want `--trust`)."""
    for use in ("os:system", "orglab.engine.tools.table.query:Query"):
        den.write({"t.yaml": f'{den.text}tools: {{t: {{use: "{use}"}}}}\n', "replies.jsonl": ""})
        issues = "\n".join(map(str, check_file(den.spec / "t.yaml").issues))
        assert f"no tool `{use}` is installed" in issues
    den.write({"t.yaml": den.text.replace("provider: scripted", 'provider: "os:system"')})
    issues = "\n".join(map(str, check_file(den.spec / "t.yaml").issues))
    assert "no provider `os:system` is installed" in issues


def test_modules_beside_a_spec_are_not_imported(den: Den) -> None:
    """A stranger's `yaml.py`, plugin and settings of libraries in the working folder do nothing."""
    trap = "raise SystemExit('trapped')\n"
    for name in ("yaml", "duckdb", "jinja2", "sitecustomize", "orglab_plugin"):
        den.write({f"{name}.py": trap})
    den.write(
        {
            "orglab_plugin-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: orglab-plugin\nVersion: 1.0\n",
            "orglab_plugin-1.0.dist-info/entry_points.txt": "[orglab.tools]\nevil = orglab_plugin:Evil\n",
            "matplotlibrc": "figure.dpi: trapped\n",
            "t.yaml": f"{den.text}tools: {{t: {{use: evil}}}}\n",
            "replies.jsonl": "",
        }
    )
    with zipfile.ZipFile(den.spec / "orglab.zip", "w") as archive:
        archive.writestr("x.py", trap)
    ended = den.orglab("check", "t.yaml")
    assert "trapped" not in ended.out
    assert "no tool `evil` is installed" in ended.out
