"""Drawings of a compiled team."""

from __future__ import annotations

from typing import Literal

from orglab.engine.graph.draw.diagram import diagram_of
from orglab.engine.graph.draw.dot import dot_text
from orglab.engine.graph.draw.mermaid import mermaid_text
from orglab.engine.graph.draw.svg import svg_text
from orglab.engine.graph.node_link import graph_json
from orglab.engine.graph.team import Team

DrawingFormat = Literal["mermaid", "dot", "svg", "json"]
_WRITERS = {"mermaid": mermaid_text, "dot": dot_text, "svg": svg_text, "json": graph_json}


def draw(team: Team, format: DrawingFormat) -> str:  # noqa: A002 - the command line's word
    """Draw ``team``; no program of the system is needed.

    Forward links are solid, authority links dashed with their cap, closing links have a colour of
    their own and their cap.

    Raises:
        ValueError: There is no such format.
    """
    if format not in _WRITERS:
        raise ValueError(f"no format {format!r}; expected one of {', '.join(_WRITERS)}")
    return _WRITERS[format](diagram_of(team))
