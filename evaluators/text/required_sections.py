"""Are the headings that a report must have there?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from orglab.evaluators.base import Context, Output, OutputEvaluator, Scale, Score
from orglab.evaluators.structured.field_path import no_field, text_at
from orglab.evaluators.text.normalize import fold, fold_case, fold_lines

_FENCE = re.compile(r" ?(`{3,}|~{3,})")
_ATX = re.compile(r" ?#{1,6} (.*?)(?: #+)?$")
_UNDERLINE = re.compile(r" ?(?:=+|-{2,})$")
_NUMBERING = re.compile(r"(?:\d+(?:\.\d+)*[.):]?|[ivxlc]+[.)]) +", re.IGNORECASE)
_MARKUP = re.compile(r"[*_`]")


@dataclass(frozen=True, kw_only=True)
class RequiredSections(OutputEvaluator):
    """How many of the required Markdown headings are missing; passes with none missing.

    Headings are ``## Title`` of any level and lines underlined with ``===`` or ``---``; those in
    fenced code do not count. Case, numbering (``2.``), emphasis and a colon at the end do not
    matter.

    Attributes:
        sections: The headings.
        field: Look at this field of a structured output alone.
    """

    scale: ClassVar[Scale] = "count"

    sections: Sequence[str]
    field: str | None = None

    def __post_init__(self) -> None:
        if not self.sections or not all(_title(each) for each in self.sections):
            raise ValueError("sections must be a list of headings, at least one and none empty")

    async def look(self, output: Output, context: Context) -> Score:
        """Compare the headings of the text with those required."""
        held = text_at(output, self.field)
        if held is None:
            return self.score(None, no_field(self.field))
        found = headings(held)
        titles = {_title(heading) for heading in found}
        missing = [each for each in self.sections if _title(each) not in titles]
        reason = ""
        if missing:
            names = ", ".join(repr(each) for each in missing)
            reason = f"missing sections: {names}; write each as a heading, '## {missing[0]}'"
        return self.score(
            len(missing), reason, passed=not missing, detail={"missing": missing, "found": found}
        )


def headings(text: str) -> list[str]:
    """Return the Markdown headings of a text, in order, without their marks."""
    return list(_headings(fold_lines(text).split("\n")))


def _headings(lines: Sequence[str]) -> Iterator[str]:
    fence, before = "", ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if mark and line.strip().startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark.group(1)
        elif atx := _ATX.match(line):
            yield atx.group(1)
        elif before and _UNDERLINE.match(line):
            yield before
        before = "" if fence or mark or _ATX.match(line) else line


def _title(heading: str) -> str:
    plain = _MARKUP.sub("", fold_case(fold(heading.lstrip("#")))).strip()
    return _NUMBERING.sub("", plain, count=1).rstrip(" :.")
