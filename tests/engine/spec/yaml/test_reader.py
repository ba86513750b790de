"""Strict YAML: values, places, and every fault in one go."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orglab.engine.spec.yaml import reader as yaml_reader
from orglab.engine.spec.yaml.reader import ALIAS_LIMIT, DEPTH_LIMIT, read_bytes, read_text
from orglab.engine.spec.yaml.source_map import Marks


@pytest.fixture(params=["C", "Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML must give the same."""
    if request.param == "Python":
        monkeypatch.setattr(yaml_reader, "_LOADER", yaml.SafeLoader)


def told(text: str) -> list[str]:
    """The faults of a text, each as a line."""
    return [str(issue) for issue in read_text(text, "x.yaml").issues]


def test_values_and_places() -> None:
    """Data is plain, and the mark of each key and value is known."""
    document = read_text("a: 1\nb:\n  - x\n  - {c: yes}\n", "x.yaml")
    assert document.data == {"a": 1, "b": ["x", {"c": "yes"}]}
    marks = Marks(document.place)
    assert marks.value(("b", 1, "c")) == ("x.yaml", 4, 9)
    assert marks.key(("b", 1, "c")) == ("x.yaml", 4, 6)
    assert marks.key(("b",)) == ("x.yaml", 2, 1)


def test_a_place_that_is_not_there_is_the_nearest_above() -> None:
    """A missing key is blamed on the map that lacks it."""
    marks = Marks(read_text("a: 1\nb:\n  c: 2\n", "x").place)
    assert marks.value(("b", "d", 3)) == ("x", 3, 3)
    assert marks.key(("b", "d")) == ("x", 3, 3)
    assert marks.key(()) == ("x", 1, 1)


def test_all_duplicate_keys_are_reported_in_one_go() -> None:
    """Each duplicate names its lines, at any depth and however often it stands."""
    lines = told("a: 1\nb: {c: 1, c: 2}\na: 2\nd: 3\na: 4\n")
    assert lines == [
        "x.yaml:2:11 b.c: `c` is written twice, in line 2; a key stands once in a map; keep one",
        "x.yaml:3:1 a: `a` is written 3 times, in lines 1 and 3 and 5; a key stands once in a map; keep one",
    ]


def test_quoted_and_plain_keys_are_the_same_key() -> None:
    """Quotes don't make another key."""
    assert len(told('a: 1\n"a": 2\n')) == 1


def test_merge_keys_first_source_wins_and_own_key_wins_wherever_it_stands() -> None:
    """Merging is ours: shallow, first source first, own keys above all."""
    text = """
a: &a {x: 1, deep: {p: 1}}
b: &b {x: 2, y: 2, deep: {q: 2}}
one: {<<: [*a, *b], z: 3}
two: {x: 9, <<: *a}
three: {<<: *a, x: 9}
four: {<<: {x: 5}}
"""
    data = read_text(text, "x").data
    assert data["one"] == {"x": 1, "deep": {"p": 1}, "y": 2, "z": 3}
    assert data["two"] == data["three"] == {"x": 9, "deep": {"p": 1}}
    assert data["four"] == {"x": 5}


def test_merged_keys_stand_where_the_merge_key_stands() -> None:
    """The order of what is merged is written order, which counts for roles."""
    data = read_text("r: &r {a: 1, b: 2}\ns: {z: 0, <<: *r, y: 3}\n", "x").data
    assert list(data["s"]) == ["z", "a", "b", "y"]


def test_two_merge_keys_are_refused_and_the_list_form_shown() -> None:
    """Which of two would win is not for the author to guess."""
    lines = told("a: &a {x: 1}\nb: &b {x: 2}\nc:\n  <<: *a\n  <<: *b\n")
    assert lines == [
        "x.yaml:5:3 c: `<<` is written twice, in lines 4 and 5; write one list: `<<: [*first, *second]`"
    ]


def test_a_merge_key_takes_maps_only() -> None:
    """Anything else after `<<` is an error; in quotes it is a key like any other."""
    assert told("<<: 3\na: 1\n")[0].startswith("x.yaml:1:5 <<: `<<` takes a map")
    assert read_text('"<<": 1', "x").data == {"<<": 1}


@pytest.mark.parametrize(
    "text", ["a: !!python/object/apply:os.system [x]", "a: !!str 1", "!t a: 1", "a: !x {b: 1}"]
)
def test_tags_are_refused(text: str) -> None:
    """No tag is obeyed, not even a harmless one."""
    assert any("tag" in line and "not allowed" in line for line in told(text))


@pytest.mark.parametrize(
    ("key", "got"), [("1", "the number 1"), ("true", "true"), ("~", "nothing"), ("1.5", "number")]
)
def test_keys_must_be_text(key: str, got: str) -> None:
    """A key that is a number, a boolean or null is refused, with the cure."""
    (line,) = told(f"{key}: x")
    assert got in line
    assert f'write it in quotes: "{key}"' in line


def test_keys_that_are_lists_or_aliases_are_refused() -> None:
    """A key is written out."""
    assert told("? [a]\n: 1\n") == ["x.yaml:1:3: a key must be plain text; write the key out"]
    assert "plain text" in told("a: &k v\n*k : 1\n")[0]


def test_nan_is_refused_with_its_place() -> None:
    """A number that strict JSON cannot hold is an error."""
    (line,) = told("a:\n  - .nan\n")
    assert line.startswith("x.yaml:2:5 a[0]: .nan is no finite number")


def test_a_bomb_is_refused_before_anything_is_expanded() -> None:
    """Aliases of aliases are counted, not unfolded."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    (line,) = told("\n".join(lines))
    assert f"aliases expand to more than {ALIAS_LIMIT:,} values" in line


def test_a_bomb_of_long_texts_is_refused_too() -> None:
    """A long text counts as several values, so that copies of it stay bounded."""
    text = "x" * 100_000
    roles = "".join(f"r{i}: *t\n" for i in range(1000))
    assert "aliases expand" in told(f"t: &t {text}\n{roles}")[0]


def test_honest_anchors_and_many_plain_nodes_are_no_bomb() -> None:
    """Plain nodes are not counted, and neither is a common anchor a bomb."""
    roles = "".join(f"r{i}: {{<<: *v, prompt: Say {i}.}}\n" for i in range(4000))
    document = read_text(f"v: &v {{temperature: 0.3}}\n{roles}", "x")
    assert not document.issues
    assert document.data["r3999"] == {"temperature": 0.3, "prompt": "Say 3999."}


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: *b"])
def test_aliases_that_lead_nowhere_or_back_are_refused(text: str) -> None:
    """An alias needs a finished anchor before it."""
    (line,) = told(text)
    assert "the alias" in line


@pytest.mark.parametrize("nest", [lambda n: "[" * n, lambda n: "- " * n, lambda n: "{a: " * n])
def test_deep_nesting_is_refused_without_a_crash(nest: Callable[[int], str]) -> None:
    """A hundred thousand levels give one message."""
    document = read_text(nest(100_000), "x")
    assert not document.whole
    assert "nest" in str(document.issues[-1])


def test_depth_through_aliases_is_counted() -> None:
    """Aliases in aliases cannot go deeper than written nesting may."""
    lines = ["a0: &a0 [[[[[[x]]]]]]"] + [f"a{i}: &a{i} [[[[[[*a{i - 1}]]]]]]" for i in range(1, 30)]
    (line,) = told("\n".join(lines))
    assert f"nested deeper than {DEPTH_LIMIT} levels" in line


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: [1\nb: 2\n", "x.yaml:2:", "the `[` that opens in line 1, column 4; put `,` between"),
        ("a: {b: 1\n", "x.yaml:2:1", "nothing closes the `{` that opens in line 1, column 4"),
        (
            "a: b: c\n",
            "x.yaml:1:5",
            "a second `: ` stands in one line; put text that holds `: ` in q",
        ),
        (
            "a: 1\n\tb: 2\n",
            "x.yaml:2:1",
            "a tab stands where YAML wants spaces; indent with spaces",
        ),
        (
            "a:\n  b: @c\n",
            "x.yaml:2:6",
            "without quotes cannot begin with `@`; put the text in quotes",
        ),
        ("a:\n  b: 1\n   c: 2\n", "x.yaml:3:4", "indented more than the one above, which has"),
        ("a:\n    b: 1\n   c: 2\nd: 1\n", "x.yaml:3:4", "begins after 3 spaces, and no line above"),
        ("a:\n    b: 1\n   c: 2\nd: 1\n", "x.yaml:3:4", "it belongs beside: 4 or 0 spaces"),
        ("a:\n  b\n  c: 1\n", "x.yaml:2:3", "`b` has no colon, so it is no key; write `b:`"),
        ('a: "b\nc: 1\n', "x.yaml:1:4", "the quote that opens here is not closed; close it"),
        ('a: "b\\q"\n', "x.yaml:1:", "put the text in single quotes"),
        (
            'a: "b" c\n',
            "x.yaml:1:8",
            "`c` stands after a whole value; put the whole text in quotes",
        ),
        ("a: 1\n- b\n", "x.yaml:2:1", "a list item (`- `) stands between the keys of a map"),
        ("a: \x07\n", "x.yaml:1:4", "U+0007"),
        ("---\na: 1\n---\nb: 2\n", "x.yaml:3:1", "one document a file"),
        ("", "x.yaml:1:1", "empty"),
        ("# only a remark\n", "x.yaml:1:1", "empty"),
    ],
)
def test_syntax_errors_have_a_place_and_a_hint(text: str, place: str, words: str) -> None:
    """What is no YAML is told with line, column and how to mend it."""
    (line,) = told(text)
    assert line.startswith(place)
    assert words in line


def test_bytes_that_are_not_utf8_are_refused_with_their_place() -> None:
    """Latin-1 and UTF-16 are told apart from YAML errors; a byte order mark is fine."""
    assert str(read_bytes(b"a: 1\nb\xe9: 2", "x").issues[0]) == (
        "x:2:2: byte 0xe9 is not UTF-8; save the file as UTF-8"
    )
    assert "UTF-16" in str(read_bytes("a: 1".encode("utf-16"), "x").issues[0])
    assert read_bytes(b"\xef\xbb\xbfa: 1", "x").data == {"a": 1}


def test_duplicate_anchors_take_the_last() -> None:
    """An anchor may be set again: an alias means the last before it."""
    assert read_text("a: &x 1\nb: &x 2\nc: *x\n", "x").data["c"] == 2


TEXTS = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufeff\ufffe\uffff")
)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(st.dictionaries(TEXTS, JSONS, max_size=5))
def test_json_is_read_as_json(data: dict[str, Any]) -> None:
    """Any JSON map is a document with the same data: YAML 1.2 holds JSON."""
    document = read_text(json.dumps(data, allow_nan=False, ensure_ascii=False), "x")
    assert [str(issue) for issue in document.issues] == []
    assert document.data == data


@given(st.text())
def test_no_text_crashes_the_reader(text: str) -> None:
    """Any text gives data or located faults."""
    document = read_text(text, "x")
    assert document.issues or document.whole
