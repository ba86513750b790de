"""The analysis plan of an experiment (``analysis``), as the statistics read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, TypeVar, get_args

from orglab.providers.base import JSON
from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.tests.wilcoxon import Zeros

Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """``arm`` minus ``reference``."""

    arm: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class FollowupsPlan:
    """Further outcomes: a family of their own (``holm``), or uncorrected (``none``)."""

    outcomes: tuple[str, ...]
    correct: Literal["holm", "none"] = "holm"


@dataclass(frozen=True, kw_only=True)
class MixedPlan:
    """A mixed model of one outcome, with units as random intercepts."""

    outcome: str
    random: Literal["unit"] = "unit"


@dataclass(frozen=True, kw_only=True)
class DosePlan:
    """Dose-response of ``outcome`` on ``dose`` within an arm.

    ``randomised``: the dose was drawn by chance (a seeded coin), not chosen by a role, so that the
    slope is causal.
    """

    outcome: str
    dose: str
    within: str
    covariates: tuple[str, ...] = ()
    randomised: bool = False


@dataclass(frozen=True, kw_only=True)
class DraftsPlan:
    """Second draft of a role against its first; first draft against the report of arm ``against``."""

    role: str
    measures: tuple[str, ...]
    against: str | None = None


@dataclass(frozen=True, kw_only=True)
class SubsetPlan:
    """Units whose runs under ``arm`` meet ``where``."""

    arm: str
    where: str


@dataclass(frozen=True, kw_only=True)
class EquivalencePlan:
    """The margin of equivalence: in d_z, or in the outcome's units."""

    margin_dz: float | None = None
    margin: float | None = None


@dataclass(frozen=True, kw_only=True)
class AnalysisPlan:
    """The whole plan: the fields of an experiment's ``analysis``, and how it is computed.

    Attributes:
        contrasts: Arms compared, arm minus reference.
        primary: Outcomes of the primary family; with all contrasts they are one Holm family.
        composites: Means of other outcomes.
        followups: Further outcomes.
        robust: Wilcoxon beside every t, or None.
        zeros: What Wilcoxon does with differences of zero.
        covariates: Outcomes or run columns partialled out, one by one and together.
        leave_one_out: ``judge``, ``unit``.
        mixed: Mixed models.
        dose: Dose-responses.
        drafts: Comparisons of drafts.
        subsets: Subsets, by name.
        equivalence: Margins.
        by: Columns by whose values the effect is split.
        bounds: Lowest and highest possible value by outcome, for the worst case of what is missing.
        seed: Seed of the bootstrap.
        resamples: Resamples of the bootstrap.
        level: Confidence of intervals.
        alpha: Level of tests.
    """

    contrasts: tuple[Contrast, ...]
    primary: tuple[str, ...]
    composites: Mapping[str, Sequence[str]] = field(default_factory=dict)
    followups: FollowupsPlan | None = None
    robust: Literal["wilcoxon"] | None = "wilcoxon"
    zeros: Zeros = "wilcox"
    covariates: tuple[str, ...] = ()
    leave_one_out: tuple[Literal["judge", "unit"], ...] = ()
    mixed: tuple[MixedPlan, ...] = ()
    dose: tuple[DosePlan, ...] = ()
    drafts: tuple[DraftsPlan, ...] = ()
    subsets: Mapping[str, SubsetPlan] = field(default_factory=dict)
    equivalence: EquivalencePlan | None = None
    by: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    seed: int = 0
    resamples: int = 1000
    level: float = 0.95
    alpha: float = 0.05

    @property
    def composite_parts(self) -> list[str]:
        """Parts of all composites."""
        return [part for parts in self.composites.values() for part in parts]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of the headline rows, each once."""
        more = self.followups.outcomes if self.followups else ()
        return tuple(dict.fromkeys((*self.primary, *more)))


def plan_of(
    analysis: Mapping[str, JSON], composites: Mapping[str, Sequence[str]] | None = None
) -> AnalysisPlan:
    """Read the ``analysis`` block of an experiment (its normal form: plain data).

    Where one thing is asked for (``mixed``, ``dose``, ``drafts``, ``by``, …) a list of them is allowed too.

    Raises:
        PlanError: A key is unknown or missing, or a value is none of those allowed.
    """
    known = dict(analysis)
    _check_keys(AnalysisPlan, known, "analysis")
    plan: dict[str, JSON] = {name: known[name] for name in _PLAIN if name in known}
    plan |= {name: _name_tuple(known.get(name)) for name in ("covariates", "leave_one_out", "by")}
    plan["contrasts"] = tuple(_contrast(pair) for pair in known.get("contrasts") or ())
    plan["primary"] = _name_tuple(known.get("primary"))
    for name, kind in _LISTS.items():
        plan[name] = tuple(_plan_part(kind, part, name) for part in listed(known.get(name)))
    for name, one in _PARTS.items():
        found = known.get(name)
        plan[name] = None if found is None else _plan_part(one, found, name)
    plan["subsets"] = {
        name: _plan_part(SubsetPlan, part, f"subsets.{name}")
        for name, part in (known.get("subsets") or {}).items()
    }
    plan["bounds"] = {
        name: (low, high) for name, (low, high) in (known.get("bounds") or {}).items()
    }
    plan["composites"] = dict(composites or known.get("composites") or {})
    made = AnalysisPlan(**plan)
    _check_plan(made)
    return made


_PLAIN = ("robust", "zeros", "seed", "resamples", "level", "alpha")
_LISTS: Mapping[str, type] = {"mixed": MixedPlan, "dose": DosePlan, "drafts": DraftsPlan}
_PARTS: Mapping[str, type] = {"followups": FollowupsPlan, "equivalence": EquivalencePlan}


def _check_plan(plan: AnalysisPlan) -> None:
    if not plan.contrasts or not plan.primary:
        raise PlanError("analysis: contrasts and primary name one thing at least")
    _check_allowed("robust", plan.robust, ("wilcoxon", None))
    _check_allowed("zeros", plan.zeros, get_args(Zeros))
    for name in plan.leave_one_out:
        _check_allowed("leave_one_out", name, ("judge", "unit"))
    if plan.followups:
        _check_allowed("followups.correct", plan.followups.correct, ("holm", "none"))
    for outcome, (low, high) in plan.bounds.items():
        if not low < high:
            raise PlanError(f"analysis.bounds.{outcome}: {low} is not below {high}")
    for part in plan.mixed:
        _check_allowed("mixed.random", part.random, ("unit",))
    margins = plan.equivalence
    if margins and (margins.margin is None) == (margins.margin_dz is None):
        raise PlanError("analysis.equivalence: give margin_dz or margin")


def _check_allowed(name: str, value: JSON, allowed: Sequence[JSON]) -> None:
    if value not in allowed:
        texts = ", ".join(str(one) for one in allowed)
        raise PlanError(f"analysis.{name}: {value!r} is not one of {texts}")


def _contrast(pair: JSON) -> Contrast:
    if isinstance(pair, str) or len(pair) != 2:
        raise PlanError(f"analysis.contrasts: {pair!r} is no pair [arm, reference]")
    return Contrast(arm=pair[0], reference=pair[1])


def _check_keys(kind: type, given: Mapping[str, JSON], where: str) -> None:
    allowed = [part.name for part in fields(kind)]
    unknown = [name for name in given if name not in allowed]
    if unknown:
        raise PlanError(f"{where}: unknown {', '.join(unknown)}; there are {', '.join(allowed)}")


def _plan_part(kind: type[Part], given: Mapping[str, JSON], where: str) -> Part:
    _check_keys(kind, given, f"analysis.{where}")
    try:
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})
    except TypeError as error:
        raise PlanError(f"analysis.{where}: {error}") from None


def _name_tuple(value: JSON) -> tuple[str, ...]:
    return tuple(listed(value))


def listed(value: JSON) -> Sequence[JSON]:
    """Return a list as it is, one value as a list of it, and nothing as an empty list."""
    if value is None:
        return ()
    return list(value) if isinstance(value, list | tuple) else [value]
