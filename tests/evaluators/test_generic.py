"""The generic measures: contains, equals, number, field, length, sections, schema, pattern."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.evaluators.base import EvaluationError, OutputEvaluator
from orglab.evaluators.structured.field import FieldEquals
from orglab.evaluators.structured.field_path import ABSENT, look_up
from orglab.evaluators.structured.matches_schema import MatchesSchema
from orglab.evaluators.structured.number import Number, last_number, near
from orglab.evaluators.text.contains import Contains
from orglab.evaluators.text.equals import Equals, same_value
from orglab.evaluators.text.length import Length
from orglab.evaluators.text.pattern import Pattern
from orglab.evaluators.text.required_sections import RequiredSections, headings

REPORT = """# Report

## 1. **Summary**:
Fine.

```md
## Hidden
```

Risks & Costs
-------------
None.

### What next? ###
"""


@pytest.mark.parametrize(
    ("check", "value", "reason"),
    [
        (Contains(text="4 GB"), True, ""),
        (Contains(text="4 gb"), False, "does not contain '4 gb'"),
        (Contains(text="4 gb", ignore_case=True), True, ""),
        (Contains(text="RAM", whole_words=True), False, "does not contain 'RAM'"),
        (Contains(text="RAM"), True, ""),
        (Contains(any_of=["SSD", "DRAM"]), True, ""),
        (Contains(any_of=["SSD", "HDD"]), False, "contains none of 'SSD', 'HDD'"),
        (
            Contains(all_of=["DRAM", "SSD", "HDD"]),
            False,
            "does not contain 'SSD'; does not contain 'HDD'",
        ),
        (Equals(to="It has 4 GB of \u201cDRAM\u201d"), True, ""),
        (Equals(to='it has 4 gb of "dram"', ignore_case=True), True, ""),
        (Equals(to="DRAM"), False, 'is "It has  4\u00a0GB of \\"DRAM\\"", expected "DRAM"'),
        (Number(to=4), True, ""),
        (Number(to=5), False, "gives 4, expected 5"),
        (Number(to=5, tolerance=1), True, ""),
        (Number(to=5, relative=0.2), True, ""),
        (Pattern(pattern=r"\d+ GB"), True, ""),
        (Pattern(pattern=r"\d+ gb"), False, r"nothing matches the pattern '\\d+ gb'"),
        (Pattern(pattern=r"\d+ gb", ignore_case=True), True, ""),
        (Pattern(pattern=r"\w+", count=True), 6, ""),
        (Length(), 6, ""),
        (Length(unit="characters"), 21, ""),
        (Length(unit="sentences"), 1, ""),
    ],
)
async def test_free_text(
    check: OutputEvaluator, value: Any, reason: str, output: Any, context: Any
) -> None:
    """Each measure of a free text, and the words for its author."""
    score = await check.look(output('It has  4\u00a0GB of "DRAM"'), context())
    assert score.value == value
    assert score.reason == reason


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (FieldEquals(path="verdict"), "yes"),
        (FieldEquals(path="evidence.0.value"), 0.5),
        (FieldEquals(path="evidence.-1.value"), 0.7),
        (FieldEquals(path="sure"), True),
        (FieldEquals(path="verdict", equals="Yes"), False),
        (FieldEquals(path="verdict", one_of=["no", "yes"]), True),
        (FieldEquals(path="absent", equals=1), False),
        (FieldEquals(path="absent"), None),
        (FieldEquals(path="nothing"), None),
        (Contains(text="rise", field="insight"), True),
        (Contains(text="rise", field="absent"), False),
        (Length(field="insight"), 3),
        (Length(field="absent"), None),
        (Number(to=0.5, field="evidence.0.value"), True),
        (Number(to=12, field="insight"), True),
        (Number(to=1, field="sure"), False),
        (Equals(to="yes", field="verdict"), True),
        (Equals(to={"value": 0.5}, field="evidence.0"), True),
        (Pattern(pattern=r"\d", field="absent"), False),
        (Pattern(pattern=r"\d", field="absent", count=True), None),
    ],
)
async def test_structured_output(
    check: OutputEvaluator, value: Any, output: Any, context: Any
) -> None:
    """A field is looked up by its path; an absent one is no match, or missing."""
    found = {
        "verdict": "yes",
        "sure": True,
        "nothing": None,
        "insight": "rise of 12",
        "evidence": [{"value": 0.5}, {"value": 0.7}],
    }
    score = await check.look(output(found), context())
    assert score.value == value
    assert score.value is not None or score.reason


async def test_a_field_of_free_text_is_a_fault(output: Any, context: Any) -> None:
    """Free text has no fields: the author is told to give a schema."""
    with pytest.raises(EvaluationError, match="free text and has no field 'a'"):
        await Length(field="a").look(output("text"), context())


async def test_a_text_measure_of_a_list_is_a_fault(output: Any, context: Any) -> None:
    """A field without text is no text."""
    with pytest.raises(EvaluationError, match="holds list, not text"):
        await Length(field="a").look(output({"a": []}), context())
    with pytest.raises(EvaluationError, match="name a number, text, true or false"):
        await FieldEquals(path="a").look(output({"a": []}), context())


@pytest.mark.parametrize(
    ("path", "scale"),
    [("n", "interval"), ("s", "nominal"), ("b", "binary")],
)
async def test_the_scale_of_a_field_follows_its_value(
    path: str, scale: str, output: Any, context: Any
) -> None:
    """Numbers, texts and truths are kept apart; ``measured`` says otherwise."""
    found = output({"n": 3, "s": "x", "b": True})
    score = await FieldEquals(path=path).look(found, context())
    assert (score.name, score.scale) == (f"field.{path}", scale)
    assert (
        await FieldEquals(path=path, measured="ordinal").look(found, context())
    ).scale == "ordinal"


@pytest.mark.parametrize("check", [Contains(), Equals(), Number()])
async def test_the_reference_is_the_default(
    check: OutputEvaluator, output: Any, context: Any
) -> None:
    """Without an argument the unit's reference is compared with; a CSV gives it as text."""
    assert (await check.look(output("42"), context(extra={"reference": "42"}))).value is True
    assert (await check.look(output("41"), context(extra={"reference": 42}))).value is False
    score = await check.look(output("42"), context(extra={"reference": None}))
    assert score.value is None
    assert "the unit has no 'reference' to compare with" in score.reason


@pytest.mark.parametrize(
    "check", [Contains(reference="gold"), Equals(reference="gold"), Number(reference="gold")]
)
async def test_another_column_may_hold_the_reference(
    check: OutputEvaluator, output: Any, context: Any
) -> None:
    """``reference`` names the column, an input too."""
    assert (await check.look(output("42"), context(extra={"gold": 42}))).value is True
    assert (await check.look(output("42"), context(inputs={"gold": "42"}))).value is True


async def test_a_reference_without_a_number_is_a_fault(output: Any, context: Any) -> None:
    """A number cannot be compared with words."""
    with pytest.raises(EvaluationError, match="the unit's 'reference' holds no number: 'many'"):
        await Number().look(output("42"), context(extra={"reference": "many"}))


@pytest.mark.parametrize("fields", [{"text": ""}, {"any_of": ["a", " \u200b"]}])
def test_an_empty_text_is_refused(fields: dict[str, Any]) -> None:
    """An empty text stands everywhere."""
    with pytest.raises(ValueError, match="an empty text stands everywhere"):
        Contains(**fields)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the answer is 42.", 42),
        ("1,234,567.5 dollars", 1234567.5),
        ("from 3 to \u22125 degrees", -5),
        ("2024-05-06", 6),
        ("5e-3", 0.005),
        ("rate .5", 0.5),
        ("30%", 30),
        ("an i7 with 8GB", 8),
        ("an i7", None),
        ("version 1.2", 1.2),
        ("none", None),
        ("(12)", 12),
        ("7,000", 7000),
    ],
)
def test_the_last_number(text: str, value: float | None) -> None:
    """Groups, signs, exponents and units are understood."""
    found = last_number(text)
    assert (found.value if found else None) == value


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("it is 1,5", "can be read in more than one way: give `decimal: ','`"),
        ("1.2.3", "more than one '.'"),
        ("1e999", "too large"),
    ],
)
def test_a_doubtful_number_is_refused(text: str, match: str) -> None:
    """What can be read in two ways is not guessed."""
    with pytest.raises(EvaluationError, match=match):
        last_number(text)


def test_the_decimal_comma() -> None:
    """With ``decimal: ","`` the point groups."""
    found = last_number("1.234,5", ",")
    assert found is not None
    assert found.value == 1234.5


@given(st.integers(-(10**12), 10**12))
def test_a_grouped_number_is_read_back(number: int) -> None:
    """Any whole number, written with groups, is read as itself."""
    found = last_number(f"total: {number:,} units")
    assert found is not None
    assert found.value == number


def test_near_has_room_for_rounding() -> None:
    """0.4 is within 0.1 of 0.3, though their difference in floating point is more."""
    assert near(0.4, 0.3, tolerance=0.1)
    assert not near(0.41, 0.3, tolerance=0.1)
    assert near(0.0, 0.0)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    """Sameness is reflexive."""
    assert same_value(value, value)


@given(JSON_VALUES, JSON_VALUES)
def test_sameness_has_no_direction(one: Any, other: Any) -> None:
    """Sameness is symmetric."""
    assert same_value(one, other) is same_value(other, one)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        ("true", True, True),
        ("1", 1, True),
        (None, 0, False),
        ([1, 2], [2, 1], False),
        ({"a": "it\u2019s"}, {"a": "it's"}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_same_value(one: Any, other: Any, same: bool) -> None:
    """Truths are no numbers; a text is compared with the text of a number."""
    assert same_value(one, other) is same


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", 1),
        ("a.c", ABSENT),
        ("l.1", 3),
        ("l.-1", 3),
        ("l.2", ABSENT),
        ("l.x", ABSENT),
        ("", ABSENT),
    ],
)
def test_look_up(path: str, found: Any) -> None:
    """A path leads to one value or to none."""
    assert look_up({"a": {"b": 1}, "l": [2, 3]}, path) == found


def test_headings() -> None:
    """Both styles count; what stands in a code fence does not."""
    assert headings(REPORT) == ["Report", "1. **Summary**:", "Risks & Costs", "What next?"]


async def test_missing_sections_are_named(output: Any, context: Any) -> None:
    """Case, numbers, emphasis and colons do not matter; a section in a code fence is missing."""
    check = RequiredSections(sections=["summary", "RISKS & COSTS", "## What next?", "Hidden"])
    score = await check.check(output(REPORT), context())
    assert (score.value, score.passed, score.scale) == (1, False, "count")
    assert score.reason == "missing sections: 'Hidden'; write each as a heading, '## Hidden'"
    there = await RequiredSections(sections=["Summary"]).check(output(REPORT), context())
    assert (there.value, there.passed, there.reason) == (0, True, "")


@pytest.mark.parametrize("sections", [[], ["Summary", "##"]])
def test_sections_without_names_are_refused(sections: list[str]) -> None:
    """A required heading has words."""
    with pytest.raises(ValueError, match="at least one and none empty"):
        RequiredSections(sections=sections)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"n": 3}, True),
        ({"n": "3"}, False),
        ('{"n": 3}', True),
        ('{"n": NaN}', False),
        ("no json", False),
        ({"n": 3, "m": 1}, False),
    ],
)
async def test_matches_schema(value: Any, fits: bool, output: Any, context: Any) -> None:
    """Structured outputs and JSON in free text are validated alike."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    score = await MatchesSchema(schema=schema).check(output(value), context())
    assert (score.value, score.passed) == (fits, fits)
    assert bool(score.reason) is not fits


async def test_a_text_that_the_schema_admits_fits(output: Any, context: Any) -> None:
    """A schema of a text is compared with the text itself."""
    check = MatchesSchema(schema={"type": "string", "maxLength": 5})
    assert (await check.look(output("short"), context())).value is True
    assert (await check.look(output("too long"), context())).value is False


@pytest.mark.parametrize(
    "schema", [{"type": "txt"}, {"$ref": "https://example.org/x.json"}, {"$ref": "#/$defs/none"}]
)
def test_a_wrong_schema_is_refused(schema: dict[str, Any]) -> None:
    """A schema is checked when it is read, and reaches nothing outside itself."""
    with pytest.raises(ValueError, match=r"JSON Schema|does not resolve"):
        MatchesSchema(schema=schema)
