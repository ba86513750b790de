"""What every report shows, whatever it is of: banners, the answer, leads, facts, sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from orglab.results.number_format import amount
from orglab.results.report.experiment.costs import Costs
from orglab.results.report.render.blocks import Section

__all__ = ["Banner", "Lead", "Page", "simulation_banner"]


class Banner(NamedTuple):
    """Something that must be seen before anything else."""

    title: str
    text: str


def simulation_banner(costs: Costs) -> Banner | None:
    """That no language model wrote the replies, or some of them; None where one wrote all."""
    if not costs.simulated:
        return None
    if costs.simulated == costs.answered:
        words = (
            "No language model wrote these replies or verdicts. The figures measure nothing but "
        )
        return Banner("SIMULATED", f"{words}the simulation.")
    words = (
        f"{costs.simulated:,} of {amount(costs.answered, 'reply', 'replies')} "
        f"{'was' if costs.simulated == 1 else 'were'} written by no language "
        f"model ({costs.simulated_judging:,} of them verdicts of judges)."
    )
    return Banner("PARTLY SIMULATED", words)


class Lead(NamedTuple):
    """Lines under a heading of the first screen.

    Attributes:
        title: The heading.
        lines: The lines; the first few are shown at once.
        kind: ``decision`` stands out.
    """

    title: str
    lines: Sequence[str]
    kind: str = ""


class Page(Protocol):
    """What HTML and Markdown show of a report."""

    @property
    def name(self) -> str:
        """The study's name."""

    @property
    def question(self) -> str:
        """What it asks, or "" where it does not say."""

    @property
    def heading(self) -> str:
        """The question, or what stands in its place."""

    @property
    def banners(self) -> Sequence[Banner]:
        """What must be seen first: simulated, unfinished, changed."""

    @property
    def answer(self) -> str:
        """The answer in one sentence."""

    @property
    def leads(self) -> Sequence[Lead]:
        """Lines beside the answer."""

    @property
    def facts(self) -> Sequence[tuple[str, str]]:
        """Name and value of what stands beside the answer."""

    @property
    def sections(self) -> Sequence[Section]:
        """Everything else."""
