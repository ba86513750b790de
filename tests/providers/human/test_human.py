"""A person's answers: the form of a schema, tools, and stopping; through pipes in place of a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.base import Completion, Interrupted, Labels, Message, Request, ToolDefinition
from orglab.providers.human.provider import HumanProvider
from orglab.providers.human.terminal import Terminal, paused_by

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX descriptors")

LOOKUP = ToolDefinition(
    name="lookup",
    description="Looks \x1b[2Ja thing up.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 20}, "n": {"type": "integer"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)


class Sitting:
    """A person who has typed all they will type; ``shown`` is what they saw."""

    def __init__(self, *lines: str) -> None:
        self._in, self._typed = os.pipe()
        self._shown, self._out = os.pipe()
        os.set_blocking(self._shown, False)
        os.write(self._typed, "".join(f"{line}\n" for line in lines).encode())
        self.terminal = Terminal(self._in, self._out)
        self.provider = HumanProvider("anna", self.terminal)
        self._seen = b""

    def leave(self) -> None:
        """Presses Ctrl-D."""
        os.close(self._typed)

    @property
    def shown(self) -> str:
        """All that was written."""
        try:
            while data := os.read(self._shown, 65536):
                self._seen += data
        except BlockingIOError:
            pass
        return self._seen.decode()

    def close(self) -> None:
        """Closes what is open."""
        for fd in (self._in, self._shown, self._out):
            os.close(fd)
        with suppress(OSError):  # Ctrl-D was pressed
            os.close(self._typed)


@pytest.fixture
def sit() -> Iterator[Any]:
    """Makes sittings, and closes them."""
    made: list[Sitting] = []

    def new(*lines: str) -> Sitting:
        made.append(Sitting(*lines))
        return made[-1]

    yield new
    for each in made:
        each.close()


def request(schema: Any = None, **rest: Any) -> Request:
    """A request of one message."""
    messages = (Message(role="user", content="What \x1b]0;now\x07?"),)
    return Request(model="", messages=messages, schema=schema, **rest)


async def filled(sitting: Sitting, schema: Any) -> Any:
    """What the form of a schema gives."""
    said = await sitting.provider.complete(request(schema))
    assert said.native
    return json.loads(said.text)


def of(**properties: Any) -> dict[str, Any]:
    """An object of required properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


async def test_free_text_ends_with_a_dot_alone(sit: Any) -> None:
    """Lines are kept, empty ones between them too; nothing at all is asked for again."""
    sitting = sit(".", "One.", "", "Two.", ".")
    said: Completion = await sitting.provider.complete(request())
    assert said.text == "One.\n\nTwo."
    assert said.model == "anna"
    assert not said.simulated
    assert "Nothing was said. Once more:" in sitting.shown


async def test_what_models_wrote_cannot_steer_the_terminal(sit: Any) -> None:
    """Escapes of messages and of tools' descriptions are written out."""
    sitting = sit("/tool lookup", "tea", "3")
    await sitting.provider.complete(request(tools=(LOOKUP,)))
    assert "\x1b" not in sitting.shown
    assert "What ␛]0;now␇?" in sitting.shown


@pytest.mark.parametrize(
    ("schema", "lines", "value"),
    [
        (of(a={"enum": ["x", 2, None]}), ["9", "2"], {"a": 2}),
        (of(a={"type": "boolean"}), ["maybe", "y"], {"a": True}),
        (of(a={"type": "integer", "minimum": 1}), ["none", "0", "3"], {"a": 3}),
        (of(a={"type": "number"}), ["NaN", "2.5"], {"a": 2.5}),
        (of(a={"type": "string", "maxLength": 3}), ["long", "ok"], {"a": "ok"}),
        (of(a={"type": "string"}), ["x", ".", ], {"a": "x"}),
        (of(a={"const": 1}, b={"type": "null"}), [], {"a": 1, "b": None}),
        (of(a={"type": ["integer", "null"]}), ["2"], {"a": None}),
        (of(a={"type": "array", "items": {"type": "integer"}, "minItems": 1}), ["1", "y", "2", "n"], {"a": [1, 2]}),
        (of(a=of(b={"type": "integer"})), ["4"], {"a": {"b": 4}}),
        (of(a={"anyOf": [{"type": "integer"}, of(b={"type": "boolean"})]}), ["2", "n"], {"a": {"b": False}}),
        ({**of(a={"$ref": "#/$defs/n"}), "$defs": {"n": {"type": "integer"}}}, ["7"], {"a": 7}),
        (of(a={"allOf": [{"type": "integer"}, {"minimum": 2}]}), ["1", "2"], {"a": 2}),
        (of(a={}), ["{", '{"free": [1]}'], {"a": {"free": [1]}}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, ["k", "1", ""], {"k": 1}),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, [""], {}),
        ({"type": "object", "properties": {"a": of(b={"type": "integer"})}}, ["n"], {}),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, ["."], {}),
        ({**of(a={"type": "integer"}, b={"type": "integer"}), "maxProperties": 2, "not": of(a={"const": 1})}, ["1", "2", "3", "4"], {"a": 3, "b": 4}),
    ],
)  # fmt: skip
async def test_a_form_gives_what_fits(sit: Any, schema: Any, lines: list[str], value: Any) -> None:
    """Every kind of field; what does not fit is asked for again."""
    assert await filled(sit(*lines), schema) == value


async def test_a_tool_is_called_in_place_of_an_answer(sit: Any) -> None:
    """`/tool NAME` asks for its arguments; a name that is none is told."""
    sitting = sit("/tool look", "/tool lookup", "tea", "")
    said = await sitting.provider.complete(request(of(a={"type": "string"}), tools=(LOOKUP,)))
    assert "There is no tool 'look'; there are: lookup." in sitting.shown
    (call,) = said.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("lookup", {"word": "tea"})
    assert said.stop == "tool_calls"


async def test_no_tool_is_offered_when_the_turn_must_answer(sit: Any) -> None:
    """The engine took them away."""
    sitting = sit("/tool lookup", "Done.", ".")
    said = await sitting.provider.complete(request(tools=(LOOKUP,), must_answer=True))
    assert said.text == "Done."
    assert "No tool may be called now." in sitting.shown


async def test_a_later_call_of_a_turn_shows_what_is_new(sit: Any) -> None:
    """The result of the tool, not the whole conversation again; `/show` shows it all."""
    messages = (
        Message(role="user", content="First words."),
        Message(role="assistant", content="Asked."),
        Message(role="tool", content='{"n": 1}', tool_call_id="x"),
    )
    sitting = sit("x", ".", "/show", "y", ".")
    asked = Request(model="", messages=messages, labels=Labels(call=1))
    await sitting.provider.complete(asked)
    assert "First words." not in sitting.shown
    assert '{"n": 1}' in sitting.shown
    await sitting.provider.complete(asked)
    assert "First words." in sitting.shown


async def test_a_line_that_begins_with_a_slash_is_written_with_two(sit: Any) -> None:
    """So that no text is taken for a command."""
    said = await sit("//show it", ".").provider.complete(request())
    assert said.text == "/show it"


async def test_an_editor_is_opened(
    sit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/edit` takes what the editor leaves."""
    script = tmp_path / "editor.py"
    script.write_text("import sys; open(sys.argv[1], 'w').write('Long\\nwords.\\n')", "utf-8")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    said = await sit("/edit").provider.complete(request())
    assert said.text == "Long\nwords."


async def test_the_end_of_input_stops_and_nobody_is_asked_again(sit: Any) -> None:
    """Ctrl-D is no fault of a call."""
    sitting = sit("half a")
    sitting.leave()
    with pytest.raises(Interrupted, match="stopped"):
        await sitting.provider.complete(request())
    with pytest.raises(Interrupted, match="stopped"):
        await sitting.provider.complete(request())


async def test_hanging_up_wakes_who_waits_for_the_person(sit: Any) -> None:
    """Ctrl-C does not wait for a line that never comes."""
    sitting = sit()
    asked = asyncio.create_task(sitting.provider.complete(request()))
    while "Your answer" not in sitting.shown:  # noqa: ASYNC110 - a pipe has no event
        await asyncio.sleep(0)
    sitting.terminal.hang_up()
    with pytest.raises(Interrupted, match="stopped"):
        await asked


async def test_one_person_is_asked_one_thing_at_a_time(sit: Any) -> None:
    """Two turns side by side: one after the other, and the second has waited."""
    sitting = sit("One.", ".", "Two.", ".")
    first, second = await asyncio.gather(
        sitting.provider.complete(request()), sitting.provider.complete(request())
    )
    assert (first.text, second.text) == ("One.", "Two.")
    assert second.waiting_seconds > 0 < first.service_seconds


async def test_what_else_writes_to_the_terminal_pauses_meanwhile(sit: Any) -> None:
    """A progress bar is away while a person is asked."""
    told: list[str] = []

    @contextmanager
    def pause() -> Iterator[None]:
        told.append("away")
        yield
        told.append("back")

    with paused_by(pause):
        await sit("x", ".").provider.complete(request())
    await sit("x", ".").provider.complete(request())
    assert told == ["away", "back"]


def test_without_a_terminal_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, before anything is asked."""
    monkeypatch.setattr(sys, "__stdin__", None)
    with pytest.raises(ValueError, match="there is no terminal to ask them at"):
        HumanProvider.from_spec("", {})
