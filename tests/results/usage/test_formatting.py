"""Figures in words."""

from __future__ import annotations

import pytest

from orglab.results.usage.formatting import dollars


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
