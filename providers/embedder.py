"""The embedder port: texts to vectors, so that texts can be compared by meaning.

A plugin registers a subclass under the entry point group ``orglab.embedders``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from orglab.providers.base import JSON


class Embedder(ABC):
    """A model that turns a text into a vector. One instance serves all runs of a process."""

    @classmethod
    @abstractmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> Embedder:
        """Make the embedder of one model. Nothing is loaded yet and no key is read.

        Args:
            model: The model's name, "" where the spec gives none.
            options: The other fields of the entry (``base_url``, …); ``file`` as an absolute path.

        Raises:
            ValueError: An option is wrong; the text says which, what was expected, and how to fix it.
        """

    @property
    @abstractmethod
    def identity(self) -> str:
        """All that decides its vectors, weights by their content: vectors are kept under it.

        Raises:
            ValueError: The weights cannot be read.
        """

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, all of one length; called from several threads, and may wait.

        The same text gives the same vector, whatever stands beside it.

        Raises:
            ProviderError: There is no answer.
        """
