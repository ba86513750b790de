"""columns_exist and evidence_holds, over tools that are plain functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.evaluators.base import EvaluationError, Output
from orglab.evaluators.structured.columns_exist import ColumnsExist
from orglab.evaluators.structured.evidence_holds import MEASURES, EvidenceHolds

TABLE = Path("/data/films.csv")
COLUMNS = ["Title", "Budget", "Gross", "Rating"]
TRUE = {
    ("pearson", "Budget", "Gross"): 0.0718,
    ("spearman", "Budget", "Gross"): 0.6658,
    ("mean", "Rating"): 6.2834,
    ("median", "Budget"): 20_000_000,
    ("count",): 3201,
    ("distinct", "Title"): 3176,
}


def _tools(calls: list[Any] | None = None) -> dict[str, Callable[..., Any]]:
    async def get_schema() -> Any:
        return {"columns": [{"name": name, "type": "text"} for name in COLUMNS], "rows": 3201}

    async def measure(**arguments: Any) -> Any:
        if calls is not None:
            calls.append(arguments)
        if "nowhere" in arguments.get("where", ""):
            raise EvaluationError("no column 'nowhere'")
        if (arguments["measure"], arguments.get("where")) == ("share", "Budget > 5"):
            return {"value": 1445 / 3201, "n": 3201}
        key = (arguments["measure"], *arguments["columns"])
        if key not in TRUE:
            return {"value": None, "n": 0, "reason": f"{arguments['columns'][0]} is constant"}
        return {"value": TRUE[key], "n": 3201}

    return {"get_schema": get_schema, "measure": measure}


@pytest.fixture
def table(context: Any) -> Any:
    """A context with a table of films."""
    return context(functions=_tools())


def _evidence(measure: str, columns: list[str], value: Any, where: str = "") -> dict[str, Any]:
    return {"measure": measure, "columns": columns, "where": where, "value": value}


async def test_columns_of_the_table_pass(table: Any, output: Any) -> None:
    """Named columns that all exist: none foreign."""
    found = output({"columns": ["Budget", "Gross"], "evidence": [_evidence("mean", ["Rating"], 1)]})
    score = await ColumnsExist(table=TABLE).check(found, table)
    assert (score.value, score.passed, score.reason) == (0, True, "")
    assert score.detail["named"] == ["Budget", "Gross", "Rating"]
    assert table.made == [("get_schema", {"file": str(TABLE)})]


async def test_foreign_columns_are_named_with_the_nearest(table: Any, output: Any) -> None:
    """A film insight on another table, a misspelling, other capitals: each is told."""
    found = output(
        {"columns": ["budget", "Port"], "evidence": [{"columns": ["Ratng"], "measure": "mean"}]}
    )
    score = await ColumnsExist(table=TABLE).check(found, table)
    assert (score.value, score.passed, score.scale) == (3, False, "count")
    assert score.reason == (
        "'budget' is no column of films.csv (did you mean 'Budget'?); "
        "'Port' is no column of films.csv; "
        "'Ratng' is no column of films.csv (did you mean 'Rating'?); "
        "its columns are: Title, Budget, Gross, Rating"
    )
    assert score.detail["foreign"] == ["budget", "Port", "Ratng"]


async def test_a_foreign_column_counts_once(table: Any, output: Any) -> None:
    """Named twice, it is one foreign column; max may allow it."""
    found = output({"columns": ["Port", "Port"]})
    assert (await ColumnsExist(table=TABLE).check(found, table)).passed is False
    score = await ColumnsExist(table=TABLE, max=1).check(found, table)
    assert (score.value, score.passed) == (1, True)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ("free text", "is not structured"),
        ({"insight": "x"}, "has no field 'columns'"),
        ({"columns": "Budget"}, "must hold a list, not str"),
        ({"columns": [1]}, "must hold names of columns, not 1"),
        ({"columns": [], "evidence": 3}, "must hold a list, not int"),
    ],
)
async def test_an_output_without_columns_is_a_fault(
    value: Any, match: str, table: Any, output: Any
) -> None:
    """What has no list of columns cannot be measured: the schema must ask for it."""
    with pytest.raises(EvaluationError, match=match):
        await ColumnsExist(table=TABLE).look(output(value), table)


async def test_a_tool_that_gives_no_columns_is_a_fault(context: Any, output: Any) -> None:
    """Nothing is guessed where the table cannot be read."""

    async def broken() -> Any:
        return {"error": "x"}

    tools = context(functions={"get_schema": broken})
    with pytest.raises(EvaluationError, match="gave no list of columns"):
        await ColumnsExist(table=TABLE).look(output({"columns": []}), tools)
    with pytest.raises(EvaluationError, match="no tool 'get_schema'"):
        await ColumnsExist(table=TABLE).look(output({"columns": []}), context())


@pytest.mark.parametrize(
    ("item", "holds"),
    [
        (_evidence("pearson", ["Budget", "Gross"], 0.07), True),
        (_evidence("correlation", ["Budget", "Gross"], 0.072), True),
        (_evidence("pearson", ["Budget", "Gross"], 0.7), False),
        (_evidence("spearman", ["Budget", "Gross"], 0.67), True),
        (_evidence("Rank-Correlation", ["Budget", "Gross"], 0.7), True),
        (_evidence("spearman", ["Budget", "Gross"], 0.68), False),
        (_evidence("spearman", ["Budget", "Gross"], 1), False),
        (_evidence("spearman", ["Budget", "Gross"], -0.67), False),
        (_evidence("mean", ["Rating"], 6.28), True),
        (_evidence("average", ["Rating"], 6.3), True),
        (_evidence("mean", ["Rating"], 6), True),
        (_evidence("mean", ["Rating"], 62.83), False),
        (_evidence("median", ["Budget"], 20_000_000), True),
        (_evidence("median", ["Budget"], 200_000_000), False),
        (_evidence("median", ["Budget"], "20,000,000"), True),
        (_evidence("count", [], 3201), True),
        (_evidence("count", [], 3200), False),
        (_evidence("distinct", ["Title"], 3186), False),
        (_evidence("share", [], 0.45, "Budget > 5"), True),
        (_evidence("share", [], 45, "Budget > 5"), True),
        (_evidence("share", [], 4.5, "Budget > 5"), False),
        (_evidence("share", [], 0.0045, "Budget > 5"), False),
        (_evidence("share", [], "45%", "Budget > 5"), True),
        (_evidence("percentage", [], 45.1, "Budget > 5"), True),
        (_evidence("percentage", [], 0.45, "Budget > 5"), True),
        (_evidence("percentage", [], 4.5, "Budget > 5"), False),
    ],
)
async def test_a_figure_holds_as_far_as_its_digits_go(
    item: dict[str, Any], holds: bool, table: Any, output: Any
) -> None:
    """Rounding to the digits given holds; a wrong sign, ten times, or one row more does not."""
    score = await EvidenceHolds(table=TABLE).check(output({"evidence": [item]}), table)
    assert score.passed is holds, score.reason
    assert score.value == float(holds)


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (
            _evidence("pearson", ["Budget", "Gross"], 0.7),
            "pearson of Budget, Gross is 0.0718, not 0.7",
        ),
        (
            _evidence("mean", ["Port"], 1),
            "'Port' is no column of films.csv; its columns are: Title",
        ),
        (_evidence("max", ["Budget"], 1), "has no number to compare with: Budget is constant"),
        (_evidence("count", [], 1, "nowhere = 1"), "cannot be computed: no column 'nowhere'"),
        (_evidence("share", [], 0.5), "a share needs a condition in `where`"),
        ({**_evidence("count", [], 1), "where": {"a": 1}}, "`where` must be text, not dict"),
        (_evidence("corelation", [], 1), "'corelation' is not known; did you mean 'correlation'?"),
        (_evidence("skewness", [], 1), "'skewness' is not known; known are: pearson, spearman"),
        (_evidence("mean", ["Rating"], "high"), "the value 'high' is no number"),
        (_evidence("mean", ["Rating"], True), "the value True is no number"),
        ({"measure": "mean", "columns": ["Rating"]}, "the value None is no number"),
        ({"measure": "mean", "columns": [3], "value": 1}, "columns must be a list of names"),
        ("text", "is no item with measure, columns and value"),
    ],
)
async def test_why_a_figure_does_not_hold(item: Any, why: str, table: Any, output: Any) -> None:
    """Each item that fails is told by its place, with what was found."""
    good = _evidence("mean", ["Rating"], 6.28)
    score = await EvidenceHolds(table=TABLE).check(output({"evidence": [good, item]}), table)
    assert (score.value, score.passed) == (0.5, False)
    assert score.reason.startswith("evidence[1]: ")
    assert why in score.reason
    assert [each["holds"] for each in score.detail["items"]] == [True, False]


async def test_no_evidence_is_missing_and_does_not_pass(table: Any, output: Any) -> None:
    """An insight without a figure has no share that holds."""
    score = await EvidenceHolds(table=TABLE).check(output({"evidence": []}), table)
    assert (score.value, score.passed) == (None, False)
    assert score.reason == "0 items of evidence, at least 1 asked for"


async def test_too_little_evidence_does_not_pass_whatever_min_says(table: Any, output: Any) -> None:
    """``at_least`` stands beside ``min``."""
    item = _evidence("mean", ["Rating"], 6.28)
    check = EvidenceHolds(table=TABLE, at_least=2, min=0.5)
    assert (await check.check(output({"evidence": [item]}), table)).passed is False
    wrong = _evidence("mean", ["Rating"], 7)
    assert (await check.check(output({"evidence": [item, wrong]}), table)).passed is True


async def test_no_evidence_passes_where_none_is_asked_for(table: Any, output: Any) -> None:
    """``at_least: 0``: an empty list passes, a wrong figure does not."""
    check = EvidenceHolds(table=TABLE, at_least=0)
    assert (await check.check(output({"evidence": []}), table)).passed is True
    wrong = _evidence("mean", ["Rating"], 7)
    assert (await check.check(output({"evidence": [wrong]}), table)).passed is False


async def test_evidence_without_end_is_refused(table: Any, output: Any) -> None:
    """A model cannot make orglab compute for hours."""
    many = [_evidence("mean", ["Rating"], 6.28)] * 201
    with pytest.raises(EvaluationError, match="201 items of evidence are too many"):
        await EvidenceHolds(table=TABLE).look(output({"evidence": many}), table)


async def test_the_tool_gets_the_measure_under_its_own_name(context: Any, output: Any) -> None:
    """An alias is mapped, an empty condition is left out."""
    calls: list[Any] = []
    tools = context(functions=_tools(calls))
    items = [
        _evidence("Average", ["Rating"], 6.28, "Budget > 5"),
        _evidence("n", [], 3201),
    ]
    await EvidenceHolds(table=TABLE).look(output({"evidence": items}), tools)
    assert calls == [
        {"measure": "mean", "columns": ["Rating"], "where": "Budget > 5"},
        {"measure": "count", "columns": []},
    ]
    assert tools.made[-1] == ("measure", {"file": str(TABLE)})


@pytest.mark.parametrize("fields", [{"tolerance": -0.1}, {"tolerance": 1}, {"at_least": -1}])
def test_wrong_arguments_are_refused(fields: dict[str, Any]) -> None:
    """A tolerance is a share."""
    with pytest.raises(ValueError, match=r"tolerance is a share|must not be negative"):
        EvidenceHolds(table=TABLE, **fields)


def test_no_alias_means_two_measures() -> None:
    """Each name of a measure leads to one."""
    aliases = [alias for names in MEASURES.values() for alias in names]
    assert len(aliases) == len(set(aliases))


@given(
    true=st.floats(0.01, 1e9).map(lambda value: float(f"{value:.9g}")),
    digits=st.integers(1, 6),
    factor=st.sampled_from([0.1, 10.0]),
)
async def test_rounded_figures_hold_and_tenfold_ones_do_not(
    true: float, digits: int, factor: float
) -> None:
    """A true figure rounded to its digits holds; ten times or a tenth of it never does."""

    async def get_schema() -> Any:
        return {"columns": ["x"]}

    async def measure(**_arguments: Any) -> Any:
        return {"value": true}

    class Tools:
        def tool(self, use: str, settings: Any) -> Any:
            return {"get_schema": get_schema, "measure": measure}[use]

    async def holds(value: float) -> bool:
        found = {"evidence": [_evidence("mean", ["x"], value)]}
        claim = Output(id="w@1", role="w", copy="w", visit=1, tick=1, value=found, text="")
        score = await EvidenceHolds(table=TABLE).check(claim, Tools())  # type: ignore[arg-type]
        return score.passed is True

    assert await holds(round(true, digits))
    if true > 0.06:  # below, one decimal cannot tell the two apart
        assert not await holds(round(true * factor, 6))
