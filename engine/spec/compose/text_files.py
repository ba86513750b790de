"""Text files put in the place of ``{file: …}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from orglab.engine.spec.compose.overrides import patched
from orglab.engine.spec.compose.sources import Sources, file_of
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.validate.path_confinement import (
    FileRefused,
    confined_file,
    read_confined_text,
)
from orglab.engine.spec.validate.references import items
from orglab.engine.spec.yaml.source_map import Marks
from orglab.providers.base import JSON

TEXTS_LIMIT: Final = 32 * 2**20
"""Characters that the text files of one document may add up to, each counted as often as named."""


def inlined_texts(
    data: Mapping[str, JSON], marks: Marks, sources: Sources
) -> tuple[dict[str, JSON], list[Problem]]:
    """Return ``data`` with each ``{file: …}`` of a text read; a file that cannot be read gives no text."""
    problems: list[Problem] = []
    texts: dict[SpecPath, JSON] = {}
    known: dict[tuple[str, str], str] = {}
    total = 0
    for path, value in _texts(data):
        if (name := file_of(value)) is None:
            continue
        key = (marks.value((*path, "file")).file, name)
        try:
            if key not in known:
                origin = sources.origin(key[0])
                path_of_text = confined_file(name, folder=origin.folder, root=origin.root)
                known[key] = read_confined_text(path_of_text)
            texts[path] = known[key]
            total += len(known[key])
            if total > TEXTS_LIMIT:
                raise FileRefused(
                    f"texts from files add up to more than {TEXTS_LIMIT:,} characters"
                )
        except FileRefused as refused:
            problems.append(Problem(path=(*path, "file"), wrong=f"{name}: {refused}"))
            texts[path] = ""
            if total > TEXTS_LIMIT:
                break
    found: dict[str, JSON] = patched(data, texts)
    return found, problems


def _texts(data: Mapping[str, JSON]) -> Iterator[tuple[SpecPath, JSON]]:
    """Yield every place of a text that may be a file."""
    for name, role in items(data.get("roles")):
        if isinstance(role, dict):
            for key in ("system", "prompt"):
                yield ("roles", name, key), role.get(key)
    for name, text in items(data.get("templates")):
        yield ("templates", name), text
    for index, link in items(data.get("links")):
        if isinstance(link, dict):
            yield ("links", index, "directive"), link.get("directive")
            for number, phase in items(link.get("review")):
                if isinstance(phase, dict):
                    yield ("links", index, "review", number, "prompt"), phase.get("prompt")
