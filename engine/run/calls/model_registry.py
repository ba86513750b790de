"""The models of a study: one provider a model, with its limit of calls at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orglab.engine.graph.checks.cost_limit import price_of
from orglab.engine.run.calls.call_key import bound_model_digest
from orglab.engine.spec.model import Model
from orglab.engine.spec.validate.path_confinement import content_hash
from orglab.providers.base import Provider, Request, TokenUsage
from orglab.providers.client.model_client import ModelClient, ModelClients
from orglab.providers.client.request_queue import LimitChange
from orglab.providers.llama.weights_digest import weights_digest
from orglab.providers.pricing.pricing import TokenPrice, cost, most_cost
from orglab.providers.registry import load_plugin

_FILES = frozenset({"file", "chat_template"})


@dataclass(kw_only=True, slots=True)
class BoundModel:
    """One model and the provider that serves it.

    Attributes:
        model: The model's entry in the spec.
        provider: The provider.
        client: Makes the calls, with retries.
        price: What it costs, written or known; None: unknown, or nothing where ``free``.
        params: The written parameters. A written ``seed`` says that one is to be sent: the derived
            one, into which the identity of the call has mixed it.
        digest: Digest of who is asked and how.
    """

    model: Model
    provider: Provider
    client: ModelClient
    price: TokenPrice | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""

    def cost(self, usage: TokenUsage) -> float | None:
        """US dollars of a call; None: unknown."""
        if self.price is None and self.provider.free:
            return 0.0
        if not (usage.input or usage.output) and self.provider.account() is not None:
            return None  # a server that counts no tokens may bill them all the same
        return cost(usage, self.price)

    def most(self, request: Request) -> float | None:
        """US dollars: the most that one sending of a request can cost; None: unknown."""
        if self.price is None and self.provider.free:
            return 0.0
        return most_cost(request, self.price, request.params.get("max_output_tokens"))


class ModelRegistry:
    """Makes the providers of a spec when they are first needed, and closes them at the end."""

    def __init__(
        self,
        models: Mapping[str, Model],
        providers: Mapping[str, Provider] | None = None,
        lines: ModelClients | None = None,
    ) -> None:
        """Make a registry.

        Args:
            models: The spec's models by alias.
            providers: Providers to use in place of the spec's, by alias; ``*`` serves any other.
            lines: The clients of accounts, where other registries use them too.
        """
        self._lines = lines or ModelClients()
        self._models = dict(models)
        self._given = dict(providers or {})
        self._bound: dict[str, BoundModel] = {}
        self._made: list[Provider] = []

    def bound_model(self, alias: str) -> BoundModel:
        """Return a model bound to its client and prices.

        Raises:
            ValueError: The provider refuses the model's entry, in words.
        """
        if alias not in self._bound:
            self._bound[alias] = self._make(self._models[alias])
        return self._bound[alias]

    def know(self, models: Mapping[str, Model]) -> None:
        """Serve further models; known aliases stay as they are."""
        self._models = {**models, **self._models}

    def _make(self, model: Model) -> BoundModel:
        provider = self._given.get(model.alias) or self._given.get("*")
        if provider is None:
            kind: type[Provider] = load_plugin("orglab.providers", model.provider)
            provider = kind.from_spec(model.model, model.options)
            self._made.append(provider)
        return BoundModel(
            model=model,
            provider=provider,
            client=self._client(model, provider),
            price=price_of(model),
            params=model.params,
            digest=bound_model_digest(
                provider=model.provider,
                model=model.model,
                base_url=str(model.options.get("base_url", "")),
                options=_known_by(model, type(provider)),
                params=model.params,
            ),
        )

    def _client(self, model: Model, provider: Provider) -> ModelClient:
        return self._lines.client(
            provider,
            alias=model.alias,
            max_concurrency=model.max_concurrency,
            requests_per_minute=model.requests_per_minute,
            tokens_per_minute=model.tokens_per_minute,
            timeout_seconds=model.timeout_seconds,
            faults=model.faults,
        )

    async def aclose(self) -> None:
        """Close the providers that the registry made."""
        for provider in self._made:
            await provider.aclose()
        self._made.clear()


def _known_by(model: Model, provider: type[Provider]) -> dict[str, object]:
    """Return options as they count in a call's identity, which holds no place on this machine.

    Files count by their content, weights (which have the name that the author wrote beside it) too;
    the variable that holds a key counts for nothing. Planted errors count: arms that differ in them share no reply.
    """
    known = {name: value for name, value in model.options.items() if name != "api_key_env"}
    weights = provider.weights(model.model, model.options)
    if weights is not None:
        known["weights"] = weights_digest(weights)
    for name in _FILES & known.keys():
        file = Path(str(known[name]))
        if name == "file" and (weights is not None or model.model.endswith(".gguf")):
            del known[name]
        elif file.is_file():
            known[name] = content_hash(file)
    if model.faults:
        known["faults"] = dict(model.faults)
    return known


class ModelRegistries:
    """ModelRegistries of several teams: models with the same entry share one provider and its slots.

    Attributes:
        lines: The clients of accounts.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        tell: Callable[[LimitChange], None] | None = None,
        lines: ModelClients | None = None,
    ) -> None:
        """Make an empty set of registries.

        Args:
            providers: Providers to use in place of the specs', by alias; ``*`` serves any other.
            tell: Reports how an account's concurrency limit changes.
            lines: The clients of accounts, where they are held elsewhere.
        """
        self._providers = providers
        self.lines = lines or ModelClients(report=tell)
        self._registries: list[tuple[dict[str, Model], ModelRegistry]] = []

    def of(self, models: Mapping[str, Model]) -> ModelRegistry:
        """Return the registry of a team's models, shared where common aliases mean the same."""
        for known, registry in self._registries:
            if all(known.get(alias, model) == model for alias, model in models.items()):
                known.update(models)
                registry.know(models)
                return registry
        registry = ModelRegistry(models, self._providers, self.lines)
        self._registries.append((dict(models), registry))
        return registry

    async def aclose(self) -> None:
        """Close every registry."""
        for _, registry in self._registries:
            await registry.aclose()
