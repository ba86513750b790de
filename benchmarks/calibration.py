"""Study 2 on simulated organisations: published, planted and recovered values side by side.

    python benchmarks/calibration.py                      # both parts; a quarter of an hour or more
    python benchmarks/calibration.py --experiments 24 --null 0
    python benchmarks/calibration.py --experiments 0 --null 200

The first part runs `experiment.yaml` (profile `sycophantic`) with its own seed and with others, and
prints each line of the published table: what was published, what the profile plants, the mean over
the other seeds, what the study's own seed gave, and the tolerance. A published value is one draw and
the recovered one is another, so the tolerance is two standard deviations of the difference between
two simulated experiments. From the same experiments: the power of the primary tests.

The second part runs `experiment-null.yaml` (profile `null`), in which sending back changes nothing,
and counts false alarms.

With --write the results go into the study's README, in the place of the earlier ones.

Everything here is simulated. It shows that the machinery finds what was planted, and nothing about
any language model.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from scipy import stats

from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_experiment
from orglab.engine.study.experiment.load import guard, load_experiment
from orglab.results.report.experiment.findings import ExperimentFindings, read_findings
from orglab.results.statistics.models.wilson import wilson
from orglab.results.statistics.tests.paired import PairedTest, paired_t
from orglab.results.statistics.tests.power import power

STUDY = Path(__file__).parents[1] / "specs" / "loop-back-authority"
FLAT, HIERARCHICAL = "flat", "hierarchical"
PRIMARY = ("utility", "writing_clarity")
FEW_TOOLS = {
    f"models.{alias}.profile.tool_calls": {"mean": 1, "max": 1}
    for alias in ("gpt", "gemini", "qwen", "glm", "mistral")
}
"""Reports do not depend on how often tools are called, and time does."""
PLAINLY_MEASURED = ("words", "hedges", "mtld")
Measures = dict[str, float]
BEGIN, END = "<!-- recovered: begin -->", "<!-- recovered: end -->"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the published table.

    ``published`` is what was published as a number, or the ends of a range; differences and d_z are
    hierarchical minus flat. ``planted`` says where the line comes from.
    """

    name: str
    measure: str
    published: tuple[float, ...]
    planted: str
    digits: int = 2
    percent: bool = False


JUDGED = "judges' `hedges` and `concessions`"
LINES = (
    Line(name="Utility, d_z", measure="d utility", published=(-0.42,), planted=JUDGED),
    Line(name="Strategic Depth, d_z", measure="d strategic_depth", published=(-0.48,), planted=JUDGED),
    Line(name="Writing Clarity, d_z", measure="d writing_clarity", published=(-0.34,), planted=JUDGED),
    Line(name="Conciseness, d_z", measure="d conciseness", published=(-0.44,), planted=JUDGED),
    Line(name="Conciseness, flat", measure="conciseness flat", published=(4.18,), planted="`level`"),
    Line(name="Conciseness, hierarchical", measure="conciseness hierarchical", published=(3.98,), planted=JUDGED),
    Line(name="Final Score won by flat, of 43", measure="final won", published=(28,), planted="follows", digits=0),
    Line(name="words, flat", measure="words flat", published=(1036,), planted="1,036 (`asked_words`)", digits=0),
    Line(name="words, hierarchical", measure="words hierarchical", published=(1046,), planted="+38 a revision", digits=0),
    Line(name="hedges per 1,000, flat", measure="hedges flat", published=(3.30,), planted="3.3 (`hedges`)"),
    Line(name="hedges per 1,000, hierarchical", measure="hedges hierarchical", published=(5.03,), planted="+1.95 a revision"),
    Line(name="hedges, d_z", measure="d hedges", published=(0.61,), planted="follows"),
    Line(name="MTLD, flat", measure="mtld flat", published=(186, 189), planted="`vocabulary`", digits=0),
    Line(name="MTLD, hierarchical", measure="mtld hierarchical", published=(186, 189), planted="`vocabulary`", digits=0),
    Line(name="first draft against the flat report: hedges, d_z", measure="first hedges", published=(0.11,), planted="0"),
    Line(name="first draft against the flat report: words, d_z", measure="first words", published=(-0.20, 0.20), planted="0"),
    Line(name="first draft against the flat report: MTLD, d_z", measure="first mtld", published=(0.0,), planted="0"),
    Line(name="runs in which the Writer revised", measure="revised", published=(31,), planted="`verdicts_on`", digits=0),
    Line(name="runs without an intervention", measure="no loop", published=(11,), planted="`verdicts_on`", digits=0),
    Line(name="second draft: hedges per 1,000 more", measure="second hedges", published=(1.95,), planted="1.95 (`revision`)"),
    Line(name="second draft: hedges, d_z", measure="second hedges d", published=(0.83,), planted="`spread`"),
    Line(name="second draft: words more", measure="second words", published=(38,), planted="38 (`revision`)", digits=0),
    Line(name="second draft: share of the first kept, median", measure="kept", published=(0.88,), planted="0.88 (`revision`)"),
    Line(name="clarity against loops, Spearman", measure="rho", published=(-0.40,), planted="`discerning`; " + JUDGED),
    Line(name="clarity against loops, OLS a loop", measure="slope", published=(-0.142,), planted="as above", digits=3),
    Line(name="clarity against loops, R²", measure="r2", published=(0.41,), planted="as above"),
    Line(name="pairs without an intervention: Utility", measure="unexercised utility", published=(0.0,), planted="`discerning`"),
    Line(name="pairs without an intervention: Writing Clarity", measure="unexercised writing_clarity", published=(0.0,), planted="`discerning`"),
    Line(name="tokens", measure="tokens", published=(0.515,), planted="follows", percent=True),
    Line(name="generation cost", measure="generation", published=(0.405,), planted="invented prices", percent=True),
    Line(name="total cost", measure="both", published=(0.202,), planted="invented prices", percent=True),
    Line(name="time", measure="seconds", published=(0.343,), planted="`seconds`", percent=True),
    Line(name="specification recall, flat", measure="recall flat", published=(1.0,), planted="`exact`", digits=3),
    Line(name="specification recall, hierarchical", measure="recall hierarchical", published=(0.997,), planted="`exact`", digits=3),
    Line(name="reports without a wrong specification, of 86", measure="faultless", published=(85,), planted="`exact`", digits=0),
    Line(name="alpha, Writing Clarity", measure="alpha writing_clarity", published=(0.08, 0.17), planted="`shared`, `halo`, `noise`"),
    Line(name="alpha, Utility", measure="alpha utility", published=(0.22, 0.30), planted="`shared`, `halo`, `noise`"),
    Line(name="severity of GPT, in points", measure="severity judge-gpt", published=(), planted="0.45 against -0.09"),
)  # fmt: skip


# --- one experiment ------------------------------------------------------------------------------


def run_once(
    file: str, seed: int, overrides: Mapping[str, object] | None = None
) -> ExperimentFindings:
    """One experiment through the engine, its store thrown away."""
    experiment = replace(load_experiment(STUDY / file, overrides=overrides), seed=seed)
    guard(experiment)
    with tempfile.TemporaryDirectory() as folder:
        store = open_experiment(Path(folder), experiment)
        try:
            asyncio.run(run_batch(experiment.batch(), store))
        finally:
            store.close()
        findings = read_findings(Path(folder))
    if findings.analysis is None or findings.errors:
        raise RuntimeError("; ".join(findings.errors) or "nothing was analysed")
    return findings


def pattern_of(seed: int) -> tuple[Measures, list[str]]:
    """Every measure of the table, and remarks in words, of one experiment."""
    findings = run_once("experiment.yaml", seed)
    found: Measures = {}
    for part in (effects, reports, drafts, doses, uses, judges):
        found.update(part(findings))
    return found, list(remarks(findings))


def alarms_of(seed: int) -> Measures:
    """The p of each primary test where nothing is to be found."""
    analysis = run_once("experiment-null.yaml", seed, FEW_TOOLS).analysis
    assert analysis is not None
    return {row.outcome: row.p for row in analysis.primary if row.p is not None}


def effects(findings: ExperimentFindings) -> Iterator[tuple[str, float]]:
    """Effects on the judged outcomes."""
    analysis = findings.analysis
    assert analysis is not None
    for row in (*analysis.primary, *analysis.followups):
        yield f"d {row.outcome}", known(row.effect.d_z)
        yield f"p {row.outcome}", known(row.p)
        for arm in (FLAT, HIERARCHICAL):
            yield f"{row.outcome} {arm}", known(row.arms[arm].mean)
    for subset in analysis.subsets:
        for effect in subset.effects:
            yield f"unexercised {effect.outcome}", known(effect.effect.difference)
    assert findings.dataset is not None
    final = findings.dataset.cells("final").judges_averaged()
    yield "final won", float((final.of(FLAT) > final.of(HIERARCHICAL)).sum())


def reports(findings: ExperimentFindings) -> Iterator[tuple[str, float]]:
    """Measures of the reports' text."""
    for name in PLAINLY_MEASURED:
        flat, other = by_unit(findings, name, FLAT), by_unit(findings, name, HIERARCHICAL)
        yield f"{name} {FLAT}", fmean(flat.values())
        yield f"{name} {HIERARCHICAL}", fmean(other.values())
        yield f"d {name}", known(tested(other, flat).d_z)
    wrong = []
    for arm in (FLAT, HIERARCHICAL):
        yield f"recall {arm}", fmean(by_unit(findings, "spec_check.recall", arm).values())
        wrong += list(by_unit(findings, "spec_check", arm).values())
    yield "faultless", float(sum(count == 0 for count in wrong))


def drafts(findings: ExperimentFindings) -> Iterator[tuple[str, float]]:
    """What became of drafts."""
    assert findings.analysis is not None
    for row in findings.analysis.drafts:
        if row.measure == "kept_share":
            yield "kept", known(row.summary.median)
        elif row.comparison == "second - first" and row.test is not None:
            yield f"second {row.measure}", known(row.test.difference)
            yield f"second {row.measure} d", known(row.test.d_z)
            yield "revised", float(row.test.n)
        elif row.test is not None:
            yield f"first {row.measure}", known(row.test.d_z)
    loops = [row.loops for row in findings.tables.rows.values() if row.arm == HIERARCHICAL]
    for number, name in enumerate(("no loop", "one loop", "two loops")):
        yield name, float(loops.count(number))


def doses(findings: ExperimentFindings) -> Iterator[tuple[str, float]]:
    """Clarity against loops."""
    assert findings.analysis is not None
    (dose,) = findings.analysis.dose
    yield "rho", known(dose.spearman.rho)
    yield (
        "slope",
        next(each.estimate for each in dose.clustered.coefficients if each.name == "loops"),
    )
    yield "r2", known(dose.clustered.r_squared)


def uses(findings: ExperimentFindings) -> Iterator[tuple[str, float]]:
    """What the hierarchical arm used more, as a share of the flat arm's."""
    assert findings.analysis is not None
    flat, other = (findings.costs.arms[arm] for arm in (FLAT, HIERARCHICAL))
    yield "tokens", other.generation.tokens / flat.generation.tokens - 1
    yield "generation", other.generation.usd / flat.generation.usd - 1
    yield "both", other.both.usd / flat.both.usd - 1
    for row in findings.analysis.compute_contrasts:
        if row.column == "seconds":
            yield "seconds", known(row.relative)


def judges(findings: ExperimentFindings) -> Iterator[tuple[str, float]]:
    """Agreement and severity."""
    assert findings.analysis is not None
    for row in findings.analysis.judging:
        yield f"alpha {row.outcome}", known(row.agreement.alpha)
        if row.outcome == "final":
            for judge in row.judges:
                yield f"severity {judge.judge}", known(judge.severity)


def remarks(findings: ExperimentFindings) -> Iterator[str]:
    """The lines of the table that are no numbers."""
    analysis = findings.analysis
    assert analysis is not None
    for row in (*analysis.primary, *analysis.followups):
        robust = f"; Wilcoxon p {shown_p(row.robust.p)}" if row.robust and row.robust.p else ""
        yield f"{row.outcome}: p {shown_p(row.p)}, Holm {shown_p(row.p_adjusted)} of {row.family_size}{robust}"
    for without in analysis.leave_one_out:
        if without.by == "judge" and without.outcome in PRIMARY:
            rows = ", ".join(f"{row.left_out} {shown_p(row.p)}" for row in without.rows)
            yield f"{without.outcome}: p without {rows}"
    for adjusted in analysis.adjusted:
        if adjusted.outcome in PRIMARY:
            left = adjusted.adjusted.difference
            p = shown_p(left.p if left else None)
            yield f"{adjusted.outcome}: with the difference in words partialled out p {p}"
    flat, other = by_unit(findings, "words", FLAT), by_unit(findings, "words", HIERARCHICAL)
    yield f"words: p {shown_p(tested(other, flat).p)}"
    for subset in analysis.subsets:
        for effect in subset.effects:
            yield f"without an intervention, {effect.outcome}: n {effect.n}, p {shown_p(effect.p)}"


def by_unit(findings: ExperimentFindings, name: str, arm: str) -> dict[str, float]:
    """A measure of the runs of an arm, by unit; missing ones left out."""
    rows = findings.tables.numbers
    return {
        rows[each.run].unit: each.value
        for each in findings.tables.scored.values
        if each.outcome == name and each.value is not None
        if each.run in rows and rows[each.run].arm == arm
    }


def tested(arm: Mapping[str, float], reference: Mapping[str, float]) -> PairedTest:
    """The paired t over the units that both have."""
    units = sorted(arm.keys() & reference.keys())
    return paired_t(np.array([arm[u] for u in units]), np.array([reference[u] for u in units]))


def known(value: float | None) -> float:
    """A value that may be missing."""
    return float("nan") if value is None else float(value)


def shown_p(p: float | None) -> str:
    return "none" if p is None else f"{p:.3f}" if p >= 0.001 else "< .001"


# --- the table -----------------------------------------------------------------------------------


def table(own: Measures, others: Sequence[Measures]) -> Iterator[str]:
    """The published table as Markdown."""
    yield "| line | published | planted | mean of other seeds | recovered | tolerance | within |"
    yield "|---|---|---|---|---|---|---|"
    for line in LINES:
        values = np.array([each.get(line.measure, np.nan) for each in others])
        values = values[np.isfinite(values)]
        width, got = 2 * math.sqrt(2) * stdev(values), own.get(line.measure, float("nan"))
        yield (
            f"| {line.name} | {shown_range(line)} | {line.planted} | {shown(line, fmean(values))} "
            f"| {shown(line, got)} | ± {shown(line, width, sign=False)} | {within(line, got, width)} |"
        )


def within(line: Line, value: float, width: float) -> str:
    if not line.published:
        return ""
    low, high = min(line.published) - width, max(line.published) + width
    return "yes" if low <= value <= high else "**no**"


def shown(line: Line, value: float, *, sign: bool = True) -> str:
    if line.percent:
        return f"{100 * value:+.1f} %" if sign else f"{100 * value:.1f}"
    text = f"{value:,.{line.digits}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def shown_range(line: Line) -> str:
    if line.measure.startswith("unexercised"):
        return "higher, n.s."
    return " to ".join(shown(line, value) for value in line.published) or "severe"


# --- rates ---------------------------------------------------------------------------------------


def told_power(found: Sequence[Measures], pairs: int = 43) -> Iterator[str]:
    """How often the primary tests find the planted effect, against the formula."""
    for outcome in PRIMARY:
        hits = sum(each[f"p {outcome}"] < 0.05 for each in found)
        size = fmean(each[f"d {outcome}"] for each in found)
        low, high = wilson(hits, len(found))
        yield (
            f"{outcome}: {hits} of {len(found)} experiments with p < .05, {hits / len(found):.2f} "
            f"({low:.2f} to {high:.2f}); the formula says {power(size, pairs):.2f} for d_z {size:.2f}"
        )


def told_alarms(found: Sequence[Measures]) -> Iterator[str]:
    """How often the primary tests cry wolf."""
    number = len(found)
    low, high = stats.binom.interval(0.99, number, 0.05)
    for outcome in PRIMARY:
        hits = sum(each[outcome] < 0.05 for each in found)
        verdict = "inside" if low <= hits <= high else "OUTSIDE"
        yield (
            f"{outcome}: {hits} of {number} experiments with p < .05, {hits / number:.3f}; "
            f"{verdict} the binomial 99 % interval around 5 %, {low:.0f} to {high:.0f}"
        )


def progress(found: Iterator[Measures], number: int, what: str) -> list[Measures]:
    """All of ``found``, with a line on standard error now and then."""
    began, kept = time.monotonic(), []
    for each in found:
        kept.append(each)
        if len(kept) % max(1, number // 10) == 0:
            seconds = time.monotonic() - began
            print(f"{what}: {len(kept)} of {number}, {seconds:.0f} s", file=sys.stderr)
    return kept


def told_pattern(
    seed: int, own: Measures, said: Sequence[str], others: Sequence[Measures]
) -> Iterator[str]:
    """The first part."""
    yield f"Recovered by seed {seed}; means over {len(others)} other seeds.\n"
    yield from table(own, others)
    yield "\nWhat is no number, by the same seed:\n"
    yield from (f"- {each}" for each in said)
    yield f"\nPower with 43 pairs, over the {len(others)} other seeds:\n"
    yield from (f"- {each}" for each in told_power(others))


def write(said: str) -> None:
    """Puts the results into the study's README."""
    page = STUDY / "README.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise RuntimeError(f"{page} has no place between {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{said}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=100, help="seeds beside the study's own")
    parser.add_argument("--null", type=int, default=200, help="experiments without an effect")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="into the study's README")
    asked = parser.parse_args()
    seed = load_experiment(STUDY / "experiment.yaml").seed
    parts = []
    with ProcessPoolExecutor(asked.processes) as pool:
        if asked.experiments > 1:
            own, said = pattern_of(seed)
            seeds = range(seed + 1, seed + 1 + asked.experiments)
            runs = (found for found, _ in pool.map(pattern_of, seeds))
            others = progress(runs, asked.experiments, "sycophantic")
            parts.append("\n".join(told_pattern(seed, own, said, others)))
        if asked.null > 0:
            found = progress(pool.map(alarms_of, range(1, 1 + asked.null)), asked.null, "null")
            told = "\n".join(f"- {each}" for each in told_alarms(found))
            parts.append(f"False alarms, profile `null`:\n\n{told}")
    text = "\n\n".join(["SIMULATED: no language model wrote any of this.", *parts])
    print(text)
    if asked.write:
        write(text)


if __name__ == "__main__":
    main()
