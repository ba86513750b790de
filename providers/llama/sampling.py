"""Sampling of tokens with llama.cpp's samplers, constrained by a grammar of llguidance.

A token is sampled first and checked against the grammar then; only where the grammar refuses it, the
mask of all allowed tokens is computed and the token sampled again: most tokens fit, and a check
takes a fraction of a mask's time. Every call has samplers of its own, so that no call depends on
the one before.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

from orglab.providers.base import JSON, BadRequest

Handle: TypeAlias = Any
"""An object of llama-cpp-python or llguidance, which are imported at the first call."""

_PENALTY_WINDOW = 64  # tokens that a repeat penalty looks back


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How tokens are sampled; the defaults are llama.cpp's.

    Attributes:
        seed: Seed of the random numbers.
        temperature: 0 takes the likeliest token.
        top_k: Draw from so many likeliest tokens; 0: from all.
        top_p: Draw from the likeliest tokens that hold this share of the probability.
        min_p: Leave out tokens less likely than this share of the likeliest one's probability.
        repeat_penalty: Above 1 makes tokens of the reply's last 64 less likely; 1 is none.
        grammar: A grammar in llguidance's serialisation, or None.
        logprobs: Give each token's log probability and those of so many likeliest; None: none.
    """

    seed: int = 0
    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    grammar: str | None = None
    logprobs: int | None = None


class Sampler:
    """Samples the tokens of one reply. Free it with ``close``."""

    def __init__(
        self,
        lib: ModuleType,
        llama: Handle,
        sampling: Sampling,
        token_text: Callable[[int], str],
        matcher: Handle = None,
    ) -> None:
        """Build the samplers.

        Args:
            lib: The module ``llama_cpp``.
            llama: The open model, a ``llama_cpp.Llama``.
            sampling: How to sample.
            token_text: Returns a token's text.
            matcher: A ``llguidance.LLMatcher`` of ``sampling.grammar`` in its initial state.

        Raises:
            BadRequest: llguidance cannot read the grammar.
        """
        import numpy as np  # comes with llama-cpp-python

        self._np, self._lib, self._llama, self._sampling = np, lib, llama, sampling
        self._token_text, self._matcher = token_text, matcher
        self._size = llama.n_vocab()
        kind = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)], align=True)
        self._table = np.zeros(self._size, dtype=kind)
        self._ids = np.arange(self._size, dtype=np.int32)
        self._check_matcher()
        self._chain = self._made_chain()

    def sample(self) -> int:
        """Return the next token, sampled from what the model has just computed."""
        matcher = self._matcher
        if matcher and matcher.is_stopped():  # the reply is complete
            return int(self._llama.token_eos())
        token = self._chosen(self._candidates())
        if matcher and not matcher.try_consume_tokens([token]):
            token = self._chosen(self._candidates(allowed_only=True))
            matcher.consume_token(token)
            self._check_matcher()
        self._lib.llama_sampler_accept(self._chain, token)
        return token

    def logprob(self, token: int) -> dict[str, JSON]:
        """Return the log probability of ``token`` before temperature, penalty and grammar."""
        np = self._np
        logits = self._logits().astype(np.float64)
        logits -= logits.max()
        values = logits - math.log(float(np.exp(logits).sum()))
        entry: dict[str, JSON] = {"token": self._token_text(token), "logprob": float(values[token])}
        if count := self._sampling.logprobs:
            best = np.argsort(-values, kind="stable")[:count]
            entry["top"] = [
                {"token": self._token_text(int(i)), "logprob": float(values[i])} for i in best
            ]
        return entry

    def close(self) -> None:
        """Free the samplers."""
        self._lib.llama_sampler_free(self._chain)

    def _check_matcher(self) -> None:
        if self._matcher and self._matcher.is_error():
            raise BadRequest(f"llguidance cannot follow the grammar: {self._matcher.get_error()}")

    def _made_chain(self) -> Handle:
        lib, how = self._lib, self._sampling
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        steps = [
            lib.llama_sampler_init_penalties(
                self._size, _PENALTY_WINDOW, how.repeat_penalty, 0.0, 0.0
            )
        ]
        if how.temperature == 0:
            steps.append(lib.llama_sampler_init_greedy())
        else:
            steps += [
                lib.llama_sampler_init_top_k(how.top_k),
                lib.llama_sampler_init_top_p(how.top_p, 1),
                lib.llama_sampler_init_min_p(how.min_p, 1),
                lib.llama_sampler_init_temp(how.temperature),
                lib.llama_sampler_init_dist(how.seed),
            ]
        for step in steps:
            lib.llama_sampler_chain_add(chain, step)
        return chain

    def _logits(self) -> Handle:
        pointer = self._lib.llama_get_logits_ith(self._llama.ctx, -1)
        return self._np.ctypeslib.as_array(pointer, shape=(self._size,))

    def _candidates(self, *, allowed_only: bool = False) -> Handle:
        """Return all tokens with their logits; minus infinity for those that are not allowed."""
        self._table["id"] = self._ids
        self._table["logit"] = self._logits()
        self._table["p"] = 0
        if allowed_only:
            self._table["logit"][~self._allowed()] = -math.inf
        data = self._table.ctypes.data_as(self._lib.llama_token_data_p)
        return self._lib.llama_token_data_array(
            data=data, size=self._size, selected=-1, sorted=False
        )

    def _allowed(self) -> Handle:
        """Return a Boolean for each token: whether the grammar allows it here."""
        np = self._np
        mask = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        return np.unpackbits(mask, bitorder="little", count=self._size).astype(bool)

    def _chosen(self, candidates: Handle) -> int:
        self._lib.llama_sampler_apply(self._chain, ctypes.byref(candidates))
        return int(candidates.data[candidates.selected].id)
