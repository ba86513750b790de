"""Methods in words that a paper can take over: only what was done."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.results.number_format import (
    MINUS,
    amount,
    label,
    name_list,
    number,
    percent,
)
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import Block, Bullets, Paragraph, Section
from orglab.results.statistics.analysis import Analysis
from orglab.results.statistics.plan import AnalysisPlan

__all__ = ["methods_section"]


def methods_section(findings: ExperimentFindings) -> Section:
    """Describe design, measures, analysis and sources."""
    blocks: list[Block] = [Paragraph(text=" ".join(_design(findings)))]
    measures = " ".join(_measures(findings))
    if measures:
        blocks.append(Paragraph(text=measures))
    plan, analysis = findings.analysis_plan, findings.analysis
    if plan is not None and analysis is not None:
        blocks.append(Paragraph(text=" ".join(_analysis(plan, analysis))))
        blocks.append(Bullets(items=sorted(set(_sources(plan, analysis)))))
    blocks.append(Paragraph.note(_software(findings)))
    return Section(id="methods", title="Methods", blocks=blocks)


def _design(findings: ExperimentFindings) -> Iterator[str]:
    plan, progress = findings.plan.normal, findings.progress
    units, replicates = len(plan["units"]), plan["replicates"]
    arms = name_list(findings.plan.arms)
    times = "once" if replicates == 1 else f"{replicates} times"
    yield (
        f"Each of {amount(units, 'unit')} was to be run {times} under each of "
        f"{amount(len(findings.plan.arms), 'arm')} ({arms}): {amount(progress.planned, 'run')}, "
        f"of which {progress.statuses.get('completed', 0):,} completed."
    )
    for name, paths in plan["treatment"].items():
        yield f"The arms of {name.replace(' - ', f' {MINUS} ')} differed in {name_list(paths)}" + (
            " and, as was verified before the first call, in nothing else."
            if name in findings.comparisons
            else "."
        )
    models = [name for name in findings.tables.runs.columns if name.startswith("model.")]
    if models and any(findings.tables.runs[name].nunique() > 1 for name in models):
        yield "Models of roles were drawn for each unit by the seed, the same in every arm."
    yield f"The order of runs was interleaved over arms by the seed ({plan['seed']})."
    if plan["share_prefix"]:
        yield (
            "Identical calls were made once and shared until the arms of a pair diverged, "
            "so that each pair forks at the treatment."
        )
    else:
        yield "Arms shared no calls."
    if findings.simulated:
        who = (
            "All replies were"
            if findings.wholly_simulated
            else f"{findings.costs.simulated:,} of {findings.costs.answered:,} replies were"
        )
        yield f"{who} written by simulated models, not by language models."


def _measures(findings: ExperimentFindings) -> Iterator[str]:
    names = [name for each in findings.plan.normal["evaluators"] for name in each]
    if not names:
        return
    yield f"Runs were measured by {name_list([label(name) for name in dict.fromkeys(names)])}."
    judging = findings.analysis.judging if findings.analysis else ()
    if judging:
        judges = [each.judge for each in judging[0].judges]
        yield (
            f"{amount(len(judges), 'judge')} ({name_list(judges)}) each judged every report "
            "blind to its arm."
        )
        if findings.tables.scored.repeats > 1:
            yield f"Each gave up to {findings.tables.scored.repeats} verdicts, which were averaged."
    composites = findings.plan.normal["composites"]
    for name, parts in composites.items():
        yield (
            f"{label(name).capitalize()} is the mean of "
            f"{name_list([label(part) for part in parts])}; a missing part makes it missing."
        )


def _analysis(plan: AnalysisPlan, analysis: Analysis) -> Iterator[str]:
    if plan.primary:
        outcomes = name_list([label(name) for name in plan.primary])
        yield f"The primary outcomes, declared before the first run, were {outcomes}."
    rows = [*analysis.primary, *analysis.followups]
    yield (
        "Values were averaged within units over judges, then over replicates, and arms "
        "were compared within units; a judge or replicate that was missing under one "
        "arm was left out under the other too."
    )
    if any(row.test == "paired t" for row in rows):
        yield (
            "Differences were tested by two-sided paired t-tests, with "
            f"{percent(plan.level)} intervals; d_z is reported with intervals from the "
            "noncentral t distribution."
        )
    if any(row.rates for row in rows):
        yield (
            "Binary outcomes were compared within units by McNemar's test, exact with "
            "fewer than 25 discordant pairs, with Wilson intervals of rates."
        )
    sizes = {row.family: row.family_size for row in rows if row.family_size > 1}
    for name, size in sizes.items():
        yield (
            f"p-values were corrected by Holm's method over the {size} declared tests of "
            f"the {'primary family' if name == 'primary' else 'follow-ups'}."
        )
    yield from _checks(plan, analysis)
    gaps = any(side.missing.units for row in rows for side in row.arms.values())
    yield (
        "Missing values were never imputed: units without a value were left out and are counted."
        if gaps
        else "No unit was without a value."
    )


def _checks(plan: AnalysisPlan, analysis: Analysis) -> Iterator[str]:
    if any(row.robust for row in analysis.primary):
        zeros = {"wilcox": "dropped", "pratt": "ranked and then dropped", "zsplit": "split"}[
            plan.zeros
        ]
        yield (
            "Wilcoxon's signed-rank test of the same differences, rounded to 12 "
            f"significant digits, stands beside (differences of zero {zeros})."
        )
    if plan.equivalence:
        margin = plan.equivalence
        words = (
            f"d_z ±{number(margin.margin_dz)}"
            if margin.margin_dz is not None
            else f"±{number(margin.margin)}"
        )
        yield f"Equivalence was tested by two one-sided tests with a margin of {words}."
    if analysis.adjusted:
        yield (
            "Differences were regressed on the differences in "
            f"{name_list([label(name) for name in plan.covariates])}, centred at 0."
        )
    if analysis.leave_one_out:
        yield f"Effects were computed again without each {name_list(list(plan.leave_one_out))}."
    if analysis.mixed:
        yield (
            "As a check, linear mixed models were fitted by REML with units as random "
            "intercepts; p is from t with units less one degrees of freedom."
        )
    if analysis.dose:
        yield (
            "Dose-response was looked at by Spearman's correlation and by least squares "
            "with classical and with unit-clustered errors."
        )
    if analysis.judging:
        yield (
            "Agreement of judges is Krippendorff's alpha with a bootstrap interval over "
            f"units ({plan.resamples:,} resamples, seed {plan.seed})."
        )
    if analysis.subsets:
        yield "Subsets were chosen by what happened after the treatment, and are reported as such."
    if analysis.by:
        yield f"Effects by {name_list(list(plan.by))} are exploratory."


def _sources(plan: AnalysisPlan, analysis: Analysis) -> Iterator[str]:
    rows = [*analysis.primary, *analysis.followups]
    if any(row.test == "paired t" for row in rows):
        yield (
            "Lakens, D. (2013). Calculating and reporting effect sizes to facilitate "
            "cumulative science. Frontiers in Psychology, 4, 863."
        )
    if any(row.rates for row in rows):
        yield (
            "McNemar, Q. (1947). Note on the sampling error of the difference between "
            "correlated proportions or percentages. Psychometrika, 12, 153-157."
        )
        yield (
            "Wilson, E. B. (1927). Probable inference, the law of succession, and "
            "statistical inference. Journal of the American Statistical Association, 22, "
            "209-212."
        )
    if any(row.family_size > 1 for row in rows):
        yield (
            "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
            "Scandinavian Journal of Statistics, 6, 65-70."
        )
    if any(row.robust for row in rows):
        yield (
            "Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics "
            "Bulletin, 1, 80-83."
        )
    if plan.zeros == "pratt":
        yield (
            "Pratt, J. W. (1959). Remarks on zeros and ties in the Wilcoxon signed rank "
            "procedures. Journal of the American Statistical Association, 54, 655-667."
        )
    if plan.equivalence:
        yield (
            "Lakens, D. (2017). Equivalence tests. Social Psychological and Personality "
            "Science, 8, 355-362."
        )
    if analysis.adjusted:
        yield (
            "Judd, C. M., & Kenny, D. A. (2010). Data analysis in social psychology. In "
            "Handbook of Social Psychology (5th ed.)."
        )
    if analysis.mixed:
        yield (
            "Laird, N. M., & Ware, J. H. (1982). Random-effects models for longitudinal "
            "data. Biometrics, 38, 963-974."
        )
    if analysis.judging:
        yield "Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability."
    if any(each.measure == "mtld" for each in analysis.drafts):
        yield (
            "McCarthy, P. M., & Jarvis, S. (2010). MTLD, vocd-D, and HD-D. Behavior "
            "Research Methods, 42, 381-392."
        )


def _software(findings: ExperimentFindings) -> str:
    meta = findings.meta
    when = (
        f"Runs were made from {findings.progress.first} to {findings.progress.last or 'now'}"
        if findings.progress.first
        else "No run was begun"
    )
    return (
        f"{when}, with orglab {meta.get('orglab', '(unknown)')} on Python "
        f"{meta.get('python', '(unknown)')}; the frozen plan has the hash "
        f"{findings.plan.hash}."
    )
