"""Transcript pages: every arm of one unit side by side, drafts compared word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pandas as pd

from orglab.providers.base import JSON
from orglab.results.number_format import amount, duration, label, money, number
from orglab.results.records import Event, Output
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.pages import page
from orglab.results.store.journal.history import answering, outputs_of
from orglab.results.store.reader import RUN_FIGURES, Reader, RunRow
from orglab.results.word_diff import Piece, word_diff

_LIKE = 0.3
"""A draft that keeps less of the previous words is shown without marks first."""
_FATES = {
    "sent back": "sent back",
    "rejected": "rejected: withdrawn from everyone's sight",
    "lapsed": "lapsed: something upstream began anew",
    "posted": "not delivered: the run ended",
}


@dataclass(frozen=True, kw_only=True)
class TranscriptStep:
    """One thing that happened.

    Attributes:
        kind: ``output``, ``verdict`` or ``other``.
        who: Who spoke.
        about: What it is, in words.
        text: What was said.
        pieces: The text against the draft before it, word by word; () where there is none.
        rewritten: Little of the draft before was kept, so that the text itself is shown first.
        answer: It is the run's answer.
    """

    kind: str
    who: str
    about: str
    text: str = ""
    pieces: Sequence[Piece] = ()
    rewritten: bool = False
    answer: bool = False


@dataclass(frozen=True, kw_only=True)
class RunColumn:
    """One run in a column."""

    arm: str
    status: str
    facts: str
    models: str
    scores: Sequence[tuple[str, str]]
    steps: Sequence[TranscriptStep]


def file_names(units: Sequence[str]) -> dict[str, str]:
    """Return a portable file name for each unit; no two are alike."""
    taken: set[str] = set()
    names = {}
    for unit in units:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", unit)[:80].strip("_") or "unit"
        name, number_ = stem, 1
        while name.lower() in taken:
            number_ += 1
            name = f"{stem}-{number_}"
        taken.add(name.lower())
        names[unit] = f"{name}.html"
    return names


def transcript_pages(
    reader: Reader, findings: ExperimentFindings
) -> Iterator[tuple[str, str, str]]:
    """Yield the pages of all units with a run: unit, file name, HTML."""
    plan, rows = findings.plan, findings.tables.rows
    units = [str(unit) for unit in plan.normal["units"]]
    scores = _scores(findings)
    for unit, name in file_names(units).items():
        replicates = []
        for replicate in range(plan.normal["replicates"]):
            own = [rows[key] for arm in plan.arms if (key := (arm, unit, replicate)) in rows]
            if own:
                columns = [
                    run_column(row, reader.events(row.run), scores.get(row.run, ())) for row in own
                ]
                replicates.append((replicate, columns))
        if replicates:
            yield unit, name, _unit_page(findings, unit, replicates)


def _unit_page(
    findings: ExperimentFindings, unit: str, replicates: Sequence[tuple[int, Sequence[RunColumn]]]
) -> str:
    return page(
        "transcript.html.j2",
        name=findings.plan.normal["name"],
        unit=unit,
        facts=_unit_facts(findings, unit),
        replicates=replicates,
        simulated=findings.simulated,
    )


def _unit_facts(findings: ExperimentFindings, unit: str) -> list[tuple[str, str]]:
    """Return the unit's columns, as the table of runs has them."""
    runs = findings.tables.runs
    own = runs[runs["unit"] == unit].to_dict("records")
    facts: dict[str, str] = {}
    for row in own:
        for key, value in row.items():
            name = str(key)
            hidden = name in RUN_FIGURES or name.startswith("model.")
            if not hidden and not pd.isna(value):
                facts.setdefault(name, str(value))
    return list(facts.items())


def _scores(findings: ExperimentFindings) -> dict[int, list[tuple[str, str]]]:
    """Return the scores of each run that the analysis names, composites' parts among them."""
    plan = findings.analysis_plan
    if plan is None:
        return {}
    wanted = list(dict.fromkeys([*plan.composite_parts, *plan.outcomes, *plan.covariates]))
    scores = findings.tables.scores
    scores = scores[scores["outcome"].isin(wanted) & scores["value"].notna()]
    means = scores.groupby(["arm", "unit", "replicate", "outcome"])["value"].mean()
    found: dict[int, list[tuple[str, str]]] = {}
    for key, value in means.items():
        arm, unit, replicate, outcome = cast("tuple[str, str, int, str]", key)
        row = findings.tables.rows[arm, unit, replicate]
        found.setdefault(row.run, []).append((label(outcome), number(float(value))))
    return found


# --- one run --------------------------------------------------------------------------------------


def run_column(
    row: RunRow, events: Sequence[Event], scores: Sequence[tuple[str, str]] = ()
) -> RunColumn:
    """Lay out a run from its events."""
    outputs = {output.id: output for output in outputs_of(events)}
    answers = {output.id for output in answering(row.answer, outputs.values())}
    started = next((event.body for event in events if event.kind == "started"), {})
    models = started.get("models") or {}
    return RunColumn(
        arm=row.arm,
        status=_status_text(row),
        facts=_facts_text(row),
        models=", ".join(f"{copy}: {name}" for copy, name in models.items()),
        scores=scores,
        steps=list(_steps(events, outputs, answers)),
    )


def _status_text(row: RunRow) -> str:
    if row.status == "running":
        return "not ended"
    return f"{row.status}: {row.reason}" if row.reason else row.status


def _facts_text(row: RunRow) -> str:
    if row.status == "running":
        return "no figures before it ends"
    facts = [
        amount(row.turns, "turn"),
        amount(row.loops, "loop"),
        amount(row.tool_calls, "tool call"),
        f"{row.tokens_input + row.tokens_output:,} tokens",
        money(row.cost_usd) if row.cost_usd is not None else "cost unknown",
        duration(row.seconds) if row.seconds is not None else "seconds unknown",
    ]
    return ", ".join([*facts, *(["SIMULATED"] if row.simulated else [])])


def _steps(
    events: Sequence[Event], outputs: Mapping[str, Output], answers: set[str]
) -> Iterator[TranscriptStep]:
    before: dict[str, Output] = {}
    for event in events:
        body = event.body
        if event.kind == "output":
            output = outputs[body["id"]]
            yield _output_step(output, before.get(output.copy), output.id in answers)
            before[output.copy] = output
        elif event.kind == "verdict":
            yield _verdict_step(body)
        elif texts := _OTHERS.get(event.kind):
            yield TranscriptStep(kind="other", who=_speaker(body), about=texts, text=_reason(body))


_OTHERS = {
    "turn_failed": "turn failed",
    "unreviewed": "review failed: the output went on without it",
    "skipped": "skipped",
    "cap_used_up": "the cap is used up",
}


def _speaker(body: Mapping[str, JSON]) -> str:
    return str(body.get("copy") or body.get("output") or body.get("link") or "")


def _reason(body: Mapping[str, JSON]) -> str:
    error = body.get("error")
    if isinstance(error, Mapping):
        return f"{error.get('kind', '')}: {error.get('message', '')}"
    return str(error or body.get("why") or "")


def _output_step(output: Output, before: Output | None, answer: bool) -> TranscriptStep:
    about = [f"turn {output.visit}"]
    about += [_FATES[output.fate]] if output.fate in _FATES else []
    about += ["delivered against an objection, the cap being used up"] if output.forced else []
    about += ["not reviewed: the review failed"] if output.unreviewed else []
    about += ["the answer"] if answer else []
    pieces = word_diff(before.text, output.text, shorten=False) if before is not None else []
    if before is not None:
        about.append(f"against {before.id}, word by word")
    return TranscriptStep(
        kind="output",
        who=output.copy,
        about=", ".join(about),
        text=output.text,
        pieces=pieces,
        rewritten=_is_rewritten(pieces),
        answer=answer,
    )


def _is_rewritten(pieces: Sequence[Piece]) -> bool:
    """Check whether little of the text before was kept."""
    kept, dropped = (
        sum(len(each.text.split()) for each in pieces if each.kind == kind)
        for kind in ("same", "left")
    )
    return kept < _LIKE * (kept + dropped)


def _verdict_step(body: Mapping[str, JSON]) -> TranscriptStep:
    about = [f"{body['action']} {body['output']}"]
    about += [f"by {body['by']}"] if body["by"] != "judgement" else []
    if body.get("obliged"):
        about.append(
            f"{body.get('target') or body['copy']} must act ({body.get('used')} of "
            f"{body.get('cap')})"
        )
    about += ["objected with the cap used up"] if body.get("forced") else []
    words = [str(body.get("reason") or ""), str(body.get("suggestion") or "")]
    return TranscriptStep(
        kind="verdict",
        who=str(body["superior"]),
        about=", ".join(about),
        text="\n\n".join(part for part in words if part),
    )
