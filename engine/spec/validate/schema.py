"""The JSON Schemas of the spec language, as files that editors use too."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

from orglab.providers.base import JSON

KINDS: Final = ("topology", "experiment", "sweep")
"""Every kind of document that the language knows."""


def schema(kind: str) -> dict[str, JSON]:
    """Return the JSON Schema 2020-12 of documents of ``kind``.

    Raises:
        ValueError: The kind is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r}; there are: {', '.join(KINDS)}")
    text = files("orglab.engine.schemas").joinpath(f"{kind}.schema.json").read_text("utf-8")
    found: dict[str, JSON] = json.loads(text)
    return found


@cache
def _definitions() -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for kind in ("sweep", "experiment"):
        document = schema(kind)
        whole = {key: value for key, value in document.items() if not key.startswith("$")}
        found |= {**document["$defs"], kind: whole}
    found |= schema("topology")["$defs"]
    return found


def definition(name: str) -> dict[str, JSON]:
    """Return one definition of the schemas (``role``, ``forward``, ``experiment``, …); do not change it.

    Raises:
        KeyError: There is no such definition.
    """
    found: dict[str, JSON] = _definitions()[name]
    return found
