"""Evidence in a simulated report: figures that tools gave, told truly or not, as a profile says."""

from __future__ import annotations

from collections.abc import Mapping

from orglab.providers.base import JSON
from orglab.providers.simulated.profile import Profile
from orglab.providers.simulated.prose import Prose
from orglab.providers.simulated.random_stream import Draws
from orglab.providers.simulated.schema_sampler import NOTHING
from orglab.providers.simulated.seen_figures import Figure
from orglab.providers.simulated.tool_observations import Sightings
from orglab.providers.simulated.tool_policy import column_name

__all__ = ["ReportHints"]

_MEASURES = ("mean", "median", "max", "min")
_MOST = 3
_SAID = {
    "count": "number",
    "distinct": "number of different values",
    "max": "highest value",
    "min": "lowest value",
    "pearson": "Pearson correlation",
    "spearman": "Spearman correlation",
    "std": "standard deviation",
}


class ReportHints:
    """Hints for one structured reply: evidence from what was seen, and columns that go with it."""

    def __init__(self, seen: Sightings, draws: Draws, prose: Prose, profile: Profile) -> None:
        self._seen = seen
        self._draws = draws
        self._prose = prose
        self._profile = profile
        self._figures = self._choose()

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        """The value of a field that evidence decides, else ``NOTHING``."""
        if schema.get("type") == "array":
            item = schema.get("items")
            if isinstance(item, dict) and _is_evidence(item):
                return self._evidence(item, schema)
            if name == "columns" and _takes_text(item):
                return self._columns(schema)
        if schema.get("type") == "string" and name in ("insight", "finding", "claim", "conclusion"):
            return self._sentence(schema)
        return NOTHING

    def _choose(self) -> list[Figure]:
        """Figures to report: seen ones, told truly or not; made-up ones where none was seen."""
        figures = [each for each in self._seen.figures if each.measure != "distinct"]
        order = self._draws.shuffled(figures or self._seen.figures)
        chosen = order[: self._draws.between(1, _MOST)]
        return [self._told(each) for each in chosen] or [self._made_up()]

    def _told(self, figure: Figure) -> Figure:
        columns = tuple(column_name([each], self._draws, self._profile) for each in figure.columns)
        value = figure.value
        if not self._draws.chance(self._profile.truthful):
            value = self._wrong(figure)
        return Figure(measure=figure.measure, columns=columns, where=figure.where, value=value)

    def _wrong(self, figure: Figure) -> float:
        """A figure of the same kind that is plainly another."""
        if figure.measure in ("pearson", "spearman"):
            return round(max(-0.99, min(0.99, -figure.value + 0.21)), 2)
        if figure.measure in ("count", "distinct"):
            return int(figure.value * 2) + self._draws.between(1, 9)
        return round(figure.value * self._draws.pick((0.1, 0.5, 2.0, 10.0)) + 1.0, 3)

    def _made_up(self) -> Figure:
        column = column_name(
            self._seen.numeric or list(self._seen.columns), self._draws, self._profile
        )
        value = round(self._draws.real(1.0, 100.0), 2)
        return Figure(measure=self._draws.pick(_MEASURES), columns=(column,), where="", value=value)

    def _evidence(self, item: Mapping[str, JSON], schema: Mapping[str, JSON]) -> JSON:
        fields = item["properties"]
        allowed = fields.get("measure", {}).get("enum")
        figures = [each for each in self._figures if allowed is None or each.measure in allowed]
        made = [_item(each, fields) for each in figures[: schema.get("maxItems", _MOST)]]
        return made if len(made) >= max(1, schema.get("minItems", 0)) else NOTHING

    def _columns(self, schema: Mapping[str, JSON]) -> JSON:
        named = list(dict.fromkeys(name for figure in self._figures for name in figure.columns))
        known = list(self._seen.columns)
        if not named:
            named = [column_name(known, self._draws, self._profile)]
        short = named[: schema.get("maxItems", len(named))]
        return short if len(short) >= schema.get("minItems", 0) else NOTHING

    def _sentence(self, schema: Mapping[str, JSON]) -> JSON:
        """A sentence that says the first figure, and filler after it."""
        figure = self._figures[0]
        of = " and ".join(figure.columns) or "the rows"
        rows = f" where {figure.where}" if figure.where else ""
        measure = _SAID.get(figure.measure, figure.measure)
        said = f"The {measure} of {of}{rows} is {figure.value:g}. {self._prose.text(12)}"
        most, least = schema.get("maxLength", len(said)), schema.get("minLength", 0)
        return said if least <= len(said) <= most else NOTHING


def _is_evidence(item: Mapping[str, JSON]) -> bool:
    """Whether items are ``{measure, columns, value, …}``."""
    fields = item.get("properties")
    return isinstance(fields, dict) and {"measure", "columns", "value"} <= fields.keys()


def _takes_text(item: JSON) -> bool:
    return isinstance(item, dict) and item.get("type") == "string" and "enum" not in item


def _item(figure: Figure, fields: Mapping[str, JSON]) -> dict[str, JSON]:
    whole = {
        "measure": figure.measure,
        "columns": list(figure.columns),
        "where": figure.where,
        "value": figure.value,
    }
    return {name: value for name, value in whole.items() if name in fields}
