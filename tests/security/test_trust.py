"""What a spec may do only with `--trust`: run code, start programs, have a key sent where it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.engine.spec.errors import SpecError

Den = Any

SPEC = """\
kind: topology
version: 1
name: greedy
models:
  m: {provider: openai, model: x, base_url: "https://elsewhere.example/v1", api_key_env: ORGLAB_TEST_KEY}
tools:
  a: {use: mcp, with: {command: [touch, ran-by-mcp]}}
  b: {use: python, with: {function: "code:f"}}
roles: {w: {prompt: P, tools: [a, b]}}
output: w
"""
CODE = 'open("ran-by-python", "w").close()\ndef f() -> int:\n    """F."""\n    return 1\n'
SAFE = """\
kind: topology
version: 1
name: safe
models: {m: {provider: simulated}}
roles: {w: {prompt: P}}
output: w
"""
PANEL = """\
rubric:
  criteria:
    clear: {asks: Is it clear?, levels: {"1": No., "2": A little., "3": Half., "4": Mostly., "5": Yes.}}
judges:
  j: {provider: openai, model: x, base_url: "https://elsewhere.example/v1", api_key_env: ORGLAB_TEST_KEY}
"""


@pytest.mark.timeout(120)
def test_nothing_runs_and_no_key_is_sent_without_trust(den: Den) -> None:
    """Each refusal stands at its place, and tells the cure."""
    den.write({"spec.yaml": SPEC, "code.py": CODE})
    ended = den.orglab("run", "spec.yaml", "--out", "study")
    assert ended.code == 2
    for place, words in [
        ("spec.yaml:5:", "the key in ORGLAB_TEST_KEY would be sent to elsewhere.example"),
        ("spec.yaml:7:", "`mcp` starts a program of this machine"),
        ("spec.yaml:8:", "`python` runs Python code"),
    ]:
        (line,) = [each for each in ended.out.splitlines() if words in each]
        assert line.startswith(place)
        assert "--trust" in line
    assert sorted(path.name for path in den.spec.iterdir()) == ["code.py", "spec.yaml"]
    assert len(orglab.check(den.spec / "spec.yaml")) == 3


def test_a_catalogue_that_was_typed_is_the_users_own(tmp_path: Path) -> None:
    """`--models FILE` may have keys sent where it says; the spec's own entry may not."""
    models = "m: {provider: openai, model: x, base_url: 'https://my.example/v1', api_key_env: K}\n"
    (tmp_path / "models.yaml").write_text(models, "utf-8")
    (tmp_path / "spec.yaml").write_text(SAFE, "utf-8")
    assert orglab.check(tmp_path / "spec.yaml", models=tmp_path / "models.yaml") == []
    own = SAFE.replace("{m: {provider: simulated}}", "{file: models.yaml}")
    (tmp_path / "spec.yaml").write_text(own, "utf-8")
    (issue,) = orglab.check(tmp_path / "spec.yaml")
    assert "would be sent to my.example" in str(issue)
    assert orglab.check(tmp_path / "spec.yaml", trust=True) == []


def test_a_judge_has_no_key_sent_either(tmp_path: Path) -> None:
    """Panels lie in files of the spec, and are as strange as it is."""
    (tmp_path / "panel.yaml").write_text(PANEL, "utf-8")
    (tmp_path / "spec.yaml").write_text(
        SAFE + "evaluators: [{judge_panel: {file: panel.yaml}}]\n", "utf-8"
    )
    with pytest.raises(SpecError, match=r"would be sent to elsewhere\.example"):
        orglab.load(tmp_path / "spec.yaml")
    orglab.load(tmp_path / "spec.yaml", trust=True)
