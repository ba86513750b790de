"""The tools' figures on the stored cases and on the real table of films."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from case_files import case_folder

from orglab.engine.tools.table.correlate import Correlate
from orglab.engine.tools.table.describe import Describe, GetSchema, Head
from orglab.engine.tools.table.group_counts import GroupBy, Histogram, ValueCounts
from orglab.engine.tools.table.measure import MEASURES, Measure
from orglab.providers.base import JSON, ToolError

Ask = Callable[..., JSON]

FILMS = """genre,year,rating,hit,day
Drama,2001,7.5,true,2001-05-01
Drama,2003,,false,2003-01-01
Comedy,2001,6.0,true,
,2002,9.0,false,2002-02-02
Comedy,2004,5.0,,2004-04-04
"""


@pytest.mark.parametrize(("x", "y"), [("A", "B"), ("A", "C"), ("E", "C"), ("B", "E"), ("D", "A")])
@pytest.mark.parametrize("method", ["pearson", "spearman"])
async def test_a_constant_column(ask: Ask, x: str, y: str, method: str) -> None:
    """Case 44: null with the reason."""
    file = case_folder("44-data-constant-columns") / "table.csv"
    found = await ask(Correlate, file, {"x": x, "y": y, "method": method})
    constant = x if x in "ABE" else y
    assert (found["r"], found["n"], found["reason"]) == (None, 20, f"{constant} is constant")


async def test_the_other_figures_of_case_44(ask: Ask) -> None:
    """Case 44: r of C and D, text refused, a constant column described exactly."""
    file = case_folder("44-data-constant-columns") / "table.csv"
    for method, r in (("pearson", 0.901063), ("spearman", 0.884211)):
        found = await ask(Correlate, file, {"x": "C", "y": "D", "method": method})
        assert (found["r"], found["n"]) == (r, 20)
        measured = await ask(Measure, file, {"measure": method, "columns": ["C", "D"]})
        assert (measured["value"], measured["n"]) == (r, 20)
    with pytest.raises(ToolError, match="`F` is not numeric, it is text; numeric columns: `A`"):
        await ask(Correlate, file, {"x": "F", "y": "C"})
    a = await ask(Describe, file, {"column": "A"})
    assert a["std"] == 0.0
    assert a["min"] == a["max"] == a["mean"] == a["median"] == 0.42


async def test_pairs_with_gaps(ask: Ask) -> None:
    """Case 51: only rows with both, n told; two pairs are no correlation."""
    file = case_folder("51-data-missing-and-bins") / "table.csv"
    for method, r in (("pearson", 0.787303), ("spearman", 0.818182)):
        found = await ask(Correlate, file, {"x": "x", "y": "y", "method": method})
        assert (found["r"], found["n"]) == (r, 10)
        two = await ask(Correlate, file, {"x": "x", "y": "z", "method": method})
        assert (two["r"], two["n"]) == (None, 2)
        assert two["reason"].startswith("n = 2: at least 3")


async def test_histogram(ask: Ask) -> None:
    """Case 51: the maximum falls into the last bin, missing values are told."""
    file = case_folder("51-data-missing-and-bins") / "table.csv"
    found = await ask(Histogram, file, {"column": "x", "bins": 4})
    assert found["counts"] == [3, 6, 0, 3]
    assert found["edges"] == [38.16, 45.7775, 53.395, 61.0125, 68.63]
    assert (found["n"], found["missing"]) == (12, 2)
    constant = await ask(
        Histogram, case_folder("44-data-constant-columns") / "table.csv", {"column": "E"}
    )
    assert (constant["edges"], constant["counts"]) == ([7, 7], [20])


@pytest.mark.parametrize("bins", [0, -1, 10**9, "ten", True, 2.5])
async def test_no_such_number_of_bins(ask: Ask, bins: JSON) -> None:
    """Case 51: refused, with what is allowed."""
    with pytest.raises(ToolError, match="`bins` must be a whole number from 1 to 50"):
        await ask(Histogram, "x\n1\n2\n", {"column": "x", "bins": bins})


async def test_the_correlation_of_the_films(films: Path, ask: Ask) -> None:
    """Budget and gross: 0.67 on this table."""
    found = await ask(Correlate, films, {"x": "production_budget", "y": "worldwide_gross"})
    assert round(found["r"], 2) == 0.67
    assert found["n"] == 3193


async def test_schema(ask: Ask) -> None:
    """Names, types, missing and distinct values, an example."""
    found = await ask(GetSchema, FILMS)
    assert found["rows"] == 5
    assert [(one["name"], one["type"]) for one in found["columns"]] == [
        ("genre", "text"),
        ("year", "integer"),
        ("rating", "number"),
        ("hit", "boolean"),
        ("day", "date"),
    ]
    assert found["columns"][2] == {
        "name": "rating",
        "type": "number",
        "missing": 1,
        "distinct": 4,
        "example": 7.5,
    }


async def test_a_wide_schema_keeps_every_name(ask: Ask) -> None:
    """Whoever asks whether a column exists gets all of them."""
    header = [f"column number {one}" for one in range(500)]
    found = await ask(GetSchema, ",".join(header) + "\n" + ",".join("1" * 500) + "\n")
    assert [one["name"] for one in found["columns"]] == header


async def test_describe_everything(ask: Ask) -> None:
    """By type: quartiles, the commonest value, counts of true and false, the first and last day."""
    genre, year, rating, hit, day = (await ask(Describe, FILMS))["columns"]
    assert (genre["n"], genre["missing"], genre["distinct"]) == (4, 1, 2)
    assert (genre["top"], genre["freq"]) == ("Drama", 2)
    assert (year["q25"], year["median"], year["q75"]) == (2001, 2002, 2003)
    assert (rating["mean"], rating["min"], rating["max"]) == (6.875, 5.0, 9.0)
    assert (hit["true"], hit["false"], hit["missing"]) == (2, 2, 1)
    assert (day["min"], day["max"]) == ("2001-05-01", "2004-04-04")


async def test_describe_an_empty_and_a_single_column(ask: Ask) -> None:
    """No figure is invented for them."""
    empty, single = (await ask(Describe, "a,b\n,1\n", columns={"a": "number"}))["columns"]
    assert (empty["n"], empty["mean"], empty["reason"]) == (0, None, "no finite values")
    assert (single["std"], single["reason"]) == (None, "no std: fewer than 2 values")


async def test_head(ask: Ask) -> None:
    """The first rows, missing as null."""
    found = await ask(Head, FILMS, {"n": 2})
    assert found["rows"][1] == ["Drama", 2003, None, False, "2003-01-01"]
    assert (len(found["rows"]), found["of"]) == (2, 5)
    with pytest.raises(ToolError, match="`n` must be a whole number from 1 to 20, not 21"):
        await ask(Head, FILMS, {"n": 21})


async def test_value_counts(ask: Ask) -> None:
    """Commonest first; missing and what the limit leaves out are told."""
    found = await ask(ValueCounts, FILMS, {"column": "year", "limit": 1})
    assert found["values"] == [{"value": 2001, "count": 2, "percent": 40.0}]
    assert found["others"] == {"distinct": 3, "count": 3}
    where = await ask(ValueCounts, FILMS, {"column": "genre", "where": "year > 2001"})
    assert (where["n"], where["missing"]) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "groups"),
    [
        ({"measure": "count"}, [("Drama", 2, 2), ("Comedy", 2, 2), (None, 1, 1)]),
        (
            {"measure": "mean", "column": "rating"},
            [(None, 9.0, 1), ("Drama", 7.5, 1), ("Comedy", 5.5, 2)],
        ),
        (
            {"measure": "max", "column": "day"},
            [("Comedy", "2004-04-04", 1), ("Drama", "2003-01-01", 2), (None, "2002-02-02", 1)],
        ),
        (
            {"measure": "sum", "column": "rating", "where": "hit"},
            [("Drama", 7.5, 1), ("Comedy", 6.0, 1)],
        ),
        (
            {"measure": "count", "column": "rating"},
            [("Comedy", 2, 2), ("Drama", 1, 1), (None, 1, 1)],
        ),
    ],
)
async def test_group_by(ask: Ask, arguments: Mapping[str, JSON], groups: list[JSON]) -> None:
    """Largest first; rows without a group are the group null."""
    found = await ask(GroupBy, FILMS, {"by": "genre", **arguments})
    assert [(one["group"], one["value"], one["n"]) for one in found["groups"]] == groups


async def test_groups_without_a_figure_come_last_with_the_reason(ask: Ask) -> None:
    """A group of one has no deviation; the limit counts what it leaves out."""
    found = await ask(GroupBy, FILMS, {"by": "genre", "measure": "std", "column": "rating"})
    assert found["groups"][0]["group"] == "Comedy"
    assert found["groups"][1]["reason"] == "fewer than 2 values"
    cut = await ask(GroupBy, FILMS, {"by": "year", "measure": "count", "limit": 1})
    assert (len(cut["groups"]), cut["others"]) == (1, 3)


async def test_correlate_by_group(ask: Ask) -> None:
    """The correlation and n of each group beside those of all."""
    table = "g,x,y\n" + "".join(
        f"{'ab'[i % 2]},{i},{i * (1 if i % 2 else -1)}\n" for i in range(12)
    )
    found = await ask(Correlate, table, {"x": "x", "y": "y", "by": "g"})
    assert [(one["group"], one["r"], one["n"]) for one in found["groups"]] == [
        ("a", -1.0, 6),
        ("b", 1.0, 6),
    ]


async def test_infinite_pairs_are_left_out_and_reported(ask: Ask) -> None:
    """An infinite value makes no correlation of all others."""
    found = await ask(Correlate, "x,y\n1,1\n2,inf\n3,3\n4,4\n", {"x": "x", "y": "y"})
    assert (found["r"], found["n"], found["infinite"]) == (1.0, 3, 1)


@pytest.mark.parametrize(
    ("measure", "columns", "where", "value", "n"),
    [
        ("count", [], None, 5, 5),
        ("count", [], "year = 2001", 2, 2),
        ("count", ["rating"], None, 4, 4),
        ("distinct", ["genre"], None, 2, 4),
        ("mean", ["rating"], "genre = 'Comedy'", 5.5, 2),
        ("median", ["rating"], None, 6.75, 4),
        ("sum", ["year"], None, 10011, 5),
        ("std", ["rating"], None, 1.75, 4),
        ("min", ["day"], None, "2001-05-01", 4),
        ("max", ["rating"], None, 9.0, 4),
        ("share", [], "year = 2001", 0.4, 5),
        ("share", ["genre"], "genre = 'Drama'", 0.5, 4),
        ("pearson", ["year", "rating"], None, -0.471405, 4),
        ("spearman", ["year", "rating"], "year > 1999", -0.316228, 4),
        ("mean", ["rating"], "year > 3000", None, 0),
    ],
)
async def test_measure(
    ask: Ask, measure: str, columns: list[str], where: str | None, value: JSON, n: int
) -> None:
    """One figure and what it rests on; without a figure, the reason."""
    found = await ask(Measure, FILMS, {"measure": measure, "columns": columns, "where": where})
    assert (found["value"], found["n"]) == (value, n)
    assert ("reason" in found) == (value is None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"measure": "average"}, "no measure `average`; measures: count, distinct"),
        ({"measure": "mean"}, "`mean` takes one column"),
        ({"measure": "pearson", "columns": ["year"]}, "`pearson` takes two columns"),
        ({"measure": "share"}, "`share` needs `where`"),
        ({"measure": "mean", "columns": "rating"}, "`columns` must be a list"),
        ({"measure": "mean", "columns": ["Ratng"]}, "no column `Ratng`, did you mean `rating`"),
        ({"measure": "sum", "columns": ["genre"]}, "`genre` is not numeric, it is text"),
        ({"measure": "max", "columns": ["genre"]}, "`genre` is not numeric"),
        ({"measure": "pearson", "columns": ["year", "YEAR"]}, "`year` with itself"),
    ],
)
async def test_measure_refuses(ask: Ask, arguments: Mapping[str, JSON], said: str) -> None:
    """What cannot be one figure is said."""
    with pytest.raises(ToolError, match=said):
        await ask(Measure, FILMS, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (GroupBy, {"by": "genre", "measure": "mean"}, "`mean` needs a `column`"),
        (GroupBy, {"by": "genre", "measure": "mode", "column": "year"}, "no measure `mode`"),
        (GroupBy, {"measure": "count"}, "`by` is required"),
        (ValueCounts, {"column": "genre", "limit": 0}, "`limit` must be a whole number"),
        (Correlate, {"x": "year", "y": "rating", "method": "kendall"}, "no method `kendall`"),
        (Correlate, {"x": "year", "y": "rating", "by": "gnre"}, "did you mean `genre`"),
        (Histogram, {"column": "hit"}, "`hit` is not numeric, it is boolean"),
        (Describe, {"column": 3}, "`column` is required, a text"),
    ],
)
async def test_tools_refuse(
    ask: Ask, tool: type[Head], arguments: Mapping[str, JSON], said: str
) -> None:
    """Wrong arguments that a schema does not tell are told by the tool."""
    with pytest.raises(ToolError, match=said):
        await ask(tool, FILMS, arguments)


def test_measures_are_those_that_evidence_may_name() -> None:
    """The names are part of the contract with `evidence_holds`."""
    assert MEASURES == (
        "count", "distinct", "max", "mean", "median", "min", "pearson", "share", "spearman", "std",
        "sum",
    )  # fmt: skip
