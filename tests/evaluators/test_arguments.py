"""From YAML to an evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from orglab.evaluators.approvals import Approvals
from orglab.evaluators.arguments import (
    argument_problems,
    evaluator_class,
    make_evaluator,
    parse_use,
    short_field,
)
from orglab.evaluators.base import Context, EvaluationError, Evaluator, RunRecord, Score
from orglab.evaluators.columns_exist import ColumnsExist
from orglab.evaluators.contains import Contains
from orglab.evaluators.evidence_holds import EvidenceHolds
from orglab.evaluators.length import Length
from orglab.evaluators.matches_schema import MatchesSchema
from orglab.evaluators.number import Number
from orglab.evaluators.required_sections import RequiredSections
from orglab.evaluators.usage import Usage
from orglab.providers.registry import plugin_names


@pytest.mark.parametrize(
    ("item", "use"),
    [
        ("usage", ("usage", {})),
        ({"usage": None}, ("usage", {})),
        ({"contains": "x"}, ("contains", {"text": "x"})),
        ({"required_sections": ["A"]}, ("required_sections", {"sections": ["A"]})),
        ({"equals": 3}, ("equals", {"to": 3})),
        ({"length": {"max": 5}}, ("length", {"max": 5})),
        ({"approvals": "writer"}, ("approvals", {"role": "writer"})),
        ({"columns_exist": "t.csv"}, ("columns_exist", {"table": "t.csv"})),
    ],
)
def test_three_short_forms(item: Any, use: Any) -> None:
    """A name; a name and its first own field; a name and fields."""
    assert parse_use(item) == use


@pytest.mark.parametrize(
    ("item", "match"),
    [
        (3, "3 is no evaluator: write name"),
        ({"a": 1, "b": 2}, "is no evaluator: write name"),
        ({"usage": 3}, "usage takes no argument"),
        ({"contain": "x"}, "no evaluator 'contain' is installed; did you mean 'contains'"),
        ({"zzz": "x"}, "installed are: approvals, columns_exist"),
    ],
)
def test_what_is_no_evaluator_is_told(item: Any, match: str) -> None:
    """A wrong form or name has words and a cure."""
    with pytest.raises(EvaluationError, match=match):
        parse_use(item)


def test_every_shipped_evaluator_loads() -> None:
    """The entry points lead to classes."""
    ours = [
        name
        for name in plugin_names("orglab.evaluators")
        if evaluator_class(name).__module__.startswith("orglab.evaluators.")
    ]
    assert len(ours) >= 12


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (Contains, "text"),
        (Length, "unit"),
        (ColumnsExist, "table"),
        (RequiredSections, "sections"),
        (Approvals, "role"),
        (Usage, None),
    ],
)
def test_the_short_form_sets_the_first_own_field(kind: type[Evaluator], field: str | None) -> None:
    """``role``, ``min`` and ``max`` of the port are not the first."""
    assert short_field(kind) == field


def test_names_are_checked_before_templates_are_rendered() -> None:
    """Unknown and missing names are told together; values may still be templates."""
    assert argument_problems(EvidenceHolds, {"tabel": "{{ table }}", "min": "{{ x }}"}) == [
        "there is no argument 'tabel'; did you mean 'table'?",
        "'table' is missing",
    ]
    assert argument_problems(Usage, {"zzzz": 1}) == [
        "there is no argument 'zzzz'; it takes: nothing"
    ]
    assert argument_problems(EvidenceHolds, {"table": "{{ table }}"}) == []


@pytest.mark.parametrize(
    ("kind", "arguments", "match"),
    [
        (Length, {"unit": "lines"}, "'unit' must be words or characters or sentences, not 'lines'"),
        (Length, {"max": "500"}, "'max' must be a number or null, not '500'"),
        (Length, {"max": True}, "'max' must be a number or null, not True"),
        (Contains, {"text": 3, "all_of": "a"}, "'text' must be text or null, not 3; 'all_of' must"),
        (Contains, {"any_of": [1]}, "'any_of' must be a list of text, not"),
        (Contains, {"whole_words": "no"}, "'whole_words' must be true or false, not 'no'"),
        (ColumnsExist, {"table": "t.csv"}, "'table' must be a file, not 't.csv'"),
        (MatchesSchema, {"schema": "x"}, "'schema' must be a map, not 'x'"),
        (MatchesSchema, {"schema": {"type": "txt"}}, "JSON Schema"),
        (Number, {"tolerance": -1}, "must not be negative"),
        (Number, {"t": 1}, "there is no argument 't'"),
    ],
)
def test_wrong_arguments_are_told(
    kind: type[Evaluator], arguments: dict[str, Any], match: str
) -> None:
    """Names, types and what does not go together, in an author's words."""
    with pytest.raises(EvaluationError, match=match):
        make_evaluator(kind, arguments)


def test_an_evaluator_is_made_of_its_arguments() -> None:
    """Whole numbers stand for numbers, lists for tuples, paths for files."""
    assert make_evaluator(Length, {"max": 5, "role": "writer"}) == Length(max=5, role="writer")
    table = Path("t.csv")
    assert make_evaluator(ColumnsExist, {"table": table}) == ColumnsExist(table=table)


@dataclass(frozen=True, kw_only=True)
class Odd(Evaluator):
    anything: Any = None
    of: Mapping[str, int] | None = None
    either: Literal["a", 1] = "a"
    many: Sequence[Sequence[int]] = ()
    odd: complex = 1j

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        return []


def test_annotations_of_plugins_are_understood_or_let_be() -> None:
    """What the type check does not know it lets through."""
    fine = {"anything": [1], "of": {"a": 1}, "either": 1, "many": [[1], [2]], "odd": "?"}
    assert make_evaluator(Odd, fine).odd == "?"  # type: ignore[comparison-overlap]
    with pytest.raises(EvaluationError, match="'many' must be a list"):
        make_evaluator(Odd, {"many": [["a"]]})
