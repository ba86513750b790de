"""Drawing tokens: llama.cpp's samplers, held to a grammar.

A token is drawn first and looked up in the grammar then; only where the grammar forbids it, the
whole vocabulary is filtered and the draw repeated. That is how llama.cpp's own server does it, and
a third faster for a small model than filtering before each draw. Every call has samplers of its
own, so nothing is left over from the call before.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

from orglab.providers.base import JSON, BadRequest

__all__ = ["Handle", "Sampler", "Sampling"]

Handle: TypeAlias = Any
"""A thing of llama-cpp-python, which is not imported before it is needed."""

_PENALTY_WINDOW = 64  # tokens that a repeat penalty looks back


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How tokens are drawn; the defaults are llama.cpp's.

    Attributes:
        seed: Seed of the draws.
        temperature: 0 takes the likeliest token.
        top_k: Draw from so many likeliest tokens; 0: from all.
        top_p: Draw from the likeliest tokens that hold this share of the probability.
        min_p: Leave out tokens less likely than this share of the likeliest one's probability.
        repeat_penalty: Above 1 makes tokens of the reply's last 64 less likely; 1 is none.
        grammar: A grammar with the start ``root``, or None.
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
    """Draws the tokens of one reply. Free it with ``close``."""

    def __init__(
        self, lib: ModuleType, llama: Handle, sampling: Sampling, text_of: Callable[[int], str]
    ) -> None:
        """Builds the samplers.

        Args:
            lib: The module ``llama_cpp``.
            llama: The open model, a ``llama_cpp.Llama``.
            sampling: How to draw.
            text_of: Gives a token's text.

        Raises:
            BadRequest: llama.cpp cannot read the grammar.
        """
        import numpy as np  # comes with llama-cpp-python

        self._np, self._lib, self._llama, self._sampling = np, lib, llama, sampling
        self._text_of = text_of
        self._size = llama.n_vocab()
        kind = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)], align=True)
        self._table = np.zeros(self._size, dtype=kind)
        self._ids = np.arange(self._size, dtype=np.int32)
        self._grammar = self._made_grammar()
        self._chain = self._made_chain()

    def draw(self) -> int:
        """The next token, drawn from what the model has just computed."""
        token = self._chosen(self._candidates())
        if self._grammar and not self._allowed(token):
            candidates = self._candidates()
            self._lib.llama_sampler_apply(self._grammar, ctypes.byref(candidates))
            token = self._chosen(candidates)
            if not self._allowed(token):  # llama.cpp would end the process
                raise BadRequest("no token of the model fits the grammar made from the schema")
        self._lib.llama_sampler_accept(self._chain, token)
        if self._grammar:
            self._lib.llama_sampler_accept(self._grammar, token)
        return token

    def logprob(self, token: int) -> dict[str, JSON]:
        """Log probability of ``token`` by the bare model, before temperature and grammar."""
        np = self._np
        logits = self._logits().astype(np.float64)
        logits -= logits.max()
        values = logits - math.log(float(np.exp(logits).sum()))
        entry: dict[str, JSON] = {"token": self._text_of(token), "logprob": float(values[token])}
        if count := self._sampling.logprobs:
            best = np.argsort(-values, kind="stable")[:count]
            entry["top"] = [
                {"token": self._text_of(int(i)), "logprob": float(values[i])} for i in best
            ]
        return entry

    def close(self) -> None:
        """Frees the samplers."""
        self._lib.llama_sampler_free(self._chain)
        if self._grammar:
            self._lib.llama_sampler_free(self._grammar)

    def _made_grammar(self) -> Handle:
        if self._sampling.grammar is None:
            return None
        vocabulary = self._lib.llama_model_get_vocab(self._llama.model)
        text = self._sampling.grammar.encode()
        grammar = self._lib.llama_sampler_init_grammar(vocabulary, text, b"root")
        if not grammar:
            raise BadRequest("llama.cpp cannot read the grammar made from the schema")
        return grammar

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

    def _candidates(self) -> Handle:
        """All tokens with what the model makes of them."""
        self._table["id"] = self._ids
        self._table["logit"] = self._logits()
        self._table["p"] = 0
        data = self._table.ctypes.data_as(self._lib.llama_token_data_p)
        return self._lib.llama_token_data_array(
            data=data, size=self._size, selected=-1, sorted=False
        )

    def _chosen(self, candidates: Handle) -> int:
        self._lib.llama_sampler_apply(self._chain, ctypes.byref(candidates))
        return int(candidates.data[candidates.selected].id)

    def _allowed(self, token: int) -> bool:
        entry = self._lib.llama_token_data(id=token, logit=1.0, p=0.0)
        one = self._lib.llama_token_data_array(
            data=ctypes.pointer(entry), size=1, selected=-1, sorted=False
        )
        self._lib.llama_sampler_apply(self._grammar, ctypes.byref(one))
        return bool(entry.logit != -math.inf)
