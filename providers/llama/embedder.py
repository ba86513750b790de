"""Vectors from a local model: the mean of its last layer over a text's tokens."""

from __future__ import annotations

import importlib
import importlib.metadata
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orglab.providers.base import JSON, BadRequest, Unavailable
from orglab.providers.embedder import Embedder
from orglab.providers.llama.provider import local_threads, local_weights
from orglab.providers.llama.weights_digest import weights_digest
from orglab.providers.options import known_options

WINDOW = 4_096
"""Most tokens of a text."""


class LlamaEmbedder(Embedder):
    """A GGUF model by llama-cpp-python; any works, one made for embedding works better."""

    def __init__(self, name: str, path: Path) -> None:
        """Name a model; its weights are loaded for the first text.

        Args:
            name: Its name.
            path: The GGUF file.
        """
        self._name, self._path = name, path
        self._lock = threading.Lock()
        self._model: Any = None

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> LlamaEmbedder:
        """Return the embedder of ``smollm2``, or of a GGUF file named by the option ``file``.

        Raises:
            ValueError: llama-cpp-python or the weights are missing, or an option is wrong.
        """
        given = known_options(options, {"file"}, "an embedder of provider llama")
        if model and model != "smollm2" and not given.get("file"):
            raise ValueError(
                f"model {model!r} of an embedder of provider llama is unknown: write smollm2, or name "
                "a GGUF file by `embed_file`"
            )
        path = local_weights(str(given.get("file") or model))
        return cls(model or path.name, path)

    @property
    def identity(self) -> str:
        """Return the digest of the weights and the version of the library."""
        version = importlib.metadata.version("llama-cpp-python")
        try:
            return f"llama {self._name} {weights_digest(self._path)} llama-cpp-python {version}"
        except OSError as error:
            raise ValueError(f"{self._path.name} cannot be read: {error.strerror}") from None

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, computed one by one, so that no text affects another.

        Raises:
            BadRequest: The weights cannot be loaded, or a text has more tokens than the window.
            Unavailable: llama.cpp failed.
        """
        with self._lock:
            model = self._opened()
            try:
                return [model.embed(text, normalize=True, truncate=False) for text in texts]
            except ValueError as error:
                raise BadRequest(f"{self._name}: {error}") from None
            except RuntimeError as error:
                raise Unavailable(f"llama.cpp failed: {error}") from None

    def _opened(self) -> Any:  # noqa: ANN401 - the library is untyped
        if self._model is None:
            library = importlib.import_module("llama_cpp")
            threads = local_threads()
            try:
                self._model = library.Llama(
                    str(self._path),
                    embedding=True,
                    n_ctx=WINDOW,
                    n_batch=WINDOW,
                    n_ubatch=WINDOW,
                    n_threads=threads,
                    n_threads_batch=threads,
                    pooling_type=library.LLAMA_POOLING_TYPE_MEAN,
                    verbose=False,
                )
            except (ValueError, RuntimeError, OSError, AssertionError) as error:
                raise BadRequest(f"{self._path.name} cannot be loaded: {error}") from None
        return self._model
