"""A column's type is what all its cells are; what is not clear stays text, and is said."""

import math
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.engine.tools.file_cache import TableError
from orglab.engine.tools.table.column_types import CellType, Column, make_column, read_text


def column(*cells: str, missing: tuple[str, ...] = (), decimal: str = ".") -> Column:
    """A column `x` of these cells."""
    return make_column("x", cells, read_text(decimal, missing))


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "", "-3"], "integer", (1, None, -3)),
        (["9007199254740993"], "integer", (9007199254740993,)),
        (["170141183460469231731687303715884105727"], "integer", (2**127 - 1,)),
        (["1", "2.5", "1e3", ".5", " 4 "], "number", (1.0, 2.5, 1000.0, 0.5, 4.0)),
        (["1", "inf", "-Infinity"], "number", (1.0, math.inf, -math.inf)),
        (["True", "false", "TRUE"], "boolean", (True, False, True)),
        (["2024-01-05", " "], "date", (date(2024, 1, 5), None)),
        (["2024-01-05 10:00"], "timestamp", (datetime(2024, 1, 5, 10),)),  # noqa: DTZ001 - the table's own
        (["2024-01-05T10:00:00+02:00"], "timestamp", (datetime(2024, 1, 5, 8),)),  # noqa: DTZ001 - in UTC
        (["", ""], "text", (None, None)),
        (["NA", "DE"], "text", ("NA", "DE")),
    ],
)
def test_types(cells: list[str], kind: CellType, values: tuple[object, ...]) -> None:
    """Each cell is read exactly; empty cells are missing, `NA` is a country."""
    found = column(*cells)
    assert (found.type, found.values) == (kind, values)


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "123"],
        ["+4915112345678"],
        ["1" * 40],
        ["1e999"],
        ["1_000"],
        ["1,000"],
        ["١٢"],
        ["nan", "1"],
        ["True", "1.0"],
        ["2024-02-30"],
        ["2024-01-05", "2024-01-05 10:00"],
        ["2024-01-05T10:00", "2024-01-05T10:00Z"],
        ["yes", "no"],
        ["inf"],
    ],
)
def test_what_a_narrower_type_would_change_stays_text(cells: list[str]) -> None:
    """Codes, thousands, other digits, mixed columns and impossible dates keep their letters."""
    found = column(*cells)
    assert (found.type, found.values) == ("text", tuple(cells))


def test_a_mixed_column_says_how_many_are_numbers() -> None:
    """The note tells what the others are and, where they are few, the setting."""
    found = column("1", "2", "3", "NA", "NA")
    assert found.notes == (
        (
            "`x` is kept as text: 3 of 5 values are numbers, the others are not, such as 'NA' "
            '(2 times); if that means missing, set `missing: ["NA"]`'
        ),
    )
    declared = column("1", "2", "3", "NA", "NA", missing=("NA",))
    assert (declared.type, declared.missing, declared.notes) == ("integer", 2, ())


def test_notes_on_what_a_reader_must_know() -> None:
    """Codes, times in UTC, infinite values and rounded whole numbers are said."""
    assert "leading zeros" in column("007").notes[0]
    assert column("2024-01-05T10:00Z").notes == ("`x`: times are given in UTC",)
    assert column("1", "inf").notes == ("`x`: 1 values are infinite; figures leave them out",)
    assert "1 whole numbers beyond 2^53" in column("0.5", "9007199254740993").notes[0]


def test_a_decimal_comma() -> None:
    """With it, the comma is the decimal mark, and the point is none."""
    assert column("1,5", "2", decimal=",").values == (1.5, 2.0)
    assert column("1.5", decimal=",").type == "text"


@pytest.mark.parametrize(
    ("declared", "cell", "value"),
    [
        ("text", "1", "1"),
        ("number", "007", 7.0),
        ("integer", "+5", 5),
        ("timestamp", "2024-01-05", datetime(2024, 1, 5)),  # noqa: DTZ001 - the table's own
    ],
)
def test_a_declared_type_is_obeyed(declared: CellType, cell: str, value: object) -> None:
    """The author knows better than the cells."""
    found = make_column("x", [cell, ""], read_text(".", ()), declared=declared)
    assert (found.type, found.values) == (declared, (value, None))


@pytest.mark.parametrize(
    ("declared", "cell"),
    [
        ("integer", "1.5"),
        ("number", "x"),
        ("integer", "0.0"),
        ("date", "05/01/2024"),
        ("boolean", "1"),
    ],
)
def test_a_cell_of_another_type_names_its_line(declared: CellType, cell: str) -> None:
    """Nothing is dropped to make a declaration true."""
    with pytest.raises(
        TableError, match=f"line 7: `{cell}` in column `x` is not of type {declared}"
    ):
        make_column("x", [cell], read_text(".", ()), declared=declared, lines=[7])


@given(st.lists(st.floats(allow_nan=False) | st.none(), min_size=1))
def test_numbers_survive_as_they_are(numbers: list[float | None]) -> None:
    """Every double comes back, bit by bit, whatever stands beside it."""
    found = column(*("" if one is None else repr(one) for one in [*numbers, 0.5]))
    assert found.values == (*numbers, 0.5)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=8))
def test_any_text_is_read_without_a_crash(cells: list[str]) -> None:
    """A cell is missing only when it is blank; text columns keep every letter."""
    found = column(*cells)
    assert found.missing == sum(not one.strip() for one in cells)
    if found.type == "text":
        assert [one for one in found.values if one] == [one for one in cells if one.strip()]
