"""``python``: a function of the user's as a tool, its parameters read from its type hints."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from orglab.engine.tools.bounded_json import CHARACTERS, check_bounds
from orglab.engine.tools.mcp.result import fitted
from orglab.engine.tools.python.import_function import Imported, imported
from orglab.engine.tools.python.signature import description_of, parameters_of
from orglab.providers.base import JSON, ToolError
from orglab.providers.tool_source import OpenSource, Served, ServedTool, ToolSource

_FUNCTION: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_WORDS: Final = 2_000  # characters of a failure


@dataclass(frozen=True, kw_only=True)
class PythonFunction(ToolSource):
    """A Python function.

    Attributes:
        function: ``module:function``: ``module.py`` in the spec's folder, else an installed module.
        arguments: Arguments that are fixed, whatever the model asks; templates are allowed.
        seconds: After so many seconds a call is given up. A function that is not ``async`` runs on
            in its thread.
        characters: The largest result, in characters of JSON.
    """

    risk: ClassVar[str] = "runs Python code"

    function: str
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    seconds: float = 60.0
    characters: int = CHARACTERS

    def __post_init__(self) -> None:
        """Refuse what is no function's name."""
        if not isinstance(self.function, str) or not _FUNCTION.fullmatch(self.function):
            raise ValueError("`function` must be `module:function`, such as `lookup:price_of`")
        check_bounds(self.seconds, self.characters)

    def served(self, folder: Path) -> Served:
        """Import the function, and read its signature and docstring."""
        found = self._imported(folder)
        tool = ServedTool(
            name=self.function.partition(":")[2],
            description=description_of(found.function),
            parameters=parameters_of(found.function),
        )
        return Served(what=found.what, tools=(tool,))

    def open(self, folder: Path, served: Mapping[str, JSON]) -> OpenSource:
        """Return the function, imported by the first call."""
        return _AtWork(self, folder, served)

    def _imported(self, folder: Path) -> Imported:
        module, _, name = self.function.partition(":")
        return imported(module, name, folder)


class _AtWork(OpenSource):
    def __init__(self, source: PythonFunction, folder: Path, served: Mapping[str, JSON]) -> None:
        self._source, self._folder, self._frozen = source, folder, served
        self._function: Callable[..., Any] | None = None

    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> JSON:
        """Call the function; an exception becomes a ``ToolError`` for the model."""
        function = self._function or self._loaded()
        try:
            async with asyncio.timeout(self._source.seconds):
                value = await _called(function, arguments)
        except TimeoutError:
            raise ToolError(
                f"{tool} gave no result within {self._source.seconds:g} seconds"
            ) from None
        except ToolError:
            raise
        except Exception as fault:
            raise ToolError(f"{type(fault).__name__}: {fault}"[:_WORDS]) from fault
        return fitted(value, self._source.characters)

    def _loaded(self) -> Callable[..., Any]:
        try:
            found = self._source._imported(self._folder)  # noqa: SLF001 - its own class
        except ValueError as fault:
            raise ConnectionError(str(fault)) from fault
        if dict(found.what) != dict(self._frozen["what"]):
            raise ConnectionError(f"`{self._source.function}` changed since this study began")
        self._function = found.function
        return found.function


async def _called(function: Callable[..., Any], arguments: Mapping[str, JSON]) -> object:
    if inspect.iscoroutinefunction(function):
        result: object = await function(**arguments)
        return result
    return await _in_thread(function, arguments)


async def _in_thread(function: Callable[..., Any], arguments: Mapping[str, JSON]) -> object:
    """Run a blocking function in a thread and return its result.

    The thread is a daemon, so that a function which never ends does not keep the process alive.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def set_outcome(value: object, fault: BaseException | None) -> None:
        if done.done():
            return  # given up
        if fault is None:
            done.set_result(value)
        else:
            done.set_exception(ToolError(f"{type(fault).__name__}: {fault}"[:_WORDS]))

    def work() -> None:
        value: object = None
        fault: BaseException | None = None
        try:
            value = context.run(function, **arguments)
        except BaseException as raised:  # noqa: BLE001 - `sys.exit` in a tool ends no study
            fault = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(set_outcome, value, fault)

    threading.Thread(target=work, daemon=True, name=f"tool {function.__name__}").start()
    return await done
