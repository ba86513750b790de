"""Plain scalars of YAML 1.2's core schema, stricter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.engine.spec.yaml.scalar import NotJson, plain_value


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "on", "off", "y", "n", "Yes", "007", "12:30", "2024-01-31", "1_000", "1.2.3",
     "-", "+", ".", "1e", "e3", "0o9", "0xg", "-0x1", "NaN", "inf", "nULL", "tRue", "08", "00"],
)  # fmt: skip
def test_text_stays_text(text: str) -> None:
    """What YAML 1.1 would turn into booleans, octals, times and dates is text."""
    assert plain_value(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("-1", -1), ("+5", 5), ("0", 0), ("-0", 0), ("1.", 1.0), (".5", 0.5),
     ("6E+2", 600.0), ("0x1F", 31), ("0o17", 15), ("true", True), ("False", False), ("~", None),
     ("null", None), ("", None)],
)  # fmt: skip
def test_numbers_and_constants(text: str, value: Any) -> None:
    """Numbers, booleans and null of the core schema have their values and types."""
    found = plain_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".inf", "-.inf", "+.Inf", "1e999", "9" * 5000])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    """NaN, infinity and numbers beyond reason are errors, never values."""
    with pytest.raises(NotJson, match="number"):
        plain_value(text)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_every_json_number_is_read_back(number: float) -> None:
    """A number as Python writes it is read as the same number."""
    text = repr(number)
    if len(text) < 400:
        assert plain_value(text) == number


@given(st.text())
def test_no_text_crashes_it(text: str) -> None:
    """Any text gives a JSON scalar or is refused."""
    try:
        value = plain_value(text)
    except NotJson:
        return
    assert value is None or isinstance(value, bool | int | float | str)
