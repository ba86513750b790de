"""A model's entry that stands outside a topology, such as a judge's: checked, and made a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from orglab.engine.spec.build import model_of
from orglab.engine.spec.canonical_form import model_form
from orglab.engine.spec.compose.sources import Sources
from orglab.engine.spec.errors import Problem, path_text
from orglab.engine.spec.model import Model
from orglab.engine.spec.plugin_settings import PluginCheck
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.source_map import Mark, Marks, Place
from orglab.providers.base import JSON


def model_of_entry(
    entry: Mapping[str, JSON], folder: Path, alias: str = "", *, trust: bool = False
) -> Model:
    """Return the model of an entry.

    Args:
        entry: As in a spec's ``models``.
        folder: The folder that files it names lie in.
        alias: What the model is called.
        trust: The user wrote or trusts the entry: a key may be sent where it says.

    Raises:
        ValueError: The entry is wrong; all that is, in words.
    """
    problems = shape_problems(dict(entry), "model")
    check = PluginCheck(
        marks=Marks(Place(Mark("", 0, 0))),
        sources=Sources(folder=folder),
        problems=[],
        files={},
        arguments={},
        trust=trust,
    )
    check.document({"models": {alias: dict(entry)}})
    known = {problem.path for problem in problems}
    found = [replace(each, path=each.path[2:]) for each in check.problems]
    problems += [each for each in found if each.path not in known]
    if problems:
        raise ValueError("; ".join(_message(problem) for problem in problems))
    files = {str(path[2]): file for path, file in check.files.items()}
    if "model" in files:
        files["file"] = files.pop("model")
    named = {key: os.path.relpath(file, folder.resolve()) for key, file in files.items()}
    return model_of(alias, model_form({**entry, **named}), folder)


def _message(problem: Problem) -> str:
    said = "; ".join(part for part in (problem.wrong, problem.expected, problem.hint) if part)
    return f"{path_text(problem.path)}: {said}" if problem.path else said
