"""The three ways to write an evaluator in YAML."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.evaluators.base import EvaluationError, Evaluator
from orglab.evaluators.process.approvals import Approvals
from orglab.evaluators.process.usage import Usage
from orglab.evaluators.short_form import parse_use, short_field
from orglab.evaluators.structured.columns_exist import ColumnsExist
from orglab.evaluators.text.contains import Contains
from orglab.evaluators.text.length import Length
from orglab.evaluators.text.required_sections import RequiredSections
from orglab.providers.registry import load_plugin, plugin_names


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
        ({"columns_exist": "{{ t }}"}, ("columns_exist", {"table": "{{ t }}"})),
    ],
)
def test_three_forms(item: Any, use: Any) -> None:
    """A name; a name and its first own field; a name and fields."""
    assert parse_use(item) == use


@pytest.mark.parametrize(
    ("item", "match"),
    [
        (3, "3 is no evaluator: write name"),
        ({"a": 1, "b": 2}, "is no evaluator: write name"),
        ({"usage": 3}, "usage takes no argument"),
        ({"contain": "x"}, "no evaluator 'contain' is installed; did you mean 'contains'"),
        ({"zzz": "x"}, "installed are: approvals, claims_verified"),
    ],
)
def test_what_is_no_evaluator_is_told(item: Any, match: str) -> None:
    """A wrong form or name has words and a cure."""
    with pytest.raises(EvaluationError, match=match):
        parse_use(item)


@pytest.mark.parametrize("name", plugin_names("orglab.evaluators"))
def test_every_installed_evaluator_loads(name: str) -> None:
    """The entry points lead to evaluators."""
    assert issubclass(load_plugin("orglab.evaluators", name), Evaluator)


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
