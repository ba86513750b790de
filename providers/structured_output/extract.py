"""JSON values that stand in a text among other things: in code fences, or between sentences.

One pass from left to right. Where a value is read, the scan goes on after its end, so that what
looks like a fence or a bracket inside a text of it is never met.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from orglab.providers.base import JSON
from orglab.providers.structured_output.relaxed_json import GAP, relaxed_value
from orglab.providers.structured_output.strict_json import JSONError, value_at

_MARK = re.compile(r"`{3,}|~{3,}|[{\[]")
_BRACKET = re.compile(r"[{\[]")
_LABEL = re.compile(r"[ \t]*([A-Za-z0-9_+#.-]*)")
_BLANK_LINE_END = re.compile(r"[ \t]*(\r?\n|$)")
_JSON_LABELS = frozenset({"", "json", "jsonc", "json5", "jsonl", "ndjson"})
_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
_CLOSERS = re.compile(r"[\s`~]*[}\]][\s`~}\]]*\Z")
_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\s*:")
_OPENING = "\"'}\u201c\u2018"
_MOST = 50

#: Where a turn of someone else begins, as models write it when they play on alone.
_HEADER = re.compile(
    r"^[ \t>*#_]*(?P<name>tool|tool[ _-]?(?:results?|outputs?|responses?)|function(?:[ _]results?)?"
    r"|observations?|user|human|system|assistant|ai)[ \t*_]*(?:\([^)\n]{0,40}\)[ \t*_]*)?:"
    r"|<\|(?:im_start|im_end|eot_id|end|start_header_id|user|assistant|system|tool|endoftext)\|>"
    r"|</?tool_(?:result|response|output)s?>|</?function_results?>|\[/?INST\]|\[TOOL_RESULTS\]"
    r"|<(?:start|end)_of_turn>|</s>",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundValue:
    """Something in a text that is JSON, or was meant to be.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        value: Its value; None where it could not be read.
        error: Why it could not be read; None where it could.
        repaired: It was read only by the relaxed grammar.
        fenced: It stands in a code fence.
        closed: The model closed it itself.
        invented: It follows a turn of someone else that the model wrote itself.
        notes: What was changed to read it, in words.
    """

    start: int
    end: int
    value: JSON = None
    error: JSONError | None = None
    repaired: bool = False
    fenced: bool = False
    closed: bool = True
    invented: bool = False
    notes: tuple[str, ...] = ()


def find_values(
    text: str, fits: Callable[[JSON], bool], *, objects: bool, arrays: bool, close: bool
) -> list[FoundValue]:
    """Return every JSON value in ``text``, in order; of values inside values only the outermost.

    Args:
        text: The reply, reasoning set aside.
        fits: Whether a value fits the schema.
        objects: The schema admits objects: lists that don't fit are looked into.
        arrays: The schema admits lists.
        close: Brackets missing at the very end may be added (the model stopped by itself).
    """
    scan = _Scan(text, fits, objects=objects, arrays=arrays, close=close)
    found = [*scan.values()]
    cut = _others_turn(text, found)
    return [replace(each, invented=True) if each.start >= cut else each for each in found]


def value_spans(text: str) -> list[tuple[int, int]]:
    """Return where the first strict JSON objects and lists of ``text`` stand, up to a limit."""
    spans: list[tuple[int, int]] = []
    at = 0
    for _ in range(_MOST):
        start = _next_bracket(text, at)
        if start < 0:
            break
        try:
            at = value_at(text, start)[1]
            spans.append((start, at))
        except JSONError:
            at = start + 1
    return spans


def _next_bracket(text: str, at: int) -> int:
    mark = _BRACKET.search(text, at)
    return mark.start() if mark else -1


def _others_turn(text: str, found: list[FoundValue]) -> int:
    """Return where the model began to write someone else's turn; past the end where it did not."""
    for header in _HEADER.finditer(text):
        own = (header["name"] or "").lower() in {"assistant", "ai"}
        if own and not text[: header.start()].strip():
            continue
        if not any(each.start <= header.start() < each.end for each in found):
            return header.start()
    return len(text) + 1


class _Scan:
    """The pass; ``at`` is the place it has come to."""

    def __init__(
        self, text: str, fits: Callable[[JSON], bool], *, objects: bool, arrays: bool, close: bool
    ) -> None:
        self.text = text
        self.fits = fits
        self.objects = objects
        self.arrays = arrays
        self.close = close
        self.at = 0
        self.fence = ""
        self.tries = 0

    def values(self) -> Iterator[FoundValue]:
        """Read on to the end, or until there are too many brackets to tell anything."""
        while mark := _MARK.search(self.text, self.at):
            if self.tries > _MOST:
                error = JSONError("there are too many brackets to tell which are the reply")
                yield FoundValue(start=mark.start(), end=len(self.text), error=error)
                return
            found = self.step(mark)
            if found is not None:
                yield found

    def step(self, mark: re.Match[str]) -> FoundValue | None:
        self.at = mark.end()
        if mark.group()[0] in "`~":
            self.turn_fence(mark.group())
            return None
        if mark.group() == "{":
            return self.bracket(mark.start()) if self.begins(mark) else None
        return self.list_at(mark.start())

    def turn_fence(self, marker: str) -> None:
        """Open or closes a fence; a block in another language is passed over whole."""
        if (
            self.fence
            and marker.startswith(self.fence)
            and _BLANK_LINE_END.match(self.text, self.at)
        ):
            self.fence = ""
            return
        label = _LABEL.match(self.text, self.at)
        name = label.group(1).lower() if label else ""
        if name in _JSON_LABELS:
            self.fence = marker
            self.at += len(label.group()) if label and name else 0
            return
        end = self.text.find(marker, self.at)
        self.at = end + len(marker) if end >= 0 else len(self.text)
        self.fence = ""

    def begins(self, mark: re.Match[str]) -> bool:
        """Return whether what follows the brace looks like an object, not like a brace in a sentence."""
        gap = GAP.match(self.text, mark.end())
        after = gap.end() if gap else mark.end()
        sign = self.text[after : after + 1]
        self.tries += sign == "/"  # a comment never closed: looking for its end costs
        return not sign or sign in _OPENING or bool(_BARE_KEY.match(self.text, after))

    def bracket(self, start: int) -> FoundValue | None:
        found = self.read(start)
        gap = GAP.match(self.text, start + 1)
        if found.error is not None and gap and _BARE_KEY.match(self.text, gap.end()):
            return None  # a sentence in braces, such as {note: see below}
        self.at = found.end
        return found

    def list_at(self, start: int) -> FoundValue | None:
        """Return a list, where lists are looked for; else the scan goes on inside it."""
        gap = GAP.match(self.text, start + 1)
        sign = self.text[gap.end() : gap.end() + 1] if gap else ""
        likely = bool(sign) and sign in ('{["' if self.arrays else "{")
        if self.arrays:
            found = self.read(start)
            sure = self.fits(found.value) or not self.objects if not found.error else False
            if sure or (found.error and likely and not self.objects):
                self.at = found.end
                return found
        self.tries += likely
        if likely and _extent(self.text, start) is None:
            error = JSONError("a list is not closed")
            return FoundValue(start=start, end=start, error=error, closed=False)
        return None

    def read(self, start: int) -> FoundValue:
        self.tries += 1
        fenced = bool(self.fence)
        try:
            value, end = value_at(self.text, start)
        except JSONError as error:
            return self.read_relaxed(start, error, fenced)
        stray = bool(_CLOSERS.match(self.text, end)) and start == self.first()
        notes = ("a bracket too many was left out",) if stray else ()
        return FoundValue(
            start=start, end=end, value=value, fenced=fenced, repaired=stray, notes=notes
        )

    def first(self) -> int:
        """Return where the text's first bracket stands: a stray closer after it belongs to no list."""
        return _next_bracket(self.text, 0)

    def read_relaxed(self, start: int, error: JSONError, fenced: bool) -> FoundValue:
        text = self.text.rstrip("`~ \t\r\n") if self.close else self.text
        try:
            value, end, completed = relaxed_value(text, start, close=self.close)
        except JSONError as again:
            stop = _extent(self.text, start)
            end = len(self.text) if stop is None else stop
            shown = again if type(again) is not JSONError else error
            return FoundValue(
                start=start, end=end, error=shown, fenced=fenced, closed=stop is not None
            )
        notes = ("brackets missing at the end were added",) if completed else ("not strict JSON",)
        return FoundValue(
            start=start, end=end, value=value, repaired=True, fenced=fenced, closed=not completed,
            notes=notes,
        )  # fmt: skip


def _extent(text: str, start: int) -> int | None:
    """Return where the bracket at ``start`` is closed; None where it never is."""
    depth = 0
    for piece in _PIECE.finditer(text, start):
        mark = piece.group()
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                return piece.end()
    return None
