"""Conditions on the columns of a row."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.row_filter import condition

ROW: dict[str, Any] = {
    "loops": 2,
    "model.writer": "qwen",
    "status": "completed",
    "forced": False,
    "cost_usd": None,
    "odd name": 1.5,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loops == 2", True),
        ("loops = 2", True),
        ("loops != 2", False),
        ("loops >= 2.5", False),
        ("loops < 1e1", True),
        ("loops > -1", True),
        ("model.writer == 'qwen'", True),
        ('model.writer != "qwen"', False),
        ("forced == false", True),
        ("loops == 0 or status == 'completed'", True),
        ("loops == 2 AND NOT forced == true", True),
        ("not (loops == 2 and status == 'completed')", False),
        ("loops == 0 or loops == 1 and status == 'completed'", False),
        ("`odd name` == 1.5", True),
        ("cost_usd > 0", None),
        ("not cost_usd > 0", None),
        ("cost_usd > 0 or loops == 2", True),
        ("cost_usd > 0 and loops == 0", False),
        ("cost_usd > 0 and loops == 2", None),
    ],
)
def test_conditions(text: str, expected: bool | None) -> None:
    """Comparisons and their joins; a missing value leaves open what hangs on it."""
    assert condition(text)(ROW) is expected


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty"),
        ("loops", "expected one of == != < <= > >="),
        ("loops ==", "ends too early"),
        ("loops == other", "found other"),
        ("loops == 1 loops == 2", "`loops` is not expected there"),
        ("(loops == 1", "closing bracket"),
        ("__import__('os')", r"`__import__\(…\)` is not allowed"),
        ("loops == 1; drop", "cannot be read at `; drop`: one condition only"),
        ("loops == 1x", "cannot be read"),
        ("loops in (1, 2)", "expected one of == != < <= > >="),
        ("1 == loops", "expected a column before"),
        ("and == 1", "`and` is not expected there"),
        ("not " * 60 + "loops == 1", "too deep: at most 30 levels"),
    ],
)
def test_what_cannot_be_read(text: str, match: str) -> None:
    """A wrong condition is refused, with what was expected."""
    with pytest.raises(PlanError, match=match):
        condition(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("lops == 0", "no column 'lops'"),
        ("loops == 'two'", "holds int"),
        ("status < 3", "holds str"),
    ],
)
def test_what_does_not_fit_the_row(text: str, match: str) -> None:
    """Unknown columns and kinds that cannot be compared are refused."""
    with pytest.raises(PlanError, match=match):
        condition(text)(ROW)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text does anything but be read or be refused."""
    with contextlib.suppress(PlanError):
        assert callable(condition(text))
