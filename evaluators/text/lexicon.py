"""Lexicons: lists of words and phrases by class, found in a text longest first."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import regex
import yaml

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.text.normalize import WORD_BEGINS, WORD_ENDS, fold, fold_case

NOT_COUNTED: Final = "none"
"""The class of entries that are found, so that nothing inside them is, and not counted."""

_LARGEST = 1_000_000  # characters
_MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """Terms with their classes.

    Attributes:
        classes: The class of each term; terms are folded, without differences of case.
    """

    classes: Mapping[str, str]

    @cached_property
    def _pattern(self) -> regex.Pattern[str]:
        longest = sorted(self.classes, key=lambda term: (-len(term), term))
        each = "|".join(regex.escape(term, special_only=True) for term in longest)
        return regex.compile(f"{WORD_BEGINS}(?:{each}){WORD_ENDS}")

    @property
    def counted(self) -> list[str]:
        """The classes that count, sorted."""
        return sorted(set(self.classes.values()) - {NOT_COUNTED})

    def found(self, text: str) -> Iterator[str]:
        """Yield each term that counts, where it stands in ``text``, from left to right.

        At each place the longest term is taken, as whole words, and what it covers is not
        looked at again. Capitals do not matter.
        """
        for match in self._pattern.finditer(fold_case(fold(text))):
            if self.classes[match.group()] != NOT_COUNTED:
                yield match.group()


def load_lexicon(file: Path | None, default: str) -> Lexicon:
    """Return the lexicon in ``file``; without one, the list ``default`` that orglab brings.

    Raises:
        EvaluationError: The file cannot be read, or is no lexicon.
    """
    if file is None:
        return _shipped(default)
    try:
        changed = file.stat()
    except OSError as fault:
        raise EvaluationError(f"{file.name}: {fault.strerror or 'unreadable'}") from None
    return _read_file(file, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=8)
def _shipped(name: str) -> Lexicon:
    return _parse_file(files("orglab.evaluators.text.lexicons") / name)


@lru_cache(maxsize=32)
def _read_file(file: Path, _changed: int, _size: int) -> Lexicon:
    return _parse_file(file)


def _parse_file(file: Path | Traversable) -> Lexicon:
    try:
        return read_lexicon(file.read_text(encoding="utf-8-sig"), Path(file.name).suffix)
    except (OSError, ValueError) as fault:
        raise EvaluationError(f"{file.name}: {fault}") from None


def read_lexicon(text: str, ending: str) -> Lexicon:
    """Read a lexicon.

    Args:
        text: ``.yaml``: a list of terms under each class; ``.csv``: the columns ``term`` and
            ``class``; ``.txt``: a term a line, all of the class ``hedge``.
        ending: Which of these it is.

    Raises:
        ValueError: It is none of these, has no terms, or gives one term two classes.
    """
    readers = {".yaml": _yaml_terms, ".yml": _yaml_terms, ".csv": _csv_terms, ".txt": _text_terms}
    if ending.lower() not in readers:
        raise ValueError(f"a lexicon is a .yaml, .csv or .txt file, not {ending!r}")
    if len(text) > _LARGEST:
        raise ValueError(f"longer than {_LARGEST:,} characters")
    classes: dict[str, str] = {}
    for written, its_class in readers[ending.lower()](text):
        term = fold_case(fold(written))
        if classes.setdefault(term, its_class) != its_class:
            raise ValueError(f"{term!r} is of two classes, {classes[term]!r} and {its_class!r}")
    classes.pop("", None)
    if not 0 < len(classes) <= _MOST:
        raise ValueError(f"{len(classes)} terms; there must be 1 to {_MOST:,}")
    return Lexicon(classes=classes)


def _yaml_terms(text: str) -> Iterable[tuple[str, str]]:
    try:
        data = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes texts, lists and maps alone
    except (yaml.YAMLError, RecursionError) as fault:
        raise ValueError(f"no YAML: {' '.join(str(fault).split())}") from None
    if not isinstance(data, dict):
        raise ValueError("write a list of terms under each class: `modal: [may, might]`")
    for its_class, terms in data.items():
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            raise ValueError(f"the class {its_class!r} must hold a list of terms")
        yield from ((term, str(its_class)) for term in terms)


def _csv_terms(text: str) -> Iterable[tuple[str, str]]:
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as fault:
        raise ValueError(f"no CSV: {fault}") from None
    for number, row in enumerate(rows, 2):
        if not row.get("term") or not row.get("class"):
            raise ValueError(f"row {number}: the columns `term` and `class` must both be filled")
        yield row["term"], row["class"]


def _text_terms(text: str) -> Iterable[tuple[str, str]]:
    return ((line, "hedge") for line in text.splitlines() if line.strip())
