"""The language of `where`: a condition on a row, read by us and turned into SQL that only reads.

A missing value equals nothing and is neither greater nor smaller than anything; `not` is plain
negation. So `x > 1`, `x = 1` and `x in (1, 2)` do not hold where x is missing, and `not (x > 1)`,
`x != 1` and `x not in (1, 2)` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orglab.engine.tools.table.column_lookup import columns_are, find_column
from orglab.engine.tools.table.column_types import Column
from orglab.engine.tools.table.database import quoted
from orglab.engine.tools.table.expressions import (
    FUNCTIONS,
    Term,
    alike,
    calculated,
    called,
    comparison,
    constant_number,
    constant_text,
    need_number,
    negated,
    truth,
)
from orglab.engine.tools.table.terms import Token, tokens
from orglab.providers.base import ToolError

__all__ = ["condition"]

_DEEPEST = 30

_COMPARISONS = {"=": "=", "==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPPOSITES = {"!=": "=", "<>": "="}
_WORDS = {
    "and", "between", "false", "ilike", "in", "is", "like", "none", "not", "null", "or", "true",
}  # fmt: skip


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
    return truth(whole, "the condition").sql


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

    def either(self) -> Term:
        return self._joined(self._both, "OR", "or", "|")

    def _both(self) -> Term:
        return self._joined(self._not, "AND", "and", "&")

    def _joined(self, part: Callable[[], Term], sql: str, *words: str) -> Term:
        left = part()
        while word := self._word(*words):
            left = truth(left, f"what stands before `{word}`")
            right = truth(part(), f"what stands after `{word}`")
            left = Term(f"({left.sql} {sql} {right.sql})", "boolean", "a condition")
        return left

    def _not(self) -> Term:
        with_not = self._word("not", "~")
        if not with_not:
            return self._comparison()
        self._deeper()
        term = negated(truth(self._not(), "what stands after `not`"))
        self._depth -= 1
        return term

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ToolError(f"`where` is too deep: at most {_DEEPEST} levels of brackets")

    def _comparison(self) -> Term:
        left = self._sum()
        if sign := self._word(*_COMPARISONS, *_OPPOSITES):
            return self._compared(left, sign)
        if self._word("is"):
            return self._is(left)
        opposite = bool(self._word("not"))
        test = self._test(left)
        if test is None and opposite:
            raise ToolError(f"{self.unexpected()} (`in`, `like` or `between` was expected)")
        return left if test is None else negated(test) if opposite else test

    def _test(self, left: Term) -> Term | None:
        if self._word("in"):
            return self._in(left)
        if self._word("between"):
            return self._between(left)
        if like := self._word("like", "ilike"):
            return self._like(left, like)
        return None

    def _compared(self, left: Term, sign: str) -> Term:
        right = self._sum()
        if left.constant and right.constant:
            raise ToolError(
                f"`where` compares {left.name} with {right.name}: neither is a column. "
                f"{columns_are(self._columns)}"
            )
        left, right = alike(left, right)
        equal = _COMPARISONS.get(sign) or _OPPOSITES[sign]
        if left.kind == "boolean" and equal != "=":
            raise ToolError(f"`where`: true and false have no order, `{sign}` cannot be used")
        term = comparison(f"({left.sql} {equal} {right.sql})", "a condition")
        return negated(term) if sign in _OPPOSITES else term

    def _is(self, left: Term) -> Term:
        opposite = bool(self._word("not"))
        if self._word("null", "none"):
            term = Term(f"({left.sql} IS NULL)", "boolean", "a condition")
        elif value := self._word("true", "false"):
            truth(left, f"what stands before `is {value}`")
            term = comparison(f"({left.sql} = {value})", "a condition")
        else:
            raise ToolError(f"{self.unexpected()} (`null`, `true` or `false` was expected)")
        return negated(term) if opposite else term

    def _in(self, left: Term) -> Term:
        closing = {"(": ")", "[": "]"}.get(self._word("(", "["))
        if closing is None:
            raise ToolError("`where`: after `in` comes a list, such as `in (1, 2)`")
        items = [self._alike_item(left)]
        while self._word(","):
            items.append(self._alike_item(left))
        self._need(closing)
        return comparison(f"({left.sql} IN ({', '.join(items)}))", "a condition")

    def _alike_item(self, left: Term) -> str:
        item = self._sum()
        if not item.constant:
            raise ToolError(f"`where`: a list after `in` holds constants only, not {item.name}")
        return alike(left, item)[1].sql

    def _between(self, left: Term) -> Term:
        low = alike(left, self._sum())[1]
        self._need("and")
        high = alike(left, self._sum())[1]
        return comparison(f"({left.sql} BETWEEN {low.sql} AND {high.sql})", "a condition")

    def _like(self, left: Term, like: str) -> Term:
        pattern = self._sum()
        if left.kind != "text" or pattern.text is None:
            raise ToolError(f"`where`: `{like}` compares a text column with a text, such as 'A%'")
        return comparison(f"({left.sql} {like.upper()} {pattern.sql})", "a condition")

    def _sum(self) -> Term:
        left = self._product()
        while sign := self._word("+", "-"):
            left = calculated(left, sign, self._product())
        return left

    def _product(self) -> Term:
        left = self._signed()
        while sign := self._word("*", "/", "%"):
            left = calculated(left, sign, self._signed())
        return left

    def _signed(self) -> Term:
        if not self._word("-"):
            return self._atom()
        self._deeper()
        term = need_number(self._signed(), "-")
        self._depth -= 1
        return term._replace(sql=f"(-{term.sql})")

    def _atom(self) -> Term:
        if self._word("("):
            return self._bracket()
        token = self._take()
        if token.sort == "number":
            return constant_number(token.value)
        if token.sort == "text":
            return constant_text(token.value)
        if token.sort == "name" and token.value.lower() in ("true", "false"):
            return Term(token.value.lower(), "boolean", f"`{token.value}`", constant=True)
        if token.sort == "name" and self._word("("):
            return self._call(token.value)
        return self._named(token)

    def _bracket(self) -> Term:
        self._deeper()
        term = self.either()
        self._need(")")
        self._depth -= 1
        return term

    def _named(self, token: Token) -> Term:
        if token.sort == "name" and token.value.lower() in ("null", "none"):
            raise ToolError("`where`: write `is null` or `is not null` to ask for missing values")
        if token.sort == "quoted" and token.value not in self._columns:
            # in Python and in many a model's SQL, double quotes hold a text
            return constant_text(token.value)
        if token.sort not in ("name", "quoted") or (
            token.sort == "name" and token.value.lower() in _WORDS - self._columns.keys()
        ):
            self._place -= token.sort != "end"
            raise ToolError(self.unexpected())
        column = find_column(self._columns, token.value)
        return Term(quoted(column.name), column.type, f"`{column.name}`", column=True)

    def _call(self, name: str) -> Term:
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
        return called(name.lower(), function, arguments)
