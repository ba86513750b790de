"""docs/reference/evaluators.md tells every evaluator, its fields and scores; its YAML works."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from orglab.engine.spec.plugin_settings import short_field, spread
from orglab.engine.tools.factory import make_plugin
from orglab.evaluators.base import Evaluator, OutputEvaluator
from orglab.evaluators.process.approvals import Approvals
from orglab.evaluators.process.usage import Usage
from orglab.evaluators.structured.evidence_holds import MEASURES
from orglab.providers.registry import load_plugin, plugin_names

DOCS = Path(__file__).parents[2] / "docs/reference"
PAGE = (DOCS / "evaluators.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
SNIPPETS = [  # those that begin with a file's name are documents of their own, tested elsewhere
    text
    for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    if not re.match(r"# \S+\.yaml\n", text)
]
OURS = [
    name
    for name in plugin_names("orglab.evaluators")
    if load_plugin("orglab.evaluators", name).__module__.startswith("orglab.evaluators.")
]


def _made(item: Any) -> Any:
    written = spread(item)
    assert written is not None
    name, value = written
    field = str(short_field(load_plugin("orglab.evaluators", name)))
    arguments: dict[str, Any] = value if isinstance(value, dict) else {field: value}
    return make_plugin("orglab.evaluators", name, arguments, Path)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_every_snippet_makes_its_evaluators(snippet: str) -> None:
    """What the page shows can be copied."""
    items = yaml.safe_load(snippet)["evaluators"]
    assert items
    assert all(isinstance(_made(item), Evaluator) for item in items)


@pytest.mark.parametrize("name", OURS)
def test_every_evaluator_has_its_section(name: str) -> None:
    """Each has one, with every field of its own and a snippet that uses it."""
    section = SECTIONS[name]
    inherited = {field.name for field in fields(OutputEvaluator)}
    own = [field.name for field in fields(load_plugin("orglab.evaluators", name))]
    told = [field for field in own if field not in inherited or name == "approvals"]
    assert [field for field in told if f"| `{field}` |" not in section] == []
    snippet = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert snippet is not None
    assert name in snippet[1]


def test_no_section_tells_of_what_is_not_there() -> None:
    """A section is an installed evaluator."""
    assert sorted(SECTIONS) == sorted(OURS)


@pytest.mark.parametrize(("name", "evaluator"), [("usage", Usage()), ("approvals", Approvals())])
async def test_every_score_of_a_run_is_reported(
    name: str, evaluator: Evaluator, run: Any, context: Any
) -> None:
    """The names of scores in the page are those that come."""
    scores = await evaluator.evaluate(run(), context())
    assert [score.name for score in scores if f"`{score.name}`" not in SECTIONS[name]] == []


def test_every_alias_of_a_measure_is_reported() -> None:
    """The table of measures is the one in the code."""
    for measure, aliases in MEASURES.items():
        row = f"| `{measure}` | {', '.join(aliases[1:])} |".replace("|  |", "| |")
        assert row in SECTIONS["evidence_holds"]


def test_the_example_of_the_plugin_page_is_the_package() -> None:
    """Entry points and class in docs/how-to/plugins.md stand so in tests/plugin_package."""
    page = (DOCS.parent / "how-to/plugins.md").read_text(encoding="utf-8")
    package = DOCS.parents[1] / "tests/plugin_package"
    toml = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert toml is not None
    assert code is not None
    assert toml[1].strip() in (package / "pyproject.toml").read_text(encoding="utf-8")
    source = (package / "orglab_plugin_example/shouting.py").read_text(encoding="utf-8")
    lines = {line.strip() for line in source.splitlines()}
    assert [line for line in code[1].splitlines() if line.strip() not in lines] == []
