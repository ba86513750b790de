"""Numbers in words."""

from __future__ import annotations

import pytest

from orglab.results.number_format import (
    amount,
    clear_places,
    dollars,
    duration,
    interval,
    money,
    name_list,
    number,
    p_equals,
    p_value,
    percent,
    places,
    sentence,
    signed,
)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0004, "< .001"),
        (0.001, ".001"),
        (0.0123, ".012"),
        (0.05, ".050"),
        (0.9994, ".999"),
        (0.9996, "> .999"),
        (1.0, "> .999"),
        (None, "–"),  # noqa: RUF001
    ],
)
def test_p_values_as_apa_has_them(p: float | None, text: str) -> None:
    """No zero before the point; never ``p = .000``."""
    assert p_value(p) == text


def test_a_p_in_a_sentence_does_not_break() -> None:
    """``p`` and its value stay on a line."""
    assert p_equals(0.012) == "p\u00a0=\u00a0.012"
    assert p_equals(1e-9) == "p\u00a0<\u00a0.001"
    assert p_equals(None) == "no p"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1036.0, "1,036"),
        (40.62, "40.6"),
        (3.05, "3.05"),
        (0.0297, "0.030"),
        (-0.00123, "−0.0012"),  # noqa: RUF001
        (0.0, "0"),
        (26494.3, "26,494"),
        (None, "–"),  # noqa: RUF001
    ],
)
def test_numbers_have_as_many_digits_as_they_carry(value: float | None, text: str) -> None:
    """Two or three significant digits, a true minus sign, an en dash for nothing."""
    assert number(value) == text


def test_a_rounded_zero_has_no_sign() -> None:
    """``-0.00`` is no number that anyone wants to read."""
    assert number(-0.001, 2) == "0.00"
    assert signed(0.001, 2) == "0.00"
    assert signed(0.21) == "+0.21"


def test_intervals_share_their_decimals() -> None:
    """Both ends are shown alike."""
    assert interval(0.05, 0.371) == "0.05 to 0.37"
    assert interval(-12.0, 3.456) == "−12.0 to 3.5"  # noqa: RUF001
    assert interval(None, 1.0) == "–"  # noqa: RUF001


@pytest.mark.parametrize(
    ("usd", "text"),
    [(None, "unknown"), (0.0, "$0"), (1234.5, "$1,234.50"), (0.0386, "$0.0386"), (-2.0, "−$2.00")],  # noqa: RUF001
)
def test_money_unknown_is_not_zero(usd: float | None, text: str) -> None:
    """An unknown price is unknown."""
    assert money(usd) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "unknown"), (0.44, "0.4 s"), (93.2, "93 s"), (754.0, "13 min"), (7500.0, "2 h 05")],
)
def test_time(seconds: float | None, text: str) -> None:
    """Seconds, minutes, hours."""
    assert duration(seconds) == text


def test_shares_amounts_and_lists() -> None:
    """Small words."""
    assert percent(0.934) == "93\u00a0%"
    assert amount(1, "pair") == "1 pair"
    assert amount(2000, "pair") == "2,000 pairs"
    assert name_list(["a", "b", "c"]) == "a, b and c"
    assert places(0.0) == 2


def test_an_interval_without_0_ends_at_no_0() -> None:
    """Beside p .049 no end reads 0.00; an interval that holds 0 keeps its few digits."""
    assert interval(-0.2, -0.0004) == "−0.2000 to −0.0004"  # noqa: RUF001
    assert interval(-0.2, 0.0004) == "−0.20 to 0.00"  # noqa: RUF001
    assert clear_places(-0.1, -0.2, -0.0049) == 3
    assert clear_places(0.1, 0.0, 0.2) == 2


def test_sentences_begin_with_a_capital_and_end_once() -> None:
    """Whatever they are put together from."""
    assert sentence("whether words differs stays open") == "Whether words differs stays open."
    assert sentence("It is so.") == "It is so."


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (None, "cost unknown"),
        (0, "$0"),
        (1234.5, "$1,234.50"),
        (0.04123, "$0.0412"),
        (0.0001, "$0.0001"),
        (0.00008, "$0.000080"),
        (4.04e-05, "$0.000040"),
        (1.2e-07, "$0.00000012"),
        (1e-12, "under $0.000000001"),
    ],
)
def test_dollars_are_written_out(known: float | None, words: str) -> None:
    """Two digits of a small sum, and never an exponent."""
    assert dollars(known) == words
