"""The language of `where`: a condition on a row, read by us and turned into SQL that only reads.

A missing value equals nothing and is neither greater nor smaller than anything; `not` is plain
negation. So `x > 1`, `x = 1` and `x in (1, 2)` do not hold where x is missing, and `not (x > 1)`,
`x != 1` and `x not in (1, 2)` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Literal, NamedTuple, TypeAlias

from orglab.engine.tools.cells import Column
from orglab.engine.tools.database import quoted
from orglab.engine.tools.names import columns_are, find_column
from orglab.engine.tools.terms import Token, tokens
from orglab.providers.base import ToolError

__all__ = ["FUNCTIONS", "condition"]

_Kind: TypeAlias = Literal["boolean", "date", "integer", "number", "text", "timestamp"]

_DEEPEST = 30

_COMPARISONS = {"=": "=", "==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPPOSITES = {"!=": "=", "<>": "="}
_WORDS = {
    "and", "between", "false", "ilike", "in", "is", "like", "none", "not", "null", "or", "true",
}  # fmt: skip

_NUMBERS: frozenset[_Kind] = frozenset({"integer", "number"})
_MOMENTS: frozenset[_Kind] = frozenset({"date", "timestamp"})
_TEXTS: frozenset[_Kind] = frozenset({"text"})


class _Function(NamedTuple):
    takes: tuple[frozenset[_Kind], ...]
    gives: _Kind


FUNCTIONS: dict[str, _Function] = {
    **dict.fromkeys(("abs", "ceil", "floor", "round"), _Function((_NUMBERS,), "number")),
    **dict.fromkeys(("lower", "upper", "trim"), _Function((_TEXTS,), "text")),
    **dict.fromkeys(
        ("contains", "starts_with", "ends_with"), _Function((_TEXTS, _TEXTS), "boolean")
    ),
    **dict.fromkeys(
        ("year", "quarter", "month", "week", "day", "dayofweek", "isodow"),
        _Function((_MOMENTS,), "integer"),
    ),
    **dict.fromkeys(
        ("hour", "minute", "second"), _Function((frozenset({"timestamp"}),), "integer")
    ),
    **dict.fromkeys(("dayname", "monthname"), _Function((_MOMENTS,), "text")),
    "length": _Function((_TEXTS,), "integer"),
}


class _Term(NamedTuple):
    """A part of a condition: its SQL, its kind; ``text``: what a constant text says.

    ``column``: it is a bare column, which may be missing.
    """

    sql: str
    kind: _Kind
    name: str
    constant: bool = False
    text: str | None = None
    column: bool = False


def condition(where: str, columns: Mapping[str, Column]) -> str:
    """``where`` as an SQL expression that is true or false for every row, never NULL.

    Args:
        where: The condition as a model or an author wrote it.
        columns: The table's columns by name.

    Raises:
        ToolError: It is no condition on these columns; the text says how to write it.
    """
    reader = _Reader(tokens(where), columns)
    whole = reader.either()
    if reader.now.sort != "end":
        raise ToolError(reader.unexpected())
    return _truth(whole, "the condition").sql


def _truth(term: _Term, what: str) -> _Term:
    if term.kind != "boolean":
        raise ToolError(f"`where`: {what} is not true or false: {term.name} is {term.kind}")
    return _of_comparison(term.sql, term.name) if term.column else term


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _of_comparison(sql: str, name: str) -> _Term:
    """A comparison with a missing value is false."""
    return _Term(f"coalesce({sql}, FALSE)", "boolean", name)


def _negated(term: _Term) -> _Term:
    return _Term(f"(NOT {term.sql})", "boolean", "a condition")


class _Reader:
    """Recursive descent over the tokens; each method reads one level of binding."""

    def __init__(self, found: Sequence[Token], columns: Mapping[str, Column]) -> None:
        self._tokens = found
        self._place = 0
        self._depth = 0
        self._columns = columns

    @property
    def now(self) -> Token:
        return self._tokens[self._place]

    def unexpected(self) -> str:
        if self.now.sort == "end":
            return "`where` ends too early: something is missing at its end"
        if self.now.value == ".":
            return (
                "`where`: attributes and methods (`a.b`) are not allowed; allowed functions: "
                + ", ".join(sorted(FUNCTIONS))
            )
        if self.now.value in {*_COMPARISONS, *_OPPOSITES}:
            return "`where`: comparisons cannot be chained; write `a > 1 and a < 3`"
        return f"`where`: `{self.now.value}` is not expected there"

    def _take(self) -> Token:
        token = self.now
        self._place += token.sort != "end"
        return token

    def _word(self, *words: str) -> str:
        """The word or mark among ``words`` that comes now, taken; else ""."""
        token = self.now
        value = token.value.lower()
        if token.sort not in ("name", "mark") or value not in words:
            return ""
        self._take()
        return value

    def _need(self, *words: str) -> None:
        if not self._word(*words):
            raise ToolError(f"{self.unexpected()} (`{words[0]}` was expected)")

    def either(self) -> _Term:
        return self._joined(self._both, "OR", "or", "|")

    def _both(self) -> _Term:
        return self._joined(self._not, "AND", "and", "&")

    def _joined(self, part: Callable[[], _Term], sql: str, *words: str) -> _Term:
        left = part()
        while word := self._word(*words):
            left = _truth(left, f"what stands before `{word}`")
            right = _truth(part(), f"what stands after `{word}`")
            left = _Term(f"({left.sql} {sql} {right.sql})", "boolean", "a condition")
        return left

    def _not(self) -> _Term:
        with_not = self._word("not", "~")
        if not with_not:
            return self._comparison()
        self._deeper()
        term = _negated(_truth(self._not(), "what stands after `not`"))
        self._depth -= 1
        return term

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ToolError(f"`where` is too deep: at most {_DEEPEST} levels of brackets")

    def _comparison(self) -> _Term:
        left = self._sum()
        if sign := self._word(*_COMPARISONS, *_OPPOSITES):
            return self._compared(left, sign)
        if self._word("is"):
            return self._is(left)
        negated = bool(self._word("not"))
        test = self._test(left)
        if test is None and negated:
            raise ToolError(f"{self.unexpected()} (`in`, `like` or `between` was expected)")
        return left if test is None else _negated(test) if negated else test

    def _test(self, left: _Term) -> _Term | None:
        if self._word("in"):
            return self._in(left)
        if self._word("between"):
            return self._between(left)
        if like := self._word("like", "ilike"):
            return self._like(left, like)
        return None

    def _compared(self, left: _Term, sign: str) -> _Term:
        right = self._sum()
        if left.constant and right.constant:
            raise ToolError(
                f"`where` compares {left.name} with {right.name}: neither is a column. "
                f"{columns_are(self._columns)}"
            )
        left, right = _alike(left, right)
        equal = _COMPARISONS.get(sign) or _OPPOSITES[sign]
        if left.kind == "boolean" and equal != "=":
            raise ToolError(f"`where`: true and false have no order, `{sign}` cannot be used")
        term = _of_comparison(f"({left.sql} {equal} {right.sql})", "a condition")
        return _negated(term) if sign in _OPPOSITES else term

    def _is(self, left: _Term) -> _Term:
        negated = bool(self._word("not"))
        if self._word("null", "none"):
            term = _Term(f"({left.sql} IS NULL)", "boolean", "a condition")
        elif value := self._word("true", "false"):
            _truth(left, f"what stands before `is {value}`")
            term = _of_comparison(f"({left.sql} = {value})", "a condition")
        else:
            raise ToolError(f"{self.unexpected()} (`null`, `true` or `false` was expected)")
        return _negated(term) if negated else term

    def _in(self, left: _Term) -> _Term:
        closing = {"(": ")", "[": "]"}.get(self._word("(", "["))
        if closing is None:
            raise ToolError("`where`: after `in` comes a list, such as `in (1, 2)`")
        items = [self._alike_item(left)]
        while self._word(","):
            items.append(self._alike_item(left))
        self._need(closing)
        return _of_comparison(f"({left.sql} IN ({', '.join(items)}))", "a condition")

    def _alike_item(self, left: _Term) -> str:
        item = self._sum()
        if not item.constant:
            raise ToolError(f"`where`: a list after `in` holds constants only, not {item.name}")
        return _alike(left, item)[1].sql

    def _between(self, left: _Term) -> _Term:
        low = _alike(left, self._sum())[1]
        self._need("and")
        high = _alike(left, self._sum())[1]
        return _of_comparison(f"({left.sql} BETWEEN {low.sql} AND {high.sql})", "a condition")

    def _like(self, left: _Term, like: str) -> _Term:
        pattern = self._sum()
        if left.kind != "text" or pattern.text is None:
            raise ToolError(f"`where`: `{like}` compares a text column with a text, such as 'A%'")
        return _of_comparison(f"({left.sql} {like.upper()} {pattern.sql})", "a condition")

    def _sum(self) -> _Term:
        left = self._product()
        while sign := self._word("+", "-"):
            left = _calculated(left, sign, self._product())
        return left

    def _product(self) -> _Term:
        left = self._signed()
        while sign := self._word("*", "/", "%"):
            left = _calculated(left, sign, self._signed())
        return left

    def _signed(self) -> _Term:
        if not self._word("-"):
            return self._atom()
        self._deeper()
        term = _number(self._signed(), "-")
        self._depth -= 1
        return term._replace(sql=f"(-{term.sql})")

    def _atom(self) -> _Term:
        if self._word("("):
            return self._bracket()
        token = self._take()
        if token.sort == "number":
            return _constant_number(token.value)
        if token.sort == "text":
            return _constant_text(token.value)
        if token.sort == "name" and token.value.lower() in ("true", "false"):
            return _Term(token.value.lower(), "boolean", f"`{token.value}`", constant=True)
        if token.sort == "name" and self._word("("):
            return self._call(token.value)
        return self._named(token)

    def _bracket(self) -> _Term:
        self._deeper()
        term = self.either()
        self._need(")")
        self._depth -= 1
        return term

    def _named(self, token: Token) -> _Term:
        if token.sort == "name" and token.value.lower() in ("null", "none"):
            raise ToolError("`where`: write `is null` or `is not null` to ask for missing values")
        if token.sort == "quoted" and token.value not in self._columns:
            # in Python and in many a model's SQL, double quotes hold a text
            return _constant_text(token.value)
        if token.sort not in ("name", "quoted") or (
            token.sort == "name" and token.value.lower() in _WORDS - self._columns.keys()
        ):
            self._place -= token.sort != "end"
            raise ToolError(self.unexpected())
        column = find_column(self._columns, token.value)
        return _Term(quoted(column.name), column.type, f"`{column.name}`", column=True)

    def _call(self, name: str) -> _Term:
        function = FUNCTIONS.get(name.lower())
        if function is None:
            raise ToolError(
                f"`where`: `{name}(…)` is not allowed; allowed functions: "
                + ", ".join(sorted(FUNCTIONS))
            )
        self._deeper()
        arguments = [self._sum()]
        while self._word(","):
            arguments.append(self._sum())
        self._need(")")
        self._depth -= 1
        return _called(name.lower(), function, arguments)


def _called(name: str, function: _Function, arguments: Sequence[_Term]) -> _Term:
    if len(arguments) != len(function.takes):
        raise ToolError(f"`where`: `{name}` takes {len(function.takes)} argument(s)")
    for one, kinds in zip(arguments, function.takes, strict=True):
        if one.kind not in kinds:
            wanted = " or ".join(sorted(kinds))
            raise ToolError(f"`where`: `{name}` takes a {wanted}; {one.name} is {one.kind}")
    sql = f"{name}({', '.join(one.sql for one in arguments)})"
    if function.gives == "boolean":
        return _of_comparison(sql, f"`{name}(…)`")
    kind = arguments[0].kind if function.takes[0] is _NUMBERS else function.gives
    return _Term(sql, kind, f"`{name}(…)`", all(one.constant for one in arguments))


def _constant_number(text: str) -> _Term:
    if text.isdigit() and len(text) <= 38:
        return _Term(text, "integer", f"`{text}`", constant=True)
    return _Term(f"CAST('{text}' AS DOUBLE)", "number", f"`{text}`", constant=True)


def _constant_text(text: str) -> _Term:
    return _Term(_literal(text), "text", f"'{text}'", constant=True, text=text)


def _number(term: _Term, sign: str) -> _Term:
    if term.kind not in _NUMBERS:
        raise ToolError(f"`where`: `{sign}` needs numbers; {term.name} is {term.kind}")
    return term


def _calculated(left: _Term, sign: str, right: _Term) -> _Term:
    """Arithmetic that gives missing, never "not a number", where it has no result."""
    left, right = _number(left, sign), _number(right, sign)
    whole = left.kind == right.kind == "integer" and sign != "/"
    divisor = f"nullif({right.sql}, 0)" if sign in "/%" else right.sql
    sql = f"({left.sql} {sign} {divisor})"
    return _Term(
        sql if whole else f"nullif(CAST({sql} AS DOUBLE), CAST('nan' AS DOUBLE))",
        "integer" if whole else "number",
        f"`{sign}`",
        left.constant and right.constant,
    )


def _alike(left: _Term, right: _Term) -> tuple[_Term, _Term]:
    """Both sides of a comparison, a constant text read as a date beside a date."""
    left, right = _dated(left, right), _dated(right, left)
    same = left.kind == right.kind or any(
        {left.kind, right.kind} <= family for family in (_NUMBERS, _MOMENTS)
    )
    if not same:
        raise ToolError(
            f"`where`: {_spoken(left)} compared with {_spoken(right)}: {left.name} is "
            f"{left.kind}, {right.name} is {right.kind}"
        )
    return left, right


def _spoken(term: _Term) -> str:
    return "number" if term.kind in _NUMBERS else term.kind


def _dated(term: _Term, beside: _Term) -> _Term:
    if term.text is None or beside.kind not in _MOMENTS:
        return term
    try:
        moment = datetime.fromisoformat(term.text)
    except ValueError:
        raise ToolError(
            f"`where`: {beside.name} is a {beside.kind}, but {term.name} is not; write "
            "'2024-01-31' or '2024-01-31 12:00:00'"
        ) from None
    if moment.tzinfo is not None:
        raise ToolError(f"`where`: write {term.name} in UTC, without an offset")
    if len(term.text) == len("2024-01-31"):
        day = date.fromisoformat(term.text)
        return term._replace(sql=f"DATE '{day.isoformat()}'", kind="date")
    return term._replace(sql=f"TIMESTAMP '{moment.isoformat(sep=' ')}'", kind="timestamp")
