"""One open model, shared by all aliases that name it: one call at a time, on its own thread.

The thread serialises calls and keeps the event loop free. A call whose task was cancelled ends at its
next token.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from orglab.providers.base import (
    JSON,
    BadRequest,
    Completion,
    ContextOverflow,
    Labels,
    Message,
    StopReason,
    TokenUsage,
    Unavailable,
)
from orglab.providers.llama.backend import Backend, LlamaBackend, ModelSettings
from orglab.providers.llama.chat_template import ChatTemplate
from orglab.providers.llama.sampling import Sampling

FREE_TEXT_TOKENS = 1024
"""Most tokens of a reply in free text without ``max_output_tokens``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One call for the model's thread.

    Attributes:
        messages: The conversation, without tool messages.
        sampling: How tokens are sampled.
        most: Most tokens of the reply, or None for the default.
        labels: What the call is for.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    most: int | None = None
    labels: Labels = field(default_factory=Labels)


def reply_room(prompt: int, most: int | None, window: int, *, endless: bool, who: str) -> int:
    """Return the most tokens that a reply may have, before anything is computed.

    Args:
        prompt: Tokens of the prompt.
        most: ``max_output_tokens``, or None.
        window: Tokens of prompt and reply together.
        endless: No grammar bounds the reply.
        who: Whose turn it is, for the message.

    Raises:
        ContextOverflow: The prompt and the reply do not fit the window together.
    """
    room = window - prompt
    if room < (most or 1):
        asked = "a reply" if most is None else f"max_output_tokens {most}"
        raise ContextOverflow(
            f"{who}: the prompt has {prompt} tokens; with {asked} that is "
            f"{prompt + (most or 1)}, and the window holds {window}: there is room for "
            f"{max(room, 0)}. Shorten what the role sees, or raise n_ctx.",
            needed=prompt + (most or 1),
            window=window,
        )
    if most is not None:
        return most
    return min(room, FREE_TEXT_TOKENS) if endless else room


class LocalModel:
    """An open model and the thread that computes with it."""

    def __init__(
        self,
        backend: Backend,
        window: int,
        template: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap ``backend``.

        Args:
            backend: The weights.
            window: Tokens of prompt and reply together.
            template: A chat template in place of the weights' own.
            clock: Monotonic seconds.

        Raises:
            BadRequest: There is no chat template, or it cannot be used.
        """
        self._backend = backend
        self._window = window
        self._clock = clock
        self._template = _chat_template(backend, template)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llama")
        self.users = 0

    async def ask(self, job: Job) -> Completion:
        """Compute one reply, after those requested before.

        Raises:
            ContextOverflow: Prompt and reply do not fit the window.
            BadRequest: The template refuses the conversation, or the grammar cannot be read.
            Unavailable: llama.cpp failed.
        """
        cancelled = threading.Event()
        asked = self._clock()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._answer, job, asked, cancelled)
        finally:
            cancelled.set()

    async def close(self) -> None:
        """Wait for the call in progress and free the memory."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._backend.close)
        self._thread.shutdown(wait=False)

    def prompt(self, messages: Sequence[Message]) -> tuple[list[int], tuple[str, ...]]:
        """Return a conversation's tokens, and notes on what was changed in it."""
        safe = [self._defused(message) for message in messages]
        notes = ("marks of the chat template in a message were broken up",)
        changed = any(a is not b for a, b in zip(safe, messages, strict=True))
        text = self._template.render(safe)
        return self._backend.tokens(text, special=True), notes if changed else ()

    def _answer(self, job: Job, asked: float, cancelled: threading.Event) -> Completion:
        begun = self._clock()
        prompt, notes = self.prompt(job.messages)
        room = reply_room(
            len(prompt),
            job.most,
            self._window,
            endless=job.sampling.grammar is None,
            who=_turn_name(job.labels),
        )
        reply = self._reply(prompt, job.sampling, room, cancelled.is_set)
        return replace(
            reply,
            native=job.sampling.grammar is not None,
            fingerprint=self._backend.fingerprint,
            waiting_seconds=begun - asked,
            service_seconds=self._clock() - begun,
            notes=notes,
        )

    def _reply(
        self, prompt: list[int], sampling: Sampling, room: int, cancelled: Callable[[], bool]
    ) -> Completion:
        """Sample tokens until the model ends, or would write more than ``room``."""
        tokens: list[int] = []
        logprobs: list[Mapping[str, JSON]] = []
        stop: StopReason = "length"
        try:
            with closing(self._backend.steps(prompt, sampling, cancelled)) as steps:
                for step in steps:
                    if step.ends:
                        stop = "stop"
                    if step.ends or len(tokens) == room:
                        break
                    tokens.append(step.token)
                    logprobs += [step.logprob] if step.logprob else []
        except RuntimeError as error:
            raise Unavailable(f"llama.cpp failed: {error}") from error
        return Completion(
            text=self._backend.text(tokens).decode("utf-8", errors="replace"),
            stop=stop,
            usage=TokenUsage(input=len(prompt), output=len(tokens)),
            logprobs=None if sampling.logprobs is None else logprobs,
        )

    def _defused(self, message: Message) -> Message:
        """Return the message with marks such as ``<|im_end|>`` split, so that no text forges a turn."""
        text = message.content
        while marks := self._marks_in(text):
            for mark in marks:
                text = text.replace(mark, f"{mark[0]} {mark[1:]}")
        return message if text == message.content else replace(message, content=text)

    def _marks_in(self, text: str) -> set[str]:
        backend = self._backend
        read = backend.tokens(text, special=True)
        if read == backend.tokens(text, special=False):
            return set()
        spoken = {token for token in read if not backend.text([token])}
        marks = (backend.text([token], special=True) for token in spoken)
        return {
            mark for raw in marks if len(mark := raw.decode(errors="replace")) > 1 and mark in text
        }


_open: WeakValueDictionary[ModelSettings, LocalModel] = WeakValueDictionary()
_opening = threading.Lock()


def open_model(settings: ModelSettings) -> LocalModel:
    """Return the model with these settings, opened if needed. Close it as often.

    Raises:
        BadRequest: The file cannot be loaded as a model.
    """
    with _opening:
        model = _open.get(settings)
        if model is None:
            model = LocalModel(LlamaBackend(settings), settings.window, settings.template)
            _open[settings] = model
        model.users += 1
        return model


async def close_model(settings: ModelSettings, model: LocalModel) -> None:
    """Release a model; the last release frees its memory."""
    with _opening:
        model.users -= 1
        last = model.users == 0
        if last and _open.get(settings) is model:
            del _open[settings]
    if last:
        await model.close()


def _chat_template(backend: Backend, text: str | None) -> ChatTemplate:
    source = text or backend.template
    if source is None:
        raise BadRequest("the model file holds no chat template; name one as chat_template")
    bos, eos = backend.marks
    try:
        return ChatTemplate(source, bos=bos, eos=eos)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _turn_name(labels: Labels) -> str:
    name = labels.copy or labels.role or "the call"
    return f"{name}, visit {labels.visit}, call {labels.call}"
