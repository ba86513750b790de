"""Evidence in a simulated report: figures of tools, reported correctly at the profile's rate."""

from __future__ import annotations

from collections.abc import Mapping

from orglab.providers.base import JSON
from orglab.providers.simulated.call_context import CallContext
from orglab.providers.simulated.prose import WORDS
from orglab.providers.simulated.schema_sampler import NOTHING
from orglab.providers.simulated.tool_observations import ObservedFigure

_MEASURES = ("mean", "median", "max", "min")
_MOST_FIGURES = 3
_MEASURE_NAMES = WORDS["measure_names"]


class ReportHints:
    """Hints for one structured reply: evidence from tool observations, and its columns."""

    def __init__(self, context: CallContext) -> None:
        self._context = context
        self._stream = context.stream
        self._figures = self._choose()

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        """Return the value of a field that evidence decides, else ``NOTHING``."""
        if schema.get("type") == "array":
            item = schema.get("items")
            if isinstance(item, dict) and _is_evidence(item):
                return self._evidence(item, schema)
            if name == "columns" and _takes_text(item):
                return self._columns(schema)
        if schema.get("type") == "string" and name in ("insight", "finding", "claim", "conclusion"):
            return self._sentence(schema)
        return NOTHING

    def _choose(self) -> list[ObservedFigure]:
        """Return figures to report: observed ones, else an invented one."""
        figures = [each for each in self._context.observed.figures if each.measure != "distinct"]
        order = self._stream.shuffled(figures or self._context.observed.figures)
        chosen = order[: self._stream.between(1, _MOST_FIGURES)]
        return [self._reported(each) for each in chosen] or [self._invented()]

    def _reported(self, figure: ObservedFigure) -> ObservedFigure:
        columns = tuple(self._context.column([each]) for each in figure.columns)
        value = figure.value
        if not self._stream.chance(self._context.profile.truthful):
            value = self._wrong(figure)
        return ObservedFigure(
            measure=figure.measure, columns=columns, where=figure.where, value=value
        )

    def _wrong(self, figure: ObservedFigure) -> float:
        """Return a clearly different figure of the same kind."""
        if figure.measure in ("pearson", "spearman"):
            return round(max(-0.99, min(0.99, -figure.value + 0.21)), 2)
        if figure.measure in ("count", "distinct"):
            return int(figure.value * 2) + self._stream.between(1, 9)
        return round(figure.value * self._stream.pick((0.1, 0.5, 2.0, 10.0)) + 1.0, 3)

    def _invented(self) -> ObservedFigure:
        column = self._context.column(
            self._context.observed.numeric or list(self._context.observed.columns)
        )
        value = round(self._stream.real(1.0, 100.0), 2)
        return ObservedFigure(
            measure=self._stream.pick(_MEASURES), columns=(column,), where="", value=value
        )

    def _evidence(self, item: Mapping[str, JSON], schema: Mapping[str, JSON]) -> JSON:
        fields = item["properties"]
        allowed = fields.get("measure", {}).get("enum")
        figures = [each for each in self._figures if allowed is None or each.measure in allowed]
        made = [_item(each, fields) for each in figures[: schema.get("maxItems", _MOST_FIGURES)]]
        return made if len(made) >= max(1, schema.get("minItems", 0)) else NOTHING

    def _columns(self, schema: Mapping[str, JSON]) -> JSON:
        named = list(dict.fromkeys(name for figure in self._figures for name in figure.columns))
        known = list(self._context.observed.columns)
        if not named:
            named = [self._context.column(known)]
        short = named[: schema.get("maxItems", len(named))]
        return short if len(short) >= schema.get("minItems", 0) else NOTHING

    def _sentence(self, schema: Mapping[str, JSON]) -> JSON:
        """Return a sentence that states the first figure, and filler after it."""
        figure = self._figures[0]
        of = " and ".join(figure.columns) or "the rows"
        rows = f" where {figure.where}" if figure.where else ""
        measure = " ".join(_MEASURE_NAMES.get(figure.measure, [figure.measure]))
        sentence = (
            f"The {measure} of {of}{rows} is {figure.value:g}. {self._context.prose.text(12)}"
        )
        most, least = schema.get("maxLength", len(sentence)), schema.get("minLength", 0)
        return sentence if least <= len(sentence) <= most else NOTHING


def _is_evidence(item: Mapping[str, JSON]) -> bool:
    """Return whether items are ``{measure, columns, value, …}``."""
    fields = item.get("properties")
    return isinstance(fields, dict) and {"measure", "columns", "value"} <= fields.keys()


def _takes_text(item: JSON) -> bool:
    return isinstance(item, dict) and item.get("type") == "string" and "enum" not in item


def _item(figure: ObservedFigure, fields: Mapping[str, JSON]) -> dict[str, JSON]:
    whole = {
        "measure": figure.measure,
        "columns": list(figure.columns),
        "where": figure.where,
        "value": figure.value,
    }
    return {name: value for name, value in whole.items() if name in fields}
