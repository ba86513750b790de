"""The tools from elsewhere that a study has at work: one source each, whoever calls it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from orglab.engine.spec.model import ToolUse
from orglab.engine.spec.validate.tool_sources import made_source
from orglab.providers.base import JSON
from orglab.providers.registry import load_plugin
from orglab.providers.tool_source import OpenSource


class SourcePool:
    """Opens each source when it is first called, and closes all at the end of the study."""

    def __init__(self) -> None:
        """Create an empty pool."""
        self._open: dict[str, OpenSource] = {}

    async def call(self, use: ToolUse, arguments: Mapping[str, JSON], *, folder: Path) -> JSON:
        """Call a tool of a source.

        Args:
            use: The tool; arms that declare the same source share it.
            arguments: All arguments, fixed ones included.
            folder: The spec's folder.

        Raises:
            ToolError: The tool refuses, crashed or was too slow.
            ConnectionError: The source cannot be reached, or is not the frozen one.
        """
        return await self._source(use, folder).call(use.tool, arguments)

    def _source(self, use: ToolUse, folder: Path) -> OpenSource:
        key = json.dumps([use.use, str(folder), use.settings, use.served], sort_keys=True)
        if key not in self._open:
            made = made_source(load_plugin("orglab.tools", use.use), use.settings)
            self._open[key] = made.open(folder, use.served)
        return self._open[key]

    async def aclose(self) -> None:
        """Close every source."""
        sources, self._open = list(self._open.values()), {}
        for source in sources:
            await source.aclose()
