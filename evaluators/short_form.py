"""The three ways to write an evaluator in YAML.

::

    evaluators:
      - usage                          # name
      - {contains: warranty}           # {name: argument}: sets the evaluator's own first field
      - {length: {max: 500}}           # {name: {field: value}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import NamedTuple

from orglab.evaluators.base import JSON, EvaluationError, Evaluator, OutputEvaluator
from orglab.evaluators.structured.field_path import nearest
from orglab.providers.registry import load_plugin, plugin_names

__all__ = ["Use", "parse_use", "short_field"]


class Use(NamedTuple):
    """An evaluator's name and its arguments by field."""

    name: str
    arguments: Mapping[str, JSON]


def parse_use(item: JSON) -> Use:
    """Reads one entry of an ``evaluators`` or ``checks`` list in any of its three forms.

    Only the form ``{name: argument}`` looks the evaluator up.

    Raises:
        EvaluationError: It has no such form; or, in that form, no such evaluator is installed or
            it takes no argument.
    """
    if isinstance(item, str):
        return Use(item, {})
    if not isinstance(item, Mapping) or len(item) != 1:
        raise EvaluationError(
            f"{item!r} is no evaluator: write name, {{name: argument}} or {{name: {{field: value}}}}"
        )
    ((name, argument),) = item.items()
    if argument is None or isinstance(argument, Mapping):
        return Use(str(name), argument or {})
    field = short_field(_installed(str(name)))
    if field is None:
        raise EvaluationError(f"{name} takes no argument: write its name alone")
    return Use(str(name), {field: argument})


def short_field(kind: type[Evaluator]) -> str | None:
    """The field that ``{name: argument}`` sets: the first that is not the port's own, or None."""
    port = fields(OutputEvaluator) if issubclass(kind, OutputEvaluator) else ()
    inherited = {field.name for field in port}
    own = [field.name for field in fields(kind) if field.init and field.name not in inherited]
    return own[0] if own else None


def _installed(name: str) -> type[Evaluator]:
    known = plugin_names("orglab.evaluators")
    if name not in known:
        close = nearest(name, known)
        hint = f"did you mean {close!r}?" if close else "installed are: " + ", ".join(known)
        raise EvaluationError(f"no evaluator {name!r} is installed; {hint}")
    try:
        return load_plugin("orglab.evaluators", name)
    except (ImportError, AttributeError) as fault:
        raise EvaluationError(f"the evaluator {name!r} cannot be imported: {fault}") from fault
