"""The port of tools from elsewhere: what they are is known only when someone is asked.

A ``Tool`` (``base``) is known by its class. The tools of a *source* are known by asking it: a server
lists what it serves, a function has a signature. What a source says is asked once, when the spec is
loaded, and is part of the frozen spec from then on. A source runs what the spec names, so it works
only where the user trusts the spec (``--trust``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from orglab.providers.base import JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedTool:
    """One tool that a source gives.

    Attributes:
        name: Its name, as the source knows it.
        description: Its description for the model.
        parameters: JSON Schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, JSON]


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """What a source is, and what it gives.

    Attributes:
        what: Names, versions and contents by which it is known, as plain data.
        tools: Its tools, in its own order.
    """

    what: Mapping[str, JSON]
    tools: tuple[ServedTool, ...]


class OpenSource(ABC):
    """A source at work, for one study."""

    @abstractmethod
    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> JSON:
        """Call a tool by the source's own name for it.

        Returns:
            A bounded value that strict JSON can hold.

        Raises:
            ToolError: The tool refuses, crashed or was too slow; the model reads the text.
            ConnectionError: The source cannot be reached, or is another than the one that was
                frozen: the study cannot go on.
        """

    async def aclose(self) -> None:  # noqa: B027 - most sources hold nothing
        """Free what the source holds. Called once, at the end of the study."""


class ToolSource(ABC):
    """A thing that gives tools: a dataclass whose fields are its settings, as a ``Tool``'s are.

    Settings hold no templates: a source is the same for all units.
    """

    #: Its tools are called ``NAME_tool``, for as many as there are; else there is one, ``NAME``.
    many: ClassVar[bool] = False
    #: Why it wants trust, after its name: "runs a program of this machine".
    risk: ClassVar[str]

    @abstractmethod
    def served(self, folder: Path) -> Served:
        """Ask what it is and gives; may block.

        Args:
            folder: The spec's folder.

        Raises:
            ValueError: It cannot be asked, or says what cannot be used; in words.
        """

    @abstractmethod
    def open(self, folder: Path, served: Mapping[str, JSON]) -> OpenSource:
        """Return the source at work; nothing is started before the first call.

        Args:
            folder: The spec's folder.
            served: What was frozen: ``what``, and ``tools`` by their names in the spec.
        """
