"""The models of a file, and what can be reported of each before it is asked anything.

Keys are read by providers and shown nowhere: only the variable that holds one is named.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from orglab.engine.graph.team import Team
from orglab.engine.spec.compose.model_entry import model_of_entry
from orglab.engine.spec.errors import Problem, SpecError, SpecIssue
from orglab.engine.spec.model import Model, Topology
from orglab.engine.spec.validate.path_confinement import FileRefused, read_limited
from orglab.engine.spec.yaml.reader import read_bytes
from orglab.engine.study.batch.preflight import judge_models
from orglab.engine.study.batch.study_folder import load_team
from orglab.engine.study.experiment.load import kind_of, load_experiment
from orglab.engine.study.plan.prices import Priced, priced
from orglab.engine.study.sweep.load import load_sweep
from orglab.providers.base import JSON, Provider
from orglab.providers.hosted.account import key_risk
from orglab.providers.registry import load_plugin
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import LimitRow, Reader

LONGEST_WAIT = 20.0
"""Seconds that a provider may take to tell whether it is reachable."""


class Key(NamedTuple):
    """The variable that holds a key, and whether it is set."""

    variable: str
    is_set: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelOverview:
    """What is known of a model.

    Attributes:
        model: The model; the alias of a judge begins with ``judge``.
        address: The server's address, or "" where none is asked or it is the provider's own secret.
        key: Its key's variable; None where it needs none or that is unknown.
        price: Its price.
        error: Why it cannot be asked, as text; "" where it can be tried.
        learnt: The last known limit of calls at once of its account, from a study; None: none.
        reachable: What its provider says of reaching it; None: not looked at.
    """

    model: Model
    address: str
    key: Key | None
    price: Priced
    issue: str = ""
    learnt: LimitRow | None = None
    reachable: str | None = None

    def limits(self) -> dict[str, float]:
        """Return the written limits."""
        names = ("requests_per_minute", "tokens_per_minute", "max_concurrency", "timeout_seconds")
        found = {name: getattr(self.model, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        learnt = self.learnt
        return {
            "alias": self.model.alias,
            "provider": self.model.provider,
            "model": self.model.model,
            "params": dict(self.model.params),
            "address": self.address or None,
            "key": self.key._asdict() if self.key else None,
            "price": self.price.as_json(),
            "limits": self.limits(),
            "learnt_limit": {"calls_at_once": learnt.limit, "at": learnt.at} if learnt else None,
            "fault": self.issue or None,
            "reachable": self.reachable,
        }


# --- the models of a file ------------------------------------------------------------------------


def models_of_file(path: Path, *, trust: bool = False) -> list[Model]:
    """Return the models of a catalogue, team, experiment or sweep, judges included, each once.

    Raises:
        SpecError: The file has errors; all of them.
    """
    catalogue = _catalogue(path)
    if catalogue is not None:
        return catalogue
    found: dict[str, Model] = {}
    for team in _teams(path, trust):
        for model in [*_of_topology(team.topology), *judge_models(team)]:
            found.setdefault(repr(model), model)
    return list(found.values())


def _teams(path: Path, trust: bool) -> Sequence[Team]:
    kind = kind_of(path)
    if kind == "experiment":
        return list(load_experiment(path, trust=trust).arms.values())
    if kind == "sweep":
        return [arm.team for arm in load_sweep(path, trust=trust).batch_arms()]
    return [load_team(path, trust=trust)]


def _of_topology(topology: Topology) -> list[Model]:
    inner = [role.team for role in topology.roles.values() if role.team is not None]
    return [*topology.models.values(), *(model for team in inner for model in _of_topology(team))]


def is_catalogue(path: Path) -> bool:
    """Return whether a file is a map of models alone, bare or under ``models``."""
    return _entries(path) is not None


def _entries(path: Path) -> Mapping[str, JSON] | None:
    try:
        document = read_bytes(read_limited(path), str(path))
    except FileRefused:
        return None  # who loads it tells why
    data = document.data
    if not document.whole or not isinstance(data, dict) or "kind" in data:
        return None
    entries = data.get("models") if list(data) == ["models"] else data
    if not isinstance(entries, dict) or not entries or not all(map(_is_entry, entries.values())):
        return None
    if document.issues:
        raise SpecError(document.issues)
    return entries


def _catalogue(path: Path) -> list[Model] | None:
    """Return the models of a catalogue; None where the file is none."""
    entries = _entries(path)
    if entries is None:
        return None
    found, issues = list[Model](), list[SpecIssue]()
    for alias, entry in entries.items():
        try:
            found.append(model_of_entry(entry, path.parent, alias, trust=True))
        except ValueError as wrong:
            problem = Problem(path=(alias,), wrong=str(wrong))
            issues.append(SpecIssue(file=str(path), line=0, column=0, problem=problem))
    if issues:
        raise SpecError(issues)
    return found


def _is_entry(entry: JSON) -> bool:
    return isinstance(entry, Mapping) and "provider" in entry


# --- what is reported --------------------------------------------------------------------------------


def overviews_of(models: Iterable[Model], studies: Iterable[Path] = ()) -> list[ModelOverview]:
    """Return what is known of models; nothing is asked.

    Args:
        models: The models.
        studies: Files of studies in which limits of accounts were learnt.
    """
    learnt = _learnt(studies)
    return [_overview_of(model, learnt) for model in models]


def _overview_of(model: Model, learnt: Mapping[str, LimitRow]) -> ModelOverview:
    account, issue = None, ""
    try:
        account = _made(model).account()
    except (KeyError, ImportError, AttributeError):
        issue = f"no provider `{model.provider}` can be loaded"
    except ValueError as wrong:
        issue = str(wrong)
    address, _, variable = (account or "").partition(" ")
    written = model.options.get("api_key_env")
    name = str(written) if written else variable if variable.isidentifier() else ""
    return ModelOverview(
        model=model,
        address=address or str(model.options.get("base_url", "")),
        key=Key(name, bool(os.environ.get(name))) if name else None,
        price=priced(model),
        issue=issue,
        learnt=learnt.get(account or ""),
    )


def _made(model: Model) -> Provider:
    kind: type[Provider] = load_plugin("orglab.providers", model.provider)
    return kind.from_spec(model.model, model.options)


def _learnt(studies: Iterable[Path]) -> dict[str, LimitRow]:
    """Return the last limit of each account."""
    found: dict[str, LimitRow] = {}
    for study in studies:
        try:
            with Reader(study) as reader:
                rows = reader.limit_changes()
        except StoreError:
            continue
        for row in rows:
            if row.account not in found or found[row.account].at <= row.at:
                found[row.account] = row
    return found


async def with_reachability(models: Sequence[ModelOverview], *, trust: bool) -> list[ModelOverview]:
    """Return the same, with what each provider says of reaching its model; at no cost.

    Args:
        models: The models.
        trust: The user wrote them, or trusts who did: keys may go where they say.
    """
    return list(await asyncio.gather(*(_with_reachability(each, trust) for each in models)))


async def _with_reachability(known: ModelOverview, trust: bool) -> ModelOverview:
    if known.issue:
        return known
    if not trust and (risk := key_risk(known.model.options)) is not None:
        return replace(known, reachable=f"not asked: {risk}")
    provider = _made(known.model)
    try:
        async with asyncio.timeout(LONGEST_WAIT):
            answer = await provider.reachable(known.model.model)
    except TimeoutError:
        answer = f"no answer within {LONGEST_WAIT:g} seconds"
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its text may hold a key
        answer = f"an error of the provider: {type(error).__name__}"
    finally:
        await provider.aclose()
    return replace(known, reachable=answer)
