"""Conditions on rows, parsed by DuckDB.

The language is SQL's, with spellings of Python that models mix in (``==``, ``&``, ``|``, ``~``,
``in [1, 2]``, ``is none``). DuckDB sees operators and functions only; every column and constant is
a placeholder, so nothing of the text can reach a database except through the tree returned here.
"""

from __future__ import annotations

import functools
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import duckdb

_DEEPEST = 30

SQLTree: TypeAlias = Mapping[str, Any]
"""One node of a statement as ``json_serialize_sql`` writes it."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    |(?P<name>[^\W\d]\w*(?:[.]\w+)*)
    |(?P<mark><=|>=|<>|!=|==|\*\*|//|\|\||&&|[-=<>+*/%(),|&~\[\]])""",
    re.VERBOSE,
)
_HINTS = {
    "**": "powers are not allowed",
    "//": "write `/`",
    "||": "write `or`",
    "&&": "write `and`",
    ";": "one condition only, without `;`",
    "@": "`@` and variables are not allowed",
    "#": "comments are not allowed",
    "'": "the text in single quotes does not end",
    '"': "the quoted name does not end",
    "`": "the quoted name does not end",
    "{": "braces are not allowed",
    "?": "parameters are not allowed",
    "$": "parameters are not allowed",
}
_WORDS = {"and", "between", "ilike", "in", "is", "like", "not", "or"}
_CONSTANTS = {"true": "boolean", "false": "boolean", "null": "null", "none": "null"}
_SPELLINGS = {"&": "AND", "|": "OR", "~": "NOT", "[": "(", "]": ")"}
_CLOSING = {"(": ")", "[": "]"}
_EXPECTED = {
    "is": " (`null`, `true` or `false` was expected)",
    "not": " (`in`, `like` or `between` was expected)",
}
_OPERATORS = {
    "COMPARE_BETWEEN": "between",
    "COMPARE_EQUAL": "=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_IN": "in",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_NOTEQUAL": "!=",
    "COMPARE_NOT_IN": "not in",
    "CONJUNCTION_AND": "and",
    "CONJUNCTION_OR": "or",
    "OPERATOR_IS_NOT_NULL": "not is null",
    "OPERATOR_IS_NULL": "is null",
    "OPERATOR_NOT": "not",
    **dict.fromkeys("+-*/%", ""),
    "~~": "like",
    "!~~": "not like",
    "~~*": "ilike",
    "!~~*": "not ilike",
}
_SELECT = "SELECT 1 FROM data WHERE "


class ConditionError(ValueError):
    """Raised when a text is not a condition; the message says what is allowed."""


class Operand(NamedTuple):
    """A column, ``value`` its name, or a constant, ``value`` as text."""

    kind: Literal["boolean", "column", "null", "number", "text"]
    value: str


class Operation(NamedTuple):
    """An operator or function and what it is applied to; comparisons are ``= != < <= > >=``."""

    operator: str
    parts: tuple[Node, ...]


Node: TypeAlias = Operand | Operation


class Language(NamedTuple):
    """What a condition may name.

    Attributes:
        subject: How messages name the condition.
        column: The operand for a name, given its quote (``"``, a backtick, or "" for none).
        functions: Allowed functions, in lower case.
        dotted: Names may hold dots.
    """

    subject: str
    column: Callable[[str, str], Operand]
    functions: Collection[str] = ()
    dotted: bool = False


class _Token(NamedTuple):
    sort: str
    value: str
    quote: str = ""

    @property
    def word(self) -> str:
        """The keyword or mark in lower case, "" for other tokens."""
        return self.value.lower() if self.sort in ("name", "mark") else ""


def parse_condition(text: str, language: Language) -> Node:
    """Return the tree of ``text``.

    Raises:
        ConditionError: It is not a condition in this language.
    """
    subject = language.subject
    if not text.strip():
        raise ConditionError(f"{subject} is empty: leave it out to take all rows")
    tokens = list(_tokens(text, subject))
    _check_nesting(tokens, subject)
    operands: list[Operand] = []
    words = [_sql_word(tokens, at, language, operands) for at in range(len(tokens))]
    try:
        answer = json.loads(_serialized(_SELECT + " ".join(words)))
        if answer["error"]:
            raise ConditionError(f"{subject}{_syntax_error(answer, tokens, words)}")
        return _node(answer["statements"][0]["node"]["where_clause"], operands, language)
    except RecursionError:
        raise ConditionError(f"{subject} is too deep: write it flatter") from None


def arguments(tree: SQLTree) -> list[SQLTree]:
    """Return the operands of ``tree``; newer databases wrap each argument with its name."""
    found = [tree[key] for key in ("left", "right", "input", "lower", "upper") if key in tree]
    found += tree.get("arguments", tree.get("children", []))
    return [one.get("expression", one) for one in found]


def _tokens(text: str, subject: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or found.group() in _HINTS or "\0" in found.group():
            hint = _HINTS.get(found.group() if found else text[place])
            shown = text[place : place + 20]
            raise ConditionError(
                f"{subject} cannot be read at `{shown}`" + (f": {hint}" if hint else "")
            )
        place = found.end()
        sort, value = str(found.lastgroup), found.group()
        if sort in ("text", "quoted"):
            mark = value[0]
            yield _Token(sort, value[1:-1].replace(mark * 2, mark), mark)
        elif sort != "space":
            yield _Token(sort, value)


def _check_nesting(tokens: Sequence[_Token], subject: str) -> None:
    closing: list[str] = []
    signs = 0
    for at, token in enumerate(tokens):
        word = token.word
        signs = signs + 1 if word in ("not", "~", "-") else 0
        after_in = at > 0 and tokens[at - 1].word == "in"
        if after_in and word not in _CLOSING:
            raise ConditionError(f"{subject}: after `in` comes a list, such as `in (1, 2)`")
        if word == "(" or (word == "[" and after_in):
            closing.append(_CLOSING[word])
        elif word in (")", "]", "[") and (not closing or closing.pop() != word):
            raise ConditionError(f"{subject}: `{word}` is not expected there")
        if len(closing) + signs > _DEEPEST:
            raise ConditionError(f"{subject} is too deep: at most {_DEEPEST} levels of brackets")
    if closing:
        raise ConditionError(
            f"{subject} ends too early: something is missing at its end (a closing bracket)"
        )


def _sql_word(
    tokens: Sequence[_Token], at: int, language: Language, operands: list[Operand]
) -> str:
    """Return what DuckDB reads for one token; an operand is added and named by its index."""
    token = tokens[at]
    following = [one.word for one in tokens[at + 1 : at + 3]]
    if token.sort == "mark":
        return _SPELLINGS.get(token.value, token.value)
    if token.word == "is" and _CONSTANTS.get("".join(following[:1])) == "boolean":
        return "="  # `is true` also holds for no missing value
    if token.word == "is" and following[:1] == ["not"]:
        return "!=" if _CONSTANTS.get(following[-1]) == "boolean" else "IS"
    previous = [one.word for one in tokens[max(0, at - 2) : at]]
    if token.word == "not" and previous[-1:] == ["is"]:
        return "" if _CONSTANTS.get("".join(following[:1])) == "boolean" else "NOT"
    if token.word in _WORDS:
        return token.word.upper()
    if _CONSTANTS.get(token.word) == "null" and "is" in previous:
        return "NULL"
    if token.sort == "name" and following[:1] == ["("] and token.word not in _CONSTANTS:
        return f'"{_function(token.value, language)}"'
    operands.append(_operand(token, language))
    return f"x{len(operands) - 1}"


def _function(name: str, language: Language) -> str:
    if "." in name and not language.dotted:
        _refuse_attribute(language)
    if name.lower() not in language.functions:
        raise ConditionError(f"{language.subject}: `{name}(…)` is not allowed{_allowed(language)}")
    return name.lower()


def _operand(token: _Token, language: Language) -> Operand:
    if token.sort in ("number", "text"):
        return Operand("number" if token.sort == "number" else "text", token.value)
    if kind := _CONSTANTS.get(token.word):
        return Operand("boolean" if kind == "boolean" else "null", token.word)
    if token.sort == "name" and "." in token.value and not language.dotted:
        _refuse_attribute(language)
    return language.column(token.value, token.quote)


def _refuse_attribute(language: Language) -> None:
    raise ConditionError(
        f"{language.subject}: attributes and methods (`a.b`) are not allowed{_allowed(language)}"
    )


def _allowed(language: Language) -> str:
    functions = ", ".join(sorted(language.functions))
    return f"; allowed functions: {functions}" if functions else ""


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb  # slow to import: only a condition needs it

    return duckdb.connect(":memory:", config={"enable_external_access": "false"})


def _serialized(sql: str) -> str:
    with _connection().cursor() as cursor:
        row = cursor.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    return str(row[0]) if row else ""


def _syntax_error(answer: Mapping[str, str], tokens: Sequence[_Token], words: Sequence[str]) -> str:
    """Return DuckDB's error in terms of the condition's own tokens."""
    if "chained" in answer["error_message"].lower():
        return ": comparisons cannot be chained; write `a > 1 and a < 3`"
    starts, place = [], len(_SELECT)
    for word in words:
        starts.append(place)
        place += len(word) + 1
    at = max(0, bisect_right(starts, int(answer.get("position") or place)) - 1)
    if at == len(tokens) - 1 and tokens[at].word in {
        *_WORDS,
        *"=<>+-*/%&|~,",
        "==",
        "!=",
        "<=",
        ">=",
        "<>",
    }:
        return " ends too early: something is missing at its end"
    before = [one.word for one in tokens[max(0, at - 2) : at]]
    expected = _EXPECTED["is"] if "is" in before else _EXPECTED.get("".join(before[-1:]), "")
    return f": `{tokens[at].value}` is not expected there{expected}"


def _node(tree: SQLTree, operands: Sequence[Operand], language: Language) -> Node:
    kind = str(tree["type"])
    if kind == "COLUMN_REF":
        return operands[int(tree["column_names"][0][1:])]
    name = str(tree.get("function_name", kind))
    operator = name if name in language.functions else _OPERATORS.get(name)
    if operator is None:
        raise ConditionError(f"{language.subject}: {name.lower()} is not allowed")
    parts = tuple(_node(one, operands, language) for one in arguments(tree))
    if operator.startswith("not "):
        return Operation("not", (Operation(operator[4:], parts),))
    return Operation(operator or name, parts)
