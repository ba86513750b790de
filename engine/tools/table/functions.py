"""The SQL functions and types that `query` allows, by list: whatever is not here is refused."""

from __future__ import annotations

__all__ = ["CLOCK", "FUNCTIONS", "GROWING", "INSTEAD", "REPLACING", "TYPES"]

GROWING = frozenset({"||", "concat"})
"""Functions whose result is as long as all their arguments together."""

REPLACING = frozenset({"regexp_replace", "replace"})
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

FUNCTIONS = frozenset(
    " ".join((_AGGREGATES, _WINDOWS, _OPERATORS, _NUMBERS, _TEXTS, _TIMES, _CHOICES)).split()
)
"""Allowed functions and operators, in lower case."""

_TYPES = """
    BIGINT BOOL BOOLEAN DATE DECIMAL DOUBLE FLOAT FLOAT4 FLOAT8 HUGEINT INT INT4 INT8 INTEGER
    INTERVAL LONG NUMERIC REAL SMALLINT STRING TEXT TIME TIMESTAMP TINYINT VARCHAR
"""

TYPES = frozenset(_TYPES.split())
"""Types that a value may be cast to."""

_CLOCK = """
    current_catalog current_database current_date current_role current_schema current_time
    current_timestamp current_user localtime localtimestamp session_user user
"""

CLOCK = frozenset(_CLOCK.split())
"""Names that the database answers from its clock or its session where no column has them."""

_NO_FILES = "the only table is `data`; files cannot be read"
_REPEATABLE = "the same call must give the same result"
_CORRELATE = "call the tool `correlate`, which tells constant columns and small n"
_NO_LISTS = "lists are not allowed; use GROUP BY"

INSTEAD = {
    **dict.fromkeys(("read_csv", "read_csv_auto", "read_text", "read_blob"), _NO_FILES),
    **dict.fromkeys(("read_json", "read_json_auto", "read_parquet", "glob"), _NO_FILES),
    **dict.fromkeys(("now", "today", "get_current_timestamp", "age"), _REPEATABLE),
    **dict.fromkeys(("random", "uuid", "gen_random_uuid", "setseed"), _REPEATABLE),
    **dict.fromkeys(("corr", "regr_r2", "regr_slope", "regr_intercept"), _CORRELATE),
    **dict.fromkeys(("list", "array_agg", "list_value", "unnest", "string_agg"), _NO_LISTS),
    **dict.fromkeys(("histogram",), "call the tool `histogram`"),
}
"""What to do in place of a refused function, in words."""
