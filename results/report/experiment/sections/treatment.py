"""Treatment section: differences of the arms in paths, prompts and drawings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.number_format import MINUS, amount
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import (
    Block,
    Changes,
    Drawing,
    Fold,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.word_diff import word_diff

_SHORT = 48
"""Longer values are not shown on the first screen."""


def treatment_lines(findings: ExperimentFindings) -> list[str]:
    """Describe what differs, one line a contrast."""
    lines = []
    for arm, other in findings.plan.contrasts:
        found = findings.comparisons.get(f"{arm} - {other}")
        if found is None:
            declared = findings.plan.normal["treatment"].get(f"{arm} - {other}", [])
            lines.append(f"{arm} against {other}: {', '.join(declared) or 'nothing'}")
            continue
        texts = [
            f"{each['path']} ({_side_text(each, 'left', _SHORT)} → {_side_text(each, 'right', _SHORT)})"
            for each in _tested(found)
        ]
        lines.append(f"{arm} against {other}: {'; '.join(texts) or 'nothing differs'}")
    return lines


def _tested(found: Mapping[str, JSON]) -> list[Mapping[str, JSON]]:
    return [each for each in found["differences"] if each["kind"] != "evaluation"]


def _side_text(difference: Mapping[str, JSON], side: str, most: int = 160) -> str:
    if side not in difference:
        return "absent"
    value = difference[side]
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= most else f"{len(text):,} characters"


def treatment_table(found: Mapping[str, JSON]) -> TableBlock:
    """Show every difference of two arms, side by side."""
    columns = TableColumn.texts("path", "kind", found["left"], found["right"])
    rows = [
        [each["path"], each["kind"], _side_text(each, "left"), _side_text(each, "right")]
        for each in _tested(found)
    ]
    return TableBlock(columns=columns, rows=rows)


def treatment_section(findings: ExperimentFindings) -> Section | None:
    """Show differences, drawings and prompts of every contrast; None if none was frozen."""
    blocks = [
        block
        for arm, other in findings.plan.contrasts
        if (found := findings.comparisons.get(f"{arm} - {other}")) is not None
        for block in _contrast_blocks(arm, other, found)
    ]
    return (
        Section(id="treatment", title="What the arms differ in", blocks=blocks) if blocks else None
    )


def _contrast_blocks(arm: str, other: str, found: Mapping[str, JSON]) -> Iterator[Block]:
    undeclared: Sequence[str] = found.get("undeclared") or ()
    words = f"{arm} {MINUS} {other}: {amount(len(_tested(found)), 'difference')}"
    tested = {each["path"] for each in _tested(found)}
    extra = [path for path in undeclared if path in tested]
    words += (
        f", of them undeclared: {', '.join(extra)}."
        if extra
        else ", all of them declared as the treatment."
    )
    yield Paragraph(text=words, kind="warning" if extra else "plain")
    yield treatment_table(found)
    for name, svg in (found.get("drawings") or {}).items():
        yield Drawing(title=name, svg=svg)
    prompts = found.get("prompts") or ()
    if prompts:
        title = f"Prompts that differ, for the unit {found['unit']} ({len(prompts)})"
        yield Fold(title=title, blocks=[_prompt_fold(each) for each in prompts])


def _prompt_fold(prompt: Mapping[str, JSON]) -> Fold:
    if not prompt["left"] or not prompt["right"]:
        side = "right" if prompt["right"] else "left"
        words = "under the arm alone" if side == "right" else "under the reference alone"
        return Fold(title=f"{prompt['title']}, {words}", blocks=[Paragraph(text=prompt[side])])
    pieces = word_diff(prompt["left"], prompt["right"], shorten=False)
    return Fold(title=prompt["title"], blocks=[Changes(pieces=pieces)])
