"""Checks of a money limit: can what a call may cost be reported before it is made?"""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.spec.errors import Problem
from orglab.engine.spec.messages import ErrorIndex
from orglab.engine.spec.model import Model, Role, Topology
from orglab.providers.pricing.genai_prices import DatedPrice, default_price
from orglab.providers.pricing.pricing import TokenPrice
from orglab.providers.registry import load_plugin


def money_problems(topology: Topology, errors: ErrorIndex) -> Iterator[Problem]:
    """Yield models in use under ``limits.cost_usd`` that bill and whose calls have no largest cost."""
    if topology.limits.cost_usd is None:
        return
    roles = roles_by_model(topology)
    for alias, model in topology.models.items():
        if alias not in roles or errors.touches("models", alias):
            continue
        if missing := lacking(model, roles[alias]):
            yield Problem(
                path=("models", alias),
                wrong=f"`limits.cost_usd` needs to know what a call of `{alias}` may cost, and it "
                f"has no {' and no '.join(f'`{name}`' for name in missing)}",
                expected="US dollars per million tokens for `input` and `output`, and the most "
                "tokens that a reply may have",
                hint=_hint(alias, model, missing, roles[alias]),
                at_key=True,
            )


def _hint(alias: str, model: Model, missing: list[str], roles: list[Role]) -> str:
    words = f"add {' and '.join(f'`{name}`' for name in missing)} to `{alias}`"
    if "params.max_output_tokens" in missing:
        bare = [role.name for role in roles if role.limits.output_tokens is None]
        words += f" (or `limits.output_tokens` to {', '.join(f'`{name}`' for name in bare)})"
    if "price" in missing and model.price is None and model.model:
        words += f"; no published price of `{model.model}` there is known"
    return f"{words}; or remove `limits.cost_usd`"


def unbounded_models(topology: Topology) -> list[str]:
    """Return aliases of models in use that bill and of which a call has no largest cost.

    Under a limit of the whole study the models of judges count too:
    ``orglab.engine.study.batch.preflight.unbounded_judges``.
    """
    roles = roles_by_model(topology)
    return [alias for alias, uses in roles.items() if lacking(topology.models[alias], uses)]


def roles_by_model(topology: Topology) -> dict[str, list[Role]]:
    """Return the roles, of sub-teams too, that use or may draw each model in use."""
    found: dict[str, list[Role]] = {}
    for role in topology.roles.values():
        if role.team is not None:
            for used, roles in roles_by_model(role.team).items():
                found.setdefault(used, []).extend(roles)
        pool = topology.pools.get(role.pool or "")
        for alias in pool.members if pool else [role.model]:
            if alias in topology.models:
                found.setdefault(str(alias), []).append(role)
    return {alias: found[alias] for alias in topology.models if alias in found}


def lacking(model: Model, roles: list[Role]) -> list[str]:
    """Return what is missing for the largest cost of a call to be known; [] where nobody bills.

    Args:
        model: The model.
        roles: Who asks it; [] for a judge, which has no limits of its own.
    """
    if not bills(model):
        return []
    endless = model.params.get("max_output_tokens") is None and (
        not roles or any(role.limits.output_tokens is None for role in roles)
    )
    return [*_unpriced(model), *["params.max_output_tokens"] * endless]


def _unpriced(model: Model) -> list[str]:
    price = price_of(model)
    if price is None or (model.price is None and None in (price.input, price.output)):
        return ["price"]
    parts = {"price.input": price.input, "price.output": price.output}
    return [name for name, value in parts.items() if value is None]


def price_of(model: Model) -> TokenPrice | DatedPrice | None:
    """Return what a model costs: as written, whole, else as published; None where it is unknown.

    A model that nobody bills has no price either; ``bills`` reports which is which.
    """
    if model.price is not None or _is_free(model):
        return model.price
    address = model.options.get("base_url")
    where = address if isinstance(address, str) else None
    return default_price(model.provider, model.model, where, params=model.params)


def bills(model: Model) -> bool:
    """Return whether calls cost money: a hosted model's, and those of any model with a price."""
    return model.price is not None or not _is_free(model)


def _is_free(model: Model) -> bool:
    """Return whether no one bills the model; also where its provider is not there to be asked."""
    try:
        return bool(load_plugin("orglab.providers", model.provider).free)
    except (KeyError, ImportError, AttributeError):
        return True  # the loader reports that the provider is unknown
