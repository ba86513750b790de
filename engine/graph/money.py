"""Checks of a money limit: can what a call may cost be told before it is made?"""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.naming import Blame, choices
from orglab.engine.spec.fault import Problem
from orglab.engine.spec.model import Model, Topology
from orglab.providers.registry import load_plugin

__all__ = ["money_problems"]


def money_problems(topology: Topology, blame: Blame) -> Iterator[Problem]:
    """Hosted models in use under ``limits.cost_usd`` whose calls have no largest cost."""
    if topology.limits.cost_usd is None:
        return
    used = _used(topology)
    for alias, model in topology.models.items():
        if alias not in used or blame.touches("models", alias):
            continue
        lacking = [] if _is_free(model) else _lacking(model)
        if lacking:
            yield Problem(
                path=("models", alias),
                wrong=f"`limits.cost_usd` needs to know what a call of `{alias}` may cost, and it "
                f"has no {' and no '.join(f'`{name}`' for name in lacking)}",
                expected="US dollars per million tokens for `input` and `output`, and the most "
                "tokens that a reply may have",
                cure=f"add {choices(lacking).replace(' or ', ' and ')} to `{alias}`, or remove "
                "`limits.cost_usd`",
                at_key=True,
            )


def _used(topology: Topology) -> frozenset[str]:
    models = {role.model for role in topology.roles.values() if role.model is not None}
    for role in topology.roles.values():
        pool = topology.pools.get(role.pool or "")
        models.update(pool.members if pool else ())
    return frozenset(models)


def _is_free(model: Model) -> bool:
    """Whether no one bills the model; also where its provider is not there to be asked."""
    try:
        return bool(load_plugin("orglab.providers", model.provider).free)
    except (KeyError, ImportError, AttributeError):
        return True  # the loader tells that the provider is unknown


def _lacking(model: Model) -> list[str]:
    price = model.price
    lacking = []
    if price is None or price.input is None or price.output is None:
        lacking.append("price")
    if model.params.get("max_output_tokens") is None:
        lacking.append("params.max_output_tokens")
    return lacking
