"""The weights in memory: llama-cpp-python behind the few things that are asked of it.

The same call must give the same reply, whatever was computed before. So a prompt is always read in
the same chunks, cut at the ends of turns and, in a long turn, every ``CHUNK`` tokens; and of an
earlier prompt only whole chunks that are equal from the start are kept: they hold, bit for bit,
what reading them again would give. Nothing is kept where the model's memory cannot be cut at a
token (recurrent and sliding-window models).
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

__all__ = [
    "CHUNK",
    "Backend",
    "LlamaBackend",
    "Settings",
    "Step",
    "chunk_ends",
    "library_installed",
]

CHUNK = 64
"""Most tokens of a prompt that are read at once."""


class Step(NamedTuple):
    """One token drawn.

    Attributes:
        token: Its number in the vocabulary.
        ends: It says that the reply is over, and is no part of its text.
        logprob: ``{token, logprob, top?}`` where it was asked for.
    """

    token: int
    ends: bool
    logprob: Mapping[str, JSON] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What makes an open model: two aliases with equal settings share one.

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
    """What ``LocalModel`` needs of weights; tests bring one without any."""

    @property
    def fingerprint(self) -> str:
        """What serves: versions, weights, settings."""

    @property
    def template(self) -> str | None:
        """The chat template in the weights' metadata."""

    @property
    def marks(self) -> tuple[str, str]:
        """Texts of the tokens that begin and end a sequence."""

    def tokens(self, text: str, *, special: bool) -> list[int]:
        """Tokens of a text; with ``special``, marks such as ``<|im_end|>`` count as such."""

    def text(self, tokens: Sequence[int], *, special: bool = False) -> bytes:
        """The text of tokens; marks give nothing unless ``special``."""

    def steps(
        self, prompt: Sequence[int], sampling: Sampling, given_up: Callable[[], bool]
    ) -> Generator[Step, None, None]:
        """Tokens of a reply, without end; stops early when ``given_up`` says so."""

    def close(self) -> None:
        """Frees the memory."""


def chunk_ends(prompt: Sequence[int], ends_turn: Callable[[int], bool]) -> list[int]:
    """Where the chunks of a prompt end; the same for all prompts with the same beginning."""
    ends: list[int] = []
    for position, token in enumerate(prompt, 1):
        if ends_turn(token) or position - (ends[-1] if ends else 0) == CHUNK:
            ends.append(position)
    return ends if ends and ends[-1] == len(prompt) else [*ends, len(prompt)]


def library_installed() -> bool:
    """Return whether llama-cpp-python and llguidance can be imported, without importing them."""
    return all(importlib.util.find_spec(name) for name in ("llama_cpp", "llguidance"))


class LlamaBackend:
    """Weights opened by llama-cpp-python. Not for two threads at once."""

    def __init__(self, settings: Settings) -> None:
        """Reads the weights.

        llama-cpp-python turns the process's standard output away while it does, so nothing else
        should print meanwhile.

        Raises:
            BadRequest: The file cannot be loaded as a model.
        """
        self._lib: ModuleType = importlib.import_module("llama_cpp")
        self._settings = settings
        self._kept: tuple[int, ...] = ()
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
        self._cuttable = self._can_be_cut()

    @property
    def fingerprint(self) -> str:
        """Versions, weights and settings that decide what is computed."""
        version = importlib.metadata.version("llama-cpp-python")
        path = self._settings.path
        return (
            f"llama-cpp-python {version}; {path.name}, {path.stat().st_size} bytes; "
            f"n_ctx {self._settings.window}, {self._settings.threads} threads"
        )

    @property
    def template(self) -> str | None:
        """The chat template in the weights' metadata."""
        text = self._llama.metadata.get("tokenizer.chat_template")
        return None if text is None else str(text)

    @property
    def marks(self) -> tuple[str, str]:
        """Texts of the tokens that begin and end a sequence."""
        return self._mark(self._llama.token_bos()), self._mark(self._llama.token_eos())

    def tokens(self, text: str, *, special: bool) -> list[int]:
        """Tokens of a text, with a begin mark where the model wants one and the text has none."""
        begins = special and self._llama.metadata.get("tokenizer.ggml.add_bos_token") == "true"
        bos = self.marks[0]
        add = begins and not (bos and text.startswith(bos))
        return list(self._llama.tokenize(text.encode(), add_bos=add, special=special))

    def text(self, tokens: Sequence[int], *, special: bool = False) -> bytes:
        """The text of tokens."""
        return b"".join(self._piece(token, special=special) for token in tokens)

    def steps(
        self, prompt: Sequence[int], sampling: Sampling, given_up: Callable[[], bool]
    ) -> Generator[Step, None, None]:
        """Tokens of a reply, as long as they are taken."""
        matcher = self._matcher(sampling.grammar) if sampling.grammar else None
        sampler = Sampler(self._lib, self._llama, sampling, self._text_of, matcher)
        try:
            self._read(prompt, given_up)
            while not given_up():
                token = sampler.sample()
                ends = bool(self._lib.llama_vocab_is_eog(self._vocabulary, token))
                wanted = sampling.logprobs is not None
                yield Step(token, ends, sampler.logprob(token) if wanted else None)
                self._llama.eval([token])
        finally:
            sampler.close()

    def close(self) -> None:
        """Frees the memory."""
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

    def _read(self, prompt: Sequence[int], given_up: Callable[[], bool]) -> None:
        """Brings the model's memory to the end of ``prompt``."""
        kept = self._kept_of(prompt)
        self._kept = ()
        if kept == 0:
            self._llama.reset()
            self._lib.llama_memory_clear(self._lib.llama_get_memory(self._llama.ctx), False)
        self._llama.n_tokens = kept
        for end in chunk_ends(prompt, self._ends_turn):
            if end > kept and not given_up():
                self._llama.eval(prompt[self._llama.n_tokens : end])
        self._kept = () if given_up() else tuple(prompt)

    def _kept_of(self, prompt: Sequence[int]) -> int:
        """Tokens at the start that need not be read again: whole chunks of the last prompt.

        The last chunk of either prompt is always read: its end is where the reply begins.
        """
        if not self._cuttable:
            return 0
        kept = 0
        for end in chunk_ends(prompt, self._ends_turn):
            if end >= min(len(prompt), len(self._kept)):
                break
            if tuple(prompt[kept:end]) != self._kept[kept:end]:
                break
            kept = end
        return kept

    def _ends_turn(self, token: int) -> bool:
        return bool(self._lib.llama_vocab_is_eog(self._vocabulary, token))

    def _can_be_cut(self) -> bool:
        model = self._llama.model
        return not (
            self._lib.llama_model_is_recurrent(model)
            or self._lib.llama_model_is_hybrid(model)
            or self._lib.llama_model_n_swa(model)
        )

    def _piece(self, token: int, *, special: bool, size: int = 128) -> bytes:
        """One token's bytes; llama-cpp-python's own way loses tokens of more than 32."""
        buffer = ctypes.create_string_buffer(size)
        length = self._lib.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, special)
        if length < 0:
            return self._piece(token, special=special, size=-length)
        return buffer.raw[:length]

    def _text_of(self, token: int) -> str:
        return self._piece(token, special=False).decode("utf-8", errors="replace")

    def _mark(self, token: int) -> str:
        return self.text([token], special=True).decode() if token >= 0 else ""
