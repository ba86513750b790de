"""Settings of tools, evaluators and models against the plugins themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from orglab.engine.spec import plugin_settings as plugins
from orglab.engine.spec.load import Loaded
from orglab.evaluators.base import Context, Evaluator, Output, OutputEvaluator, RunRecord, Score
from orglab.providers.base import JSON, Completion, Provider, Request, Tool

Lines = Callable[..., list[str]]
Load = Callable[..., Loaded]


class Echo(Provider):
    """A provider with options and parameters of its own."""

    parameters: ClassVar[frozenset[str] | None] = frozenset({"temperature", "top_p"})
    options: ClassVar[frozenset[str]] = frozenset({"loudness"})

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> Echo:
        return cls()

    async def complete(self, request: Request) -> Completion:
        return Completion(text=request.messages[-1].content)


@dataclass(frozen=True, kw_only=True)
class Search(Tool):
    """A tool with a file, a required text and typed settings."""

    description = "Searches."
    parameters: ClassVar[Mapping[str, JSON]] = {"type": "object", "additionalProperties": False}
    file: Path
    text: str
    most: int = 5
    mode: Literal["all", "any"] = "all"
    where: Mapping[str, Any] | None = None
    other: Path | None = None

    async def call(self, arguments: Mapping[str, JSON]) -> JSON:
        return []


@dataclass(frozen=True, kw_only=True)
class Words(OutputEvaluator):
    """A measure with two arguments of its own."""

    words: Sequence[str]
    weight: float = 1.0

    async def look(self, output: Output, context: Context) -> Score:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Whole(Evaluator):
    """A measure of whole runs, without arguments."""

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        return []


KNOWN: Mapping[str, Mapping[str, type]] = {
    "orglab.providers": {"echo": Echo},
    "orglab.tools": {"search": Search},
    "orglab.evaluators": {"words": Words, "whole": Whole},
}

HEAD = "kind: topology\nversion: 1\nmodels: {worker: {provider: echo}}\n"
ROLES = "roles: {writer: {}}\noutput: writer\n"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only these plugins are installed; one of them cannot be imported."""

    def load_plugin(group: str, name: str) -> type:
        if name == "broken":
            raise ImportError("no module called numpie")
        return KNOWN[group][name]

    monkeypatch.setattr(plugins, "plugin_names", lambda group: sorted([*KNOWN[group], "broken"]))
    monkeypatch.setattr(plugins, "load_plugin", load_plugin)


def texts(lines: list[str]) -> list[str]:
    """Faults without their places."""
    return [line.split(" ", 1)[1] for line in lines]


@pytest.mark.parametrize(
    ("tool", "lines"),
    [
        ("{use: search, with: {file: a.csv, text: body}}", []),
        ('{use: search, with: {file: "{{ table }}", text: body, most: "{{ n }}"}}', []),
        ("{use: search, with: {file: a.csv, text: body, other: a.csv, where: {a: 1}, x-a: 1}}", []),
        ("{use: serch}", ["tools.t.use: no tool `serch` is installed; did you mean `search`?"]),
        ("{use: broken}", ["tools.t.use: the tool `broken` cannot be loaded: no module called numpie"]),
        ("{use: search, with: {fil: a.csv, text: a}}",
         ["tools.t.with.file: `file` is required; expected the path of a file",
          "tools.t.with.fil: unknown key fil; did you mean `file`?"]),
        ("{use: search}", ["tools.t.with.file: `file` is required; expected the path of a file",
                           "tools.t.with.text: `text` is required; expected text"]),
        ("{use: search, with: {file: b.csv, text: 3, most: many}}",
         ["tools.t.with.file: b.csv: there is no such file",
          "tools.t.with.text: expected text, got the number 3",
          'tools.t.with.most: expected a whole number, got the text "many"']),
        ("{use: search, with: {file: a.csv, text: a, mode: none, where: []}}",
         ['tools.t.with.mode: expected one of all, any, got the text "none"',
          "tools.t.with.where: expected a map, got a list"]),
        ("{use: search, with: {file: ../a.csv, text: a}}",
         ["tools.t.with.file: ../a.csv: the file lies outside the spec's folder"]),
    ],
)  # fmt: skip
def test_settings_of_tools(issues: Lines, tool: str, lines: list[str]) -> None:
    """Names, types, required ones and files are checked; templates are left for the run."""
    found = issues(f"{ROLES}tools: {{t: {tool}}}\n", head=HEAD, files={"a.csv": "x\n1\n"})
    assert sorted(texts(found)) == sorted(lines)


@pytest.mark.parametrize(
    ("item", "lines"),
    [
        ("whole", []),
        ("{words: [a, b]}", []),
        ("{words: {words: [a], role: writer, min: 1}}", []),
        ("wrds", ["evaluators[0]: no evaluator `wrds` is installed; did you mean `words`?"]),
        ("{wrds: 1}", ["evaluators[0].wrds: no evaluator `wrds` is installed; did you mean `words`?"]),
        ("words", ["evaluators[0].words: `words` is required; expected a list"]),
        ("{words: 3}", ["evaluators[0].words.words: expected a list, got the number 3"]),
        ("{words: {words: [a], wight: 2}}", ["evaluators[0].words.wight: unknown key wight; did you mean `weight`?"]),
        ("{words: {words: [a], role: writr}}", ["evaluators[0].words.role: there is no role `writr`; did you mean `writer`?"]),
        ("{whole: 3}", ["evaluators[0].whole: `whole` takes no argument; write `whole` alone"]),
    ],
)  # fmt: skip
def test_arguments_of_evaluators(issues: Lines, item: str, lines: list[str]) -> None:
    """The three short forms are read against the evaluator's own fields."""
    assert texts(issues(f"{ROLES}evaluators: [{item}]\n", head=HEAD)) == lines


def test_short_forms_are_spread_out(load_spec: Load) -> None:
    """A bare argument sets the first field of the evaluator's own."""
    loaded = load_spec(
        f"{ROLES}evaluators: [whole, {{words: [a]}}, {{words: {{words: [b], min: 1}}}}]\n",
        head=HEAD,
    )
    assert loaded.topology is not None
    assert [(e.use, e.arguments) for e in loaded.topology.evaluators] == [
        ("whole", {}),
        ("words", {"words": ["a"]}),
        ("words", {"words": ["b"], "min": 1}),
    ]


def test_a_check_must_look_at_one_output(issues: Lines) -> None:
    """What measures whole runs cannot fire a link."""
    text = """
roles: {writer: {}, critic: {}}
output: writer
links: [{kind: authority, from: critic, to: writer, cap: 1, trigger: {checks: [whole]}}]
"""
    (line,) = texts(issues(text, head=HEAD))
    assert line.startswith("links[0].trigger.checks[0]: `whole` measures whole runs")


@pytest.mark.parametrize(
    ("model", "lines"),
    [
        ("{provider: echo, loudness: 3, params: {temperature: 0}, x-a: 1}", []),
        ("{provider: ecco}", ["models.worker.provider: no provider `ecco` is installed; did you mean `echo`?"]),
        ("{provider: echo, loudnes: 3}", ["models.worker.loudnes: unknown key loudnes; did you mean `loudness`?"]),
        ("{provider: echo, profile: x}", ["models.worker.profile: unknown key profile; did you mean `provider`?"]),
        ("{provider: echo, max_concurency: 3}", ["models.worker.max_concurency: unknown key max_concurency; did you mean `max_concurrency`?"]),
        ("{provider: echo, params: {temprature: 0}}", ["models.worker.params.temprature: unknown parameter `temprature` for provider `echo`; did you mean `temperature`?"]),
    ],
)  # fmt: skip
def test_options_and_parameters_of_models(issues: Lines, model: str, lines: list[str]) -> None:
    """A provider that declares its options and parameters has them checked."""
    head = f"kind: topology\nversion: 1\nmodels: {{worker: {model}}}\n"
    assert texts(issues(ROLES, head=head)) == lines


def test_data_files_are_hashed_and_relative_to_the_spec(load_spec: Load, tmp_path: Path) -> None:
    """A file named in a base in another folder is the same file for the spec."""
    base = HEAD + ROLES + "tools: {t: {use: search, with: {file: a.csv, text: x}}}\n"
    loaded = load_spec(
        "kind: topology\nversion: 1\nextends: parts/base.yaml\n",
        head="",
        files={"parts/base.yaml": base, "parts/a.csv": "x\n1\n"},
    )
    assert loaded.issues == []
    assert loaded.normal is not None
    assert loaded.normal["tools"]["t"]["with"]["file"] == "parts/a.csv"
    assert list(loaded.normal["files"]) == ["parts/a.csv"]


def test_the_hash_follows_the_content_of_data_files(load_spec: Load) -> None:
    """Other content is another spec; another name for the same content is not."""
    text = ROLES + "tools: {t: {use: search, with: {file: FILE, text: x}}}\n"
    hashes = []
    for file, content in (("a.csv", "1"), ("b.csv", "1"), ("a.csv", "2")):
        loaded = load_spec(text.replace("FILE", file), head=HEAD, files={file: content})
        assert loaded.topology is not None
        hashes.append(loaded.topology.hash)
    assert hashes[0] == hashes[1] != hashes[2]
