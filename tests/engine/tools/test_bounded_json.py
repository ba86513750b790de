"""Results are strict JSON and bounded."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pytest
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st

from orglab.engine.tools.bounded_json import bounded, tidy, to_strict_json
from orglab.engine.tools.table.base import TableTool
from orglab.engine.tools.table.correlate import Correlate
from orglab.engine.tools.table.describe import Describe, GetSchema, Head
from orglab.engine.tools.table.group_counts import GroupBy, Histogram, ValueCounts
from orglab.engine.tools.table.measure import MEASURES, Measure
from orglab.engine.tools.table.query import Query
from orglab.providers.base import JSON, ToolError
from orglab.providers.structured_output.strict_json import spaced

Ask = Callable[..., JSON]


def calls(columns: list[str]) -> list[tuple[type[TableTool], dict[str, JSON]]]:
    """Every tool on every column and every pair of columns."""
    found: list[tuple[type[TableTool], dict[str, JSON]]] = [(GetSchema, {}), (Head, {})]
    found += [(Describe, {}), (Query, {"sql": "SELECT * FROM data"})]
    for one in columns:
        found += [(tool, {"column": one}) for tool in (Describe, ValueCounts, Histogram)]
        found += [(Measure, {"measure": name, "columns": [one]}) for name in MEASURES]
        found += [(Query, {"sql": f'SELECT min("{one}"), count(*), avg("{one}") FROM data'})]
        for other in columns:
            found.append((GroupBy, {"by": one, "measure": "mean", "column": other}))
            found.append((Correlate, {"x": one, "y": other}))
    return found


async def test_every_tool_on_every_column(ask: Ask) -> None:
    """Case 48: results pass a strict parser, or the tool refuses in words."""
    file = case_folder("48-data-strict-json-results") / "table.csv"
    answered = 0
    for tool, arguments in calls(["x", "y", "when", "flag"]):
        try:
            result = await ask(tool, file, arguments)
        except ToolError:
            continue
        text = json.dumps(result, allow_nan=False)  # fails on numpy scalars and on infinity
        assert "Infinity" not in text
        assert "NaN" not in text
        answered += 1
    assert answered > 30


async def test_the_figures_of_the_case(ask: Ask) -> None:
    """Case 48: one infinite, one missing; true and false are counted, not averaged."""
    file = case_folder("48-data-strict-json-results") / "table.csv"
    y = await ask(Describe, file, {"column": "y"})
    assert (y["n"], y["missing"], y["infinite"], y["mean"]) == (1, 1, 1, -2.5)
    flag = await ask(Describe, file, {"column": "flag"})
    assert (flag["true"], flag["false"]) == (2, 1)
    when = await ask(Describe, file, {"column": "when"})
    assert (when["missing"], when["min"], when["max"]) == (1, "2024-01-05", "2024-02-01")
    with pytest.raises(ToolError, match="`flag` is not numeric, it is boolean"):
        await ask(Measure, file, {"measure": "mean", "columns": ["flag"]})


async def test_values_are_never_merged(ask: Ask) -> None:
    """Case 48: True, False and 1.0 in one column stay three values."""
    found = await ask(ValueCounts, "a\nTrue\nFalse\n1.0\n1\n", {"column": "a"})
    assert [one["value"] for one in found["values"]] == ["True", "False", "1.0", "1"]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-float("inf"), "-inf"),
        (Decimal("1.50"), 1.5),
        (Decimal("1E+30"), 10**30),
        (date(2024, 1, 5), "2024-01-05"),
        (datetime(2024, 1, 5, 10, tzinfo=UTC), "2024-01-05T10:00:00+00:00"),
        (time(10, 30), "10:30:00"),
        (timedelta(days=1), "1 day, 0:00:00"),
        (b"\x00\xff", "00ff"),
        (np.int64(3), 3),
        (np.float64("nan"), "nan"),
        (np.bool_(True), True),
        (np.datetime64("2024-01-05"), "2024-01-05"),
        ((1, {True: {2}}), [1, {"true": [2]}]),
        ("a\ud800", "a?"),
        (2**80, 2**80),
    ],
)
def test_strict(value: object, plain: JSON) -> None:
    """Each kind of value has one plain form."""
    found = to_strict_json(value)
    assert found == plain
    assert json.loads(spaced(found)) == plain


def test_tidy_takes_the_noise_away() -> None:
    """15 digits: 0.1 + 0.2 is 0.3, and whole numbers are never rounded."""
    assert tidy(0.1 + 0.2) == 0.3
    assert tidy(2**60 + 1) == 2**60 + 1


def test_a_small_result_is_unchanged() -> None:
    """Nothing is cut that fits."""
    assert bounded({"rows": [[1, "a"]]}) == {"rows": [[1, "a"]]}


def test_long_texts_are_cut_and_it_is_said() -> None:
    """How much is missing stands where it is missing."""
    found = bounded({"rows": [["x" * 500]]})
    assert found["rows"][0][0] == "x" * 400 + "… (100 more characters)"


def test_long_lists_are_cut_and_it_is_said() -> None:
    """`cut` counts the items left out, so that nobody takes a part for the whole."""
    found = bounded({"rows": [[one, "text"] for one in range(5000)]}, 1000)
    assert len(spaced(found)) <= 1000
    assert len(found["rows"]) + found["cut"]["rows"] == 5000
    assert len(found["rows"]) > 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: (
        st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=60,
)


@given(st.dictionaries(st.sampled_from("abcdef"), json_values, max_size=6), st.integers(200, 600))
def test_bounded_is_bounded(value: dict[str, JSON], characters: int) -> None:
    """Whatever the result, it fits, and ends."""
    assert len(spaced(bounded(value, characters))) <= characters
