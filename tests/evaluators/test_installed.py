"""Installed evaluators, and the field that the short form ``{name: argument}`` sets."""

from __future__ import annotations

import pytest

from orglab.engine.spec.plugin_settings import short_field
from orglab.evaluators.base import Evaluator
from orglab.evaluators.process.approvals import Approvals
from orglab.evaluators.process.usage import Usage
from orglab.evaluators.structured.columns_exist import ColumnsExist
from orglab.evaluators.text.contains import Contains
from orglab.evaluators.text.equals import Equals
from orglab.evaluators.text.length import Length
from orglab.evaluators.text.required_sections import RequiredSections
from orglab.providers.registry import load_plugin, plugin_names


@pytest.mark.parametrize("name", plugin_names("orglab.evaluators"))
def test_every_installed_evaluator_loads(name: str) -> None:
    """The entry points lead to evaluators."""
    assert issubclass(load_plugin("orglab.evaluators", name), Evaluator)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (Contains, "text"),
        (Equals, "to"),
        (Length, "unit"),
        (ColumnsExist, "table"),
        (RequiredSections, "sections"),
        (Approvals, "link"),
        (Usage, None),
    ],
)
def test_the_short_form_sets_the_first_own_field(kind: type[Evaluator], field: str | None) -> None:
    """``role``, ``min`` and ``max`` of the port are not the first."""
    assert short_field(kind) == field
