"""Where the vectors of the study under way are kept."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

__all__ = ["vectors_file"]

vectors_file: ContextVar[Path | None] = ContextVar("vectors_file", default=None)
"""A DuckDB file; None: vectors are kept in memory alone."""
