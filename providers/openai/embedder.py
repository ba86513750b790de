"""Vectors from a server with OpenAI's embeddings endpoint."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orglab.providers.base import JSON, BadRequest, ProviderError, RateLimited, Unavailable
from orglab.providers.embedder import Embedder
from orglab.providers.hosted.account import Account, base_url_of, key_risk, open_account
from orglab.providers.hosted.errors import sdk_error
from orglab.providers.options import known_options

if TYPE_CHECKING:
    import openai

_OWN_URL = "https://api.openai.com/v1"
_OWN_VARIABLE = "OPENAI_API_KEY"
_OPTIONS = frozenset({"api_key_env", "base_url", "dimensions"})
AT_ONCE = 64
"""Texts of one request."""
ATTEMPTS = 4
LONGEST_WAIT = 60.0  # seconds


class OpenAIEmbedder(Embedder):
    """A hosted embedding model. Its requests are no calls of the study: no limit counts them."""

    def __init__(self, model: str, options: Mapping[str, JSON]) -> None:
        """Name a model; the key is read for the first text.

        Args:
            model: Its exact name.
            options: ``base_url``, ``api_key_env``, ``dimensions``.
        """
        self._model, self._options = model, options
        self._base_url = base_url_of(options.get("base_url"), _OWN_URL)
        self._dimensions = options.get("dimensions")

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> OpenAIEmbedder:
        """Return the embedder of a model at OpenAI, or at ``base_url``.

        Raises:
            ValueError: The model is not named, an option is wrong, or a key would be sent to a
                server of the spec's author.
        """
        given = known_options(options, _OPTIONS, "an embedder of provider openai")
        if not model:
            raise ValueError("an embedder of provider openai needs `model`, its exact name")
        size = given.get("dimensions")
        if size is not None and (type(size) is not int or size < 1):
            raise ValueError(f"`dimensions` must be an integer of at least 1, not {size!r}")
        base_url_of(given.get("base_url"), _OWN_URL)
        if risk := key_risk(given):
            raise ValueError(f"{risk}: embedders send keys to the vendors' own addresses alone")
        return cls(model, given)

    @property
    def identity(self) -> str:
        """Address, model and length."""
        return f"openai {self._base_url} {self._model} {self._dimensions or ''}".rstrip()

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text.

        Raises:
            ProviderError: The server gave none, or the key is missing.
        """
        try:
            account = open_account(self._options, own_url=_OWN_URL, own_variable=_OWN_VARIABLE)
        except ValueError as error:
            raise BadRequest(str(error)) from None
        import openai  # slow to import: only who asks waits

        client = openai.OpenAI(
            api_key=account.sent_key, base_url=account.base_url, max_retries=0, timeout=60.0
        )
        with client:
            found: list[Sequence[float]] = []
            for start in range(0, len(texts), AT_ONCE):
                found += self._with_retries(client, account, texts[start : start + AT_ONCE])
            return found

    def _with_retries(
        self, client: openai.OpenAI, account: Account, texts: Sequence[str]
    ) -> list[Sequence[float]]:
        """Return vectors of one request, retried where the error may pass."""
        for attempt in range(ATTEMPTS):
            try:
                return self._once(client, account, texts)
            except (RateLimited, Unavailable) as error:
                if attempt == ATTEMPTS - 1:
                    raise
                wait = 2.0**attempt if error.retry_after is None else error.retry_after
                if wait > LONGEST_WAIT:
                    raise
                time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _once(
        self, client: openai.OpenAI, account: Account, texts: Sequence[str]
    ) -> list[Sequence[float]]:
        import openai

        size = {} if self._dimensions is None else {"dimensions": self._dimensions}
        try:
            # Plain numbers: many compatible servers know no base64, which the SDK asks for by itself.
            reply = client.embeddings.create(
                model=self._model, input=list(texts), encoding_format="float", **size
            )
        except openai.OpenAIError as error:
            raise sdk_error(error, account=account) from None
        vectors = {item.index: item.embedding for item in reply.data}
        if sorted(vectors) != list(range(len(texts))):
            raise ProviderError(
                f"{account.host} gave {len(vectors)} vectors for {len(texts)} texts"
            )
        return [vectors[index] for index in range(len(texts))]
