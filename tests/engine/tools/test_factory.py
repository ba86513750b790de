"""Plugins are made from settings; what is wrong with a setting is said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from orglab.engine.tools import factory as make_module
from orglab.engine.tools.factory import make, make_plugin, settings_of
from orglab.engine.tools.table.describe import Head
from orglab.engine.tools.table.query import Query
from orglab.providers.base import JSON
from orglab.providers.registry import plugin_names


@dataclass(frozen=True, kw_only=True)
class Example:
    text: str
    number: float = 1.0
    whole: int | None = None
    choice: Literal["a", "b"] = "a"
    many: tuple[str, ...] = ()
    map: Mapping[str, int] = field(default_factory=dict)
    file: Path | None = None
    files: tuple[Path, ...] = ()
    anything: Any = None


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Example` in place of an installed plugin."""
    monkeypatch.setattr(make_module, "load_plugin", lambda group, name: Example)


def resolve(text: str) -> Path:
    """The path within the spec's folder."""
    return Path("/specs") / text


def test_a_tool_is_made_with_its_file_resolved() -> None:
    """The path goes through the engine's confinement, the rest comes as it is."""
    tool = make("query", {"file": "data/a.csv", "rows": 5, "seconds": 1}, resolve=resolve)
    assert isinstance(tool, Query)
    assert (tool.file, tool.rows, tool.seconds) == (Path("/specs/data/a.csv"), 5, 1)


def test_every_table_tool_is_installed() -> None:
    """By entry point, like anybody's; and what a model is told of it is a closed schema."""
    ours = [
        "correlate", "describe", "get_schema", "group_by", "head", "histogram", "measure", "query",
        "value_counts",
    ]  # fmt: skip
    assert set(ours) <= set(plugin_names("orglab.tools"))
    for name in ours:
        tool = make(name, {"file": "a.csv"}, resolve=resolve)
        assert tool.parameters["additionalProperties"] is False
        assert len(tool.description) < 250


@pytest.mark.parametrize(
    ("use", "settings", "said"),
    [
        ("qery", {}, "no tool `qery`, did you mean `query`\\? There is: "),
        (
            "head",
            {"file": "a.csv", "fil": 1},
            "tool `head` has no setting `fil`, did you mean `file`",
        ),
        ("head", {}, "tool `head` needs `file`"),
        ("head", {"file": 3}, "tool `head`: `file` must be a path, not 3"),
        ("query", {"file": "a.csv", "rows": "ten"}, "`rows` must be a whole number, not 'ten'"),
        ("query", {"file": "a.csv", "rows": 0}, "tool `query`: `rows` must be at least 1"),
        ("head", {"file": "a.csv", "missing": "NA"}, "`missing` must be a list, not 'NA'"),
    ],
)
def test_wrong_settings_are_said(use: str, settings: Mapping[str, JSON], said: str) -> None:
    """Which tool, which setting, what is allowed."""
    with pytest.raises(ValueError, match=said):
        make(use, settings, resolve=resolve)


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    "settings",
    [
        {"number": 1},
        {"whole": None},
        {"choice": "b"},
        {"many": ["x", "y"]},
        {"map": {"a": 1}},
        {"file": None},
        {"anything": object},
    ],
)
def test_fitting_values(settings: dict[str, JSON]) -> None:
    """JSON values fit the annotations that they can stand for."""
    made = make_plugin("orglab.evaluators", "example", {"text": "t", **settings}, resolve)
    assert isinstance(made, Example)


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"text": 1}, "evaluator `example`: `text` must be text, not 1"),
        ({"number": True}, "`number` must be a number, not True"),
        ({"whole": 1.5}, "`whole` must be a whole number or null"),
        ({"choice": "c"}, "`choice` must be one of a, b, not 'c'"),
        ({"many": [1]}, "`many` must be a list"),
        ({"map": {"a": "x"}}, "`map` must be a mapping"),
        ({"file": 1}, "`file` must be a path or null"),
        ({"files": "a"}, "`files` must be a list"),
    ],
)
def test_values_that_do_not_fit(settings: dict[str, JSON], said: str) -> None:
    """A value of another kind is refused before the plugin sees it."""
    with pytest.raises(ValueError, match=said):
        make_plugin("orglab.evaluators", "example", {"text": "t", **settings}, resolve)


@pytest.mark.usefixtures("example")
def test_files_are_resolved_wherever_they_stand() -> None:
    """`Path`, `Path | None` and lists of paths."""
    settings = {"text": "t", "file": "a", "files": ["b", "c"]}
    made = make_plugin("orglab.evaluators", "example", settings, resolve)
    assert isinstance(made, Example)
    assert made.file == Path("/specs/a")
    assert list(made.files) == [Path("/specs/b"), Path("/specs/c")]


def test_what_is_no_plugin_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class without settings, and one that cannot be imported."""
    with pytest.raises(ValueError, match="`int` is no dataclass"):
        settings_of(int)

    def broken(group: str, name: str) -> None:
        raise ImportError("no module named nothing")

    monkeypatch.setattr(make_module, "load_plugin", broken)
    with pytest.raises(ValueError, match="tool `x` cannot be imported: no module"):
        make("x", {}, resolve=resolve)


def test_settings_tell_which_are_files() -> None:
    """So that the loader can hash them."""
    found = settings_of(Head)
    assert [name for name, one in found.items() if one.file] == ["file"]
    assert [name for name, one in found.items() if one.required] == ["file"]
