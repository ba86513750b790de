"""Specs written on the spot, and their faults as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from orglab.engine.spec.load import Loaded, load

HEAD = "kind: topology\nversion: 1\n"
BODY = "models: {worker: {provider: simulated}}\n"

Load = Callable[..., Loaded]
Lines = Callable[..., list[str]]


@pytest.fixture
def load_spec(tmp_path: Path) -> Load:
    """Writes a spec (and other files) and loads it; the head and a model are put in front."""

    def write(
        text: str,
        *,
        files: Mapping[str, str] | None = None,
        head: str = HEAD + BODY,
        name: str = "spec.yaml",
        **options: Any,
    ) -> Loaded:
        for other, content in {**(files or {}), name: head + dedent(text)}.items():
            path = tmp_path / other
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        return load(tmp_path / name, shown_as=name, **options)

    return write


@pytest.fixture
def faults(load_spec: Load) -> Lines:
    """The faults of a spec, each as the line that is printed."""

    def lines(text: str, **options: Any) -> list[str]:
        return [str(fault) for fault in load_spec(text, **options).faults]

    return lines
