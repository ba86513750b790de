"""What SQL a model may run: one SELECT on `data`, of listed functions, that stays small.

The database is shut off by its settings already (no files, no network, no changes that last). This
guard comes before them: it reads the statement's tree, and whatever is not on a list is refused.
The lists hold nothing that reads files, settings or the clock, nothing random, and nothing that
makes a value much larger than what it was made from: the memory limit does not count the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from orglab.engine.tools.table.column_types import CellType
from orglab.engine.tools.table.database import Database, quoted
from orglab.providers.base import ToolError
from orglab.results.tables.condition_parser import SQLTree, arguments

LONGEST = 4_000
_MOST_TABLES = 8  # references to `data`, with every CTE counted as often as it is used
_MOST_GROWING = 12  # arguments of functions that join texts: their product bounds the result
_MOST_REUSED = 8  # references to names given in the same select list, each copies its expression

_CLASSES = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION",
        "CONSTANT", "FUNCTION", "OPERATOR", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE",
        "WINDOW",
    }
)  # fmt: skip
_NODES = frozenset(
    {
        "ASCENDING", "BASE_TABLE", "CTE_NODE", "DECIMAL_TYPE_INFO", "DESCENDING", "DISTINCT_MODIFIER", "EMPTY",
        "EXPRESSION_LIST", "JOIN", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_DEFAULT",
        "ORDER_MODIFIER", "SELECT_NODE", "SET_OPERATION_NODE", "SUBQUERY",
    }
)  # fmt: skip
_NODE_MESSAGES = {
    "RECURSIVE_CTE_NODE": "recursive queries are not allowed",
    "SHOW_REF": "use the tools `get_schema` and `describe`",
    "PIVOT": "write the groups with GROUP BY",
    "TABLE_FUNCTION": "table functions are not allowed; the only table is `data`",
}
_NUMERIC = {"BIGINT", "DECIMAL", "DOUBLE", "HUGEINT", "INTEGER", "INTEGER_LITERAL", "NUMERIC"}
_OPERATORS_REFUSED = {"ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT", "ARRAY_CONSTRUCTOR"}

_GROWING = frozenset({"||", "concat"})
"""Functions whose result is as long as all their arguments together."""

_REPLACING = frozenset({"regexp_replace", "replace"})
"""Functions whose result grows by what they put in."""

_AGGREGATES = """
any_value arg_max arg_min avg bool_and bool_or count count_if count_star countif covar_pop
covar_samp first kurtosis last max max_by mean median min min_by mode quantile quantile_cont
quantile_disc skewness stddev stddev_pop stddev_samp sum var_pop var_samp variance
"""

_WINDOWS = """
cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
"""

_OPERATORS = """
+ - * / // % ^ ** || ~~ !~~ ~~* !~~* like_escape not_like_escape ilike_escape not_ilike_escape
"""

_NUMBERS = """
abs acos add asin atan atan2 cbrt ceil ceiling cos degrees divide exp floor fmod greatest isfinite
isinf isnan least ln log log10 log2 mod multiply pi pow power radians round sign sin sqrt subtract
tan trunc
"""

_TEXTS = """
concat contains ends_with instr lcase left len length lower ltrim position prefix regexp_extract
regexp_full_match regexp_matches regexp_replace replace reverse right rtrim split_part starts_with
strip_accents strlen strpos substr substring suffix trim ucase upper
"""

_TIMES = """
century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day
dayname dayofmonth dayofweek dayofyear decade epoch epoch_ms hour isodow isoyear last_day make_date
make_timestamp minute month monthname quarter second strftime strptime time_bucket to_days to_hours
to_minutes to_months to_seconds to_weeks to_years try_strptime week weekday weekofyear year
yearweek
"""

_CHOICES = "coalesce constant_or_null if ifnull nullif"

_FUNCTIONS = frozenset(
    " ".join((_AGGREGATES, _WINDOWS, _OPERATORS, _NUMBERS, _TEXTS, _TIMES, _CHOICES)).split()
)
"""Allowed functions and operators, in lower case."""

_TYPES = """
    BIGINT BOOL BOOLEAN DATE DECIMAL DOUBLE FLOAT FLOAT4 FLOAT8 HUGEINT INT INT4 INT8 INTEGER
    INTERVAL LONG NUMERIC REAL SMALLINT STRING TEXT TIME TIMESTAMP TINYINT VARCHAR
"""

_TYPES_ALLOWED = frozenset(_TYPES.split())
"""Types that a value may be cast to."""

_CLOCK = """
    current_catalog current_database current_date current_role current_schema current_time
    current_timestamp current_user localtime localtimestamp session_user user
"""

_CLOCK_NAMES = frozenset(_CLOCK.split())
"""Names that the database answers from its clock or its session where no column has them."""

_NO_FILES = "the only table is `data`; files cannot be read"
_REPEATABLE = "the same call must give the same result"
_CORRELATE = "call the tool `correlate`, which tells constant columns and small n"
_NO_LISTS = "lists are not allowed; use GROUP BY"

_INSTEAD = {
    **dict.fromkeys(("read_csv", "read_csv_auto", "read_text", "read_blob"), _NO_FILES),
    **dict.fromkeys(("read_json", "read_json_auto", "read_parquet", "glob"), _NO_FILES),
    **dict.fromkeys(("now", "today", "get_current_timestamp", "age"), _REPEATABLE),
    **dict.fromkeys(("random", "uuid", "gen_random_uuid", "setseed"), _REPEATABLE),
    **dict.fromkeys(("corr", "regr_r2", "regr_slope", "regr_intercept"), _CORRELATE),
    **dict.fromkeys(("list", "array_agg", "list_value", "unnest", "string_agg"), _NO_LISTS),
    **dict.fromkeys(("histogram",), "call the tool `histogram`"),
}
"""What to do in place of a refused function, in words."""


def guarded(sql: str, database: Database, columns: Mapping[str, CellType]) -> str:
    """Return ``sql``, if it is one SELECT that only reads `data` and stays small.

    Args:
        sql: What the model wrote.
        database: The table's.
        columns: The table's columns by name, with their types.

    Raises:
        ToolError: It is not; the text says why and what to write instead.
    """
    if not sql.strip():
        raise ToolError("`sql` is empty: write one SELECT on the table `data`")
    if len(sql) > LONGEST or "\0" in sql:
        raise ToolError(f"`sql` is too long (at most {LONGEST:,} characters) or holds NUL")
    statements = database.statements(sql)
    if len(statements) != 1:
        raise ToolError(f"{len(statements)} statements: write exactly one SELECT")
    kind, tree = statements[0]
    if kind != "SELECT":
        raise ToolError(f"{kind} is not allowed: only one SELECT (or WITH … SELECT) on `data`")
    try:
        _Guard({name.lower(): kind for name, kind in columns.items()}).look(json.loads(tree))
    except RecursionError:
        raise ToolError("`sql` is nested too deep: write it flatter") from None
    return sql


class _Guard:
    """Looks at every part of a statement's tree."""

    def __init__(self, columns: Mapping[str, CellType]) -> None:
        self._columns = columns
        self._made: set[str] = set()
        self._growing = 0

    def look(self, tree: SQLTree) -> None:
        if tree.get("error"):
            raise ToolError(str(tree.get("error_message", "this SELECT cannot be read")))
        statements = tree["statements"]
        self._made = {str(one["alias"]).lower() for one in _parts(statements) if one.get("alias")}
        for part in _parts(statements):
            self._check_node(part)
        if self._growing > _MOST_GROWING:
            raise ToolError(f"more than {_MOST_GROWING} texts are joined or replaced: do less")
        if _tables(statements, {}) > _MOST_TABLES:
            raise ToolError(f"`data` is read more than {_MOST_TABLES} times: write less")

    def _check_node(self, part: SQLTree) -> None:
        sort, kind = part.get("class"), part.get("type")
        if isinstance(sort, str):
            self._expression(sort, str(kind), part)
        elif isinstance(kind, str) and kind not in _NODES:
            raise ToolError(_NODE_MESSAGES.get(kind, f"{kind} is not allowed"))
        if part.get("sample"):
            raise ToolError("samples are not allowed: the same call must give the same result")
        if "select_list" in part:
            _refuse_reuse(part["select_list"])

    def _expression(self, sort: str, kind: str, part: SQLTree) -> None:
        if sort not in _CLASSES or kind in _OPERATORS_REFUSED:
            raise ToolError(f"{kind.lower().replace('_', ' ')} is not allowed in `sql`")
        if "function_name" in part:
            self._function(part)
        elif sort == "TYPE" or "cast_type" in part:
            _refuse_type(part)
        elif sort == "COLUMN_REF":
            self._column(part["column_names"])
        elif kind.startswith("COMPARE_"):
            self._comparison(part)

    def _function(self, part: SQLTree) -> None:
        name = str(part["function_name"]).lower()
        if name not in _FUNCTIONS or part.get("schema") or part.get("catalog"):
            hint = _INSTEAD.get(name, "")
            raise ToolError(f"the function `{name}` is not allowed" + (f": {hint}" if hint else ""))
        if name in _GROWING:
            self._growing += max(2, len(arguments(part)))
        if name in _REPLACING:
            _refuse_growth(name, arguments(part))
            self._growing += name == "regexp_replace"

    def _comparison(self, part: SQLTree) -> None:
        """Refuse a text beside a number: the database would round texts, or fail at the first word."""
        sides = arguments(part)
        texts = [name for side in sides if (name := self._column_of_type(side, "text"))]
        numbers = [
            _number_of(side) or self._column_of_type(side, "integer", "number") for side in sides
        ]
        number = next(filter(None, numbers), None)
        if texts and number:
            name = quoted(texts[0])
            raise ToolError(
                f"the column {name} is text, and {number} is a number: compare it with a text in "
                f"single quotes, or write TRY_CAST({name} AS DOUBLE), which is NULL for what is no number"
            )

    def _column_of_type(self, side: SQLTree, *kinds: CellType) -> str | None:
        """Return the column's name, where ``side`` is a bare column of the table of one of these types."""
        if side.get("class") != "COLUMN_REF":
            return None
        name = str(side["column_names"][-1])
        of_table = name.lower() not in self._made  # else it may be one that the query made
        return name if of_table and self._columns.get(name.lower()) in kinds else None

    def _column(self, names: Sequence[str]) -> None:
        name = names[-1].lower()
        if name in _CLOCK_NAMES and name not in self._columns:
            raise ToolError(f"`{name}` is not allowed: {_INSTEAD['now']}")


def _parts(tree: object) -> Iterator[SQLTree]:
    """Yield every mapping in ``tree``, outer ones first."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _text_of(part: SQLTree) -> str | None:
    """Return the text of a constant, else None."""
    if part.get("class") != "CONSTANT":
        return None
    literal = part.get("literal", part.get("value"))
    text = literal.get("text", literal.get("value")) if isinstance(literal, dict) else literal
    return text if isinstance(text, str) else None


def _number_of(part: SQLTree) -> str | None:
    """Return a constant number as it is written, else None."""
    if part.get("class") != "CONSTANT":
        return None
    literal = part.get("literal")
    if isinstance(literal, dict):
        return str(literal.get("text")) if literal.get("kind") in _NUMERIC else None
    value = part.get("value")  # as older databases write it
    kind = (value.get("type") or {}).get("id") if isinstance(value, dict) else None
    return str(value["value"]) if isinstance(value, dict) and kind in _NUMERIC else None


def _refuse_growth(name: str, arguments: Sequence[SQLTree]) -> None:
    """Refuse a replacement that is not constant, or longer than what it replaces."""
    old, new = (_text_of(one) for one in arguments[1:3]) if len(arguments) > 2 else (None, None)
    room = 1 if name == "regexp_replace" else len(old or "")
    if new is None or old is None or len(new) > room:
        raise ToolError(
            f"`{name}` is allowed only with constant texts, the new one not longer than "
            + ("one character" if name == "regexp_replace" else "the old one")
        )


def _refuse_type(part: SQLTree) -> None:
    name = part.get("type_name")
    if name is None:  # as older databases write it: a cast holds its type's id
        name = part["cast_type"].get("id", "")
    if str(name).upper() not in _TYPES_ALLOWED:
        raise ToolError(
            f"the type {name} is not allowed; allowed: {', '.join(sorted(_TYPES_ALLOWED))}"
        )


def _refuse_reuse(items: Sequence[SQLTree]) -> None:
    given: set[str] = set()
    reused = 0
    for item in items:
        for part in _parts(item):
            reused += (
                part.get("class") == "COLUMN_REF" and part["column_names"][-1].lower() in given
            )
        if item.get("alias"):
            given.add(item["alias"].lower())
    if reused > _MOST_REUSED:
        raise ToolError("too many columns of the SELECT are made from one another: nest it instead")


def _tables(tree: object, known: Mapping[str, int]) -> int:
    """Return how often the tree reads `data`, a CTE counted as often as it is used.

    Raises:
        ToolError: It reads another table.
    """
    if isinstance(tree, list):
        return sum(_tables(one, known) for one in tree)
    if not isinstance(tree, dict):
        return 0
    if tree.get("type") == "BASE_TABLE":
        return _table_count(tree, known)
    if ctes := (tree.get("cte_map") or {}).get("map"):
        known = _with_ctes(ctes, known)
    return sum(_tables(one, known) for key, one in tree.items() if key != "cte_map")


def _table_count(tree: SQLTree, known: Mapping[str, int]) -> int:
    name = str(tree["table_name"]).lower()
    if not (tree.get("schema_name") or tree.get("catalog_name")):
        if name in known:
            return known[name]
        if name == "data":
            return 1
    raise ToolError(f"no table `{tree['table_name']}`: the only table is `data`")


def _with_ctes(ctes: Sequence[SQLTree], known: Mapping[str, int]) -> Mapping[str, int]:
    found = dict(known)
    for one in ctes:
        value = one["value"]
        # a CTE of constants reads nothing, but copies of it are work all the same
        found[str(one["key"]).lower()] = max(1, _tables(value, found))
    return found
