"""Hedges section: by class and by term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orglab.results.number_format import NOTHING, amount, name_list, number
from orglab.results.report.experiment.findings import ExperimentFindings, HedgeCounts
from orglab.results.report.render.blocks import (
    Block,
    FigureBlock,
    Fold,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.row_plots import grouped_bars

Arms = Mapping[str, HedgeCounts]


def hedges_section(findings: ExperimentFindings) -> Section | None:
    """Show what ``hedges`` counted in the measured outputs; None if it was not used."""
    if not findings.hedges:
        return None
    blocks: list[Block] = []
    for at, (arguments, arms) in enumerate(findings.hedges.items()):
        if len(findings.hedges) > 1:
            blocks.append(Paragraph(text=f"hedges {arguments}"))
        blocks += _hedge_blocks(
            f"hedges-{at + 1}", {arm: arms[arm] for arm in findings.plan.arms if arm in arms}
        )
    return Section(id="hedges", title="Hedges by class and term", blocks=blocks)


def _hedge_blocks(name: str, arms: Arms) -> list[Block]:
    counted = name_list(
        [(f"{arm}: {amount(found.classes.total(), 'hedge')} in {found.words:,} words of "
f"{amount(found.runs, 'output')}")
         for arm, found in arms.items()]
    )  # fmt: skip
    blocks: list[Block] = [
        Paragraph(text=f"{counted}. Rates are per 1,000 words, all words of an arm together.")
    ]
    classes = _by_frequency(arms, "classes")
    used = [each for each in classes if any(found.classes[each] for found in arms.values())]
    if not used:
        return blocks
    rows = [(each, _rates(arms, "classes", each)) for each in used]
    svg = grouped_bars(name, rows, axis="hedges per 1,000 words")
    unused = [each for each in classes if each not in used]
    caption = "Hedges by class." + (f" None of {name_list(unused, 'or')}." if unused else "")
    blocks.append(FigureBlock(name=name, svg=svg, caption=caption))
    blocks.append(_counts_table(arms, "class", "classes", used))
    blocks.append(
        Fold(
            title="By term",
            blocks=[_counts_table(arms, "term", "terms", _by_frequency(arms, "terms"))],
        )
    )
    return blocks


def _by_frequency(arms: Arms, kind: str) -> list[str]:
    """List names, most frequent first."""
    totals: dict[str, int] = {}
    for found in arms.values():
        for name, count in getattr(found, kind).items():
            totals[name] = totals.get(name, 0) + count
    return sorted(totals, key=lambda name: (-totals[name], name))


def _rates(arms: Arms, kind: str, name: str) -> dict[str, float]:
    return {arm: found.rate(getattr(found, kind)[name]) or 0.0 for arm, found in arms.items()}


def _counts_table(arms: Arms, title: str, kind: str, names: Sequence[str]) -> TableBlock:
    columns = TableColumn.texts(title)
    for arm in arms:
        columns += TableColumn.numbers(f"{arm}: count", f"{arm}: per 1,000 words")
    rows = []
    for name in names:
        cells = [name]
        for found in arms.values():
            rate = found.rate(getattr(found, kind)[name])
            cells += [
                f"{getattr(found, kind)[name]:,}",
                NOTHING if rate is None else number(rate, 2),
            ]
        rows.append(cells)
    return TableBlock(columns=columns, rows=rows)
