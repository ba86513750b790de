"""Weights in memory, by llama-cpp-python.

The same call must give the same reply, whatever was computed before. So a prompt is always evaluated
in the same chunks: up to the end of each turn and, in a long turn, every ``CHUNK`` tokens. Of the
earlier prompt only complete chunks that are equal from the start are reused: bit for bit, they hold
what evaluating them again would give. Nothing is reused if the model's memory cannot be truncated at
a token (recurrent and sliding-window models).
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol

from orglab.providers.base import JSON, BadRequest
from orglab.providers.llama.sampling import Handle, Sampler, Sampling

CHUNK = 64
"""Most tokens of a prompt that are evaluated at once."""


class SampledToken(NamedTuple):
    """One sampled token.

    Attributes:
        token: Its number in the vocabulary.
        ends: It ends the reply and is not part of its text.
        logprob: ``{token, logprob, top?}`` if it was requested.
    """

    token: int
    ends: bool
    logprob: Mapping[str, JSON] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    """Settings of an open model; two aliases with equal settings share one.

    Attributes:
        path: File of the weights, GGUF.
        window: Tokens of prompt and reply together.
        threads: Threads that compute.
        template: A chat template in place of the weights' own, or None.
    """

    path: Path
    window: int
    threads: int
    template: str | None = None


class Backend(Protocol):
    """What ``LocalModel`` needs of weights; tests have one without any."""

    @property
    def fingerprint(self) -> str:
        """Return what serves: versions, weights, settings."""

    @property
    def template(self) -> str | None:
        """Return the chat template in the weights' metadata."""

    @property
    def marks(self) -> tuple[str, str]:
        """Return the texts of the tokens that begin and end a sequence."""

    def tokens(self, text: str, *, special: bool) -> list[int]:
        """Return a text's tokens; with ``special``, marks such as ``<|im_end|>`` are control tokens."""

    def text(self, tokens: Sequence[int], *, special: bool = False) -> bytes:
        """Return the text of tokens; control tokens have none unless ``special``."""

    def steps(
        self, prompt: Sequence[int], sampling: Sampling, cancelled: Callable[[], bool]
    ) -> Generator[SampledToken, None, None]:
        """Yield tokens of a reply, without end; stop when ``cancelled()``."""

    def close(self) -> None:
        """Free the memory."""


def chunk_ends(prompt: Sequence[int], ends_turn: Callable[[int], bool]) -> list[int]:
    """Return where the chunks of a prompt end; equal for prompts with the same beginning."""
    ends: list[int] = []
    for position, token in enumerate(prompt, 1):
        if ends_turn(token) or position - (ends[-1] if ends else 0) == CHUNK:
            ends.append(position)
    return ends if ends and ends[-1] == len(prompt) else [*ends, len(prompt)]


def library_installed() -> bool:
    """Return whether llama-cpp-python and llguidance can be imported, without importing them."""
    return all(importlib.util.find_spec(name) for name in ("llama_cpp", "llguidance"))


class LlamaBackend:
    """Weights opened by llama-cpp-python. Not thread-safe."""

    def __init__(self, settings: ModelSettings) -> None:
        """Load the weights.

        llama-cpp-python redirects the process's standard output meanwhile, so nothing else should
        print.

        Raises:
            BadRequest: The file cannot be loaded as a model.
        """
        self._lib: ModuleType = importlib.import_module("llama_cpp")
        self._settings = settings
        self._last_prompt: tuple[int, ...] = ()
        try:
            self._llama: Handle = self._lib.Llama(
                str(settings.path),
                n_ctx=settings.window,
                n_batch=CHUNK,
                n_threads=settings.threads,
                n_threads_batch=settings.threads,
                verbose=False,
            )
        except (ValueError, RuntimeError, OSError, AssertionError) as error:
            raise BadRequest(f"{settings.path.name} cannot be loaded: {error}") from None
        self._vocabulary = self._lib.llama_model_get_vocab(self._llama.model)
        self._tokenizer: Handle = None
        self._reusable = self._memory_is_reusable()

    @property
    def fingerprint(self) -> str:
        """Return versions, weights and settings that decide what is computed."""
        version = importlib.metadata.version("llama-cpp-python")
        path = self._settings.path
        return (
            f"llama-cpp-python {version}; {path.name}, {path.stat().st_size} bytes; "
            f"n_ctx {self._settings.window}, {self._settings.threads} threads"
        )

    @property
    def template(self) -> str | None:
        """Return the chat template in the weights' metadata."""
        text = self._llama.metadata.get("tokenizer.chat_template")
        return None if text is None else str(text)

    @property
    def marks(self) -> tuple[str, str]:
        """Return the texts of the tokens that begin and end a sequence."""
        return self._mark(self._llama.token_bos()), self._mark(self._llama.token_eos())

    def tokens(self, text: str, *, special: bool) -> list[int]:
        """Return a text's tokens, with a begin mark if the model needs one and the text has none."""
        begins = special and self._llama.metadata.get("tokenizer.ggml.add_bos_token") == "true"
        bos = self.marks[0]
        add = begins and not (bos and text.startswith(bos))
        return list(self._llama.tokenize(text.encode(), add_bos=add, special=special))

    def text(self, tokens: Sequence[int], *, special: bool = False) -> bytes:
        """Return the text of tokens."""
        return b"".join(self._piece(token, special=special) for token in tokens)

    def steps(
        self, prompt: Sequence[int], sampling: Sampling, cancelled: Callable[[], bool]
    ) -> Generator[SampledToken, None, None]:
        """Yield tokens of a reply, as long as they are consumed."""
        matcher = self._matcher(sampling.grammar) if sampling.grammar else None
        sampler = Sampler(self._lib, self._llama, sampling, self._token_text, matcher)
        try:
            self._evaluate(prompt, cancelled)
            while not cancelled():
                token = sampler.sample()
                ends = bool(self._lib.llama_vocab_is_eog(self._vocabulary, token))
                wanted = sampling.logprobs is not None
                yield SampledToken(token, ends, sampler.logprob(token) if wanted else None)
                self._llama.eval([token])
        finally:
            sampler.close()

    def close(self) -> None:
        """Free the memory."""
        self._llama.close()

    def _matcher(self, grammar: str) -> Handle:
        from llguidance import LLMatcher
        from llguidance.llamacpp import lltokenizer_from_vocab

        if self._tokenizer is None:  # takes about 0.3 seconds
            ends = [token for token in range(self._llama.n_vocab()) if self._ends_turn(token)]
            with warnings.catch_warnings():  # llguidance calls what llama-cpp-python deprecates
                warnings.simplefilter("ignore", DeprecationWarning)
                self._tokenizer = lltokenizer_from_vocab(self._vocabulary, eos_token=ends)
        return LLMatcher(self._tokenizer, grammar, log_level=0)

    def _evaluate(self, prompt: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Evaluate ``prompt`` into the model's memory."""
        kept = self._reusable_tokens(prompt)
        self._last_prompt = ()
        if kept == 0:
            self._llama.reset()
            self._lib.llama_memory_clear(self._lib.llama_get_memory(self._llama.ctx), False)
        self._llama.n_tokens = kept
        for end in chunk_ends(prompt, self._ends_turn):
            if end > kept and not cancelled():
                self._llama.eval(prompt[self._llama.n_tokens : end])
        self._last_prompt = () if cancelled() else tuple(prompt)

    def _reusable_tokens(self, prompt: Sequence[int]) -> int:
        """Return how many tokens at the start are in memory: complete chunks of the last prompt.

        The last chunk of either prompt is always evaluated: its end is where the reply begins.
        """
        if not self._reusable:
            return 0
        kept = 0
        for end in chunk_ends(prompt, self._ends_turn):
            if end >= min(len(prompt), len(self._last_prompt)):
                break
            if tuple(prompt[kept:end]) != self._last_prompt[kept:end]:
                break
            kept = end
        return kept

    def _ends_turn(self, token: int) -> bool:
        return bool(self._lib.llama_vocab_is_eog(self._vocabulary, token))

    def _memory_is_reusable(self) -> bool:
        model = self._llama.model
        return not (
            self._lib.llama_model_is_recurrent(model)
            or self._lib.llama_model_is_hybrid(model)
            or self._lib.llama_model_n_swa(model)
        )

    def _piece(self, token: int, *, special: bool, size: int = 128) -> bytes:
        """Return one token's bytes; llama-cpp-python itself drops those of more than 32."""
        buffer = ctypes.create_string_buffer(size)
        length = self._lib.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, special)
        if length < 0:
            return self._piece(token, special=special, size=-length)
        return buffer.raw[:length]

    def _token_text(self, token: int) -> str:
        return self._piece(token, special=False).decode("utf-8", errors="replace")

    def _mark(self, token: int) -> str:
        return self.text([token], special=True).decode() if token >= 0 else ""
