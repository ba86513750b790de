"""Scoring stored runs again, or with new evaluators, without running them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from orglab.engine.run.desk import Desks
from orglab.engine.run.run import Unit
from orglab.engine.spec.build import build
from orglab.engine.spec.confine import FileRefused, confined_file, read_limited
from orglab.engine.spec.model import EvaluatorUse, Topology
from orglab.engine.spec.yaml_reader import read_bytes
from orglab.engine.study.judging import Judging
from orglab.engine.study.measure import Measurer
from orglab.evaluators.short_form import parse_use
from orglab.providers.registry import plugin_names
from orglab.results.reader import RunRow
from orglab.results.store import Store

__all__ = ["evaluate_again", "evaluators_of"]

JSON: TypeAlias = Any


def evaluators_of(path: Path) -> list[EvaluatorUse]:
    """The evaluators of a document: its ``evaluators``, or the document is the list itself.

    Raises:
        ValueError: It cannot be read, or names what is not installed; all faults.
    """
    try:
        document = read_bytes(read_limited(path), str(path))
    except FileRefused as refused:
        raise ValueError(f"{path}: {refused}") from refused
    if document.faults:
        raise ValueError("\n".join(str(fault) for fault in document.faults))
    data = document.data
    written = data.get("evaluators") if isinstance(data, dict) else data
    if not isinstance(written, list) or not written:
        raise ValueError(f"{path}: a list of evaluators is wanted, or a map with `evaluators`")
    uses = [parse_use(item) for item in written]
    unknown = sorted({use.name for use in uses} - set(plugin_names("orglab.evaluators")))
    if unknown:
        raise ValueError(f"{path}: no such evaluators: {', '.join(unknown)}")
    return [EvaluatorUse(use=use.name, arguments=use.arguments) for use in uses]


async def evaluate_again(
    store: Store,
    uses: Sequence[EvaluatorUse],
    *,
    folder: Path,
    anew: bool = False,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Measures every ended run with what has not measured it yet.

    Args:
        store: The study, open for writing.
        uses: The evaluators.
        folder: Where the files that evaluators name lie, and those of the units' inputs.
        anew: Measures again what was measured with the same arguments; judges' replies are kept
            and not asked for again.
        progress: Called with the number of runs measured so far.

    Returns:
        How many runs were looked at.

    Raises:
        StoreError: The store cannot be written.
    """
    again = _Again(store, uses, folder, anew)
    number = 0
    try:
        for row in list(store.runs()):
            if row.status == "running":
                continue
            await again.run(row)
            number += 1
            if progress is not None:
                progress(number)
    finally:
        await again.desks.aclose()
    return number


@dataclass
class _Again:
    store: Store
    uses: Sequence[EvaluatorUse]
    folder: Path
    anew: bool

    def __post_init__(self) -> None:
        self.desks = Desks()
        self._topologies: dict[str, Topology] = {}
        plans = self.store.rows("SELECT normal FROM specs WHERE kind='experiment'")
        self._shared = any('"share_prefix":true' in row["normal"] for row in plans)
        self._alone = not next(
            iter(self.store.rows("SELECT 1 FROM specs WHERE kind='experiment'")), None
        )

    async def run(self, row: RunRow) -> None:
        record = self.store.record(row.id)
        judging = Judging(
            topology=self._topology(row.spec),
            store=self.store,
            desks=self.desks,
            seed=row.seed,
            arm="" if self._shared or self._alone else row.arm,
        )
        unit = Unit(
            id=row.unit,
            inputs=record.inputs,
            extra=record.extra,
            files=self._files(judging.topology, record.inputs),
        )
        measurer = Measurer(judging, self.uses, anew=self.anew)
        await measurer.measure(row.id, unit, row.replicate, lambda: False)

    def _topology(self, spec: str) -> Topology:
        if spec not in self._topologies:
            normal = self.store.spec(spec)
            if normal is None:
                raise ValueError(f"the study does not hold its spec {spec[:8]}")
            self._topologies[spec] = build(normal, self.folder.resolve())
        return self._topologies[spec]

    def _files(self, topology: Topology, inputs: Mapping[str, JSON]) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for name, declared in topology.inputs.items():
            text = inputs.get(name)
            if declared.file and isinstance(text, str):
                try:
                    found[text] = confined_file(text, folder=self.folder, root=self.folder)
                except FileRefused:
                    continue  # the evaluator that needs it says so in its record
        return found
