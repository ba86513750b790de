"""The tables of a study's file. ``docs/reference/store.md`` explains every column."""

from __future__ import annotations

FORMAT = 2
"""``PRAGMA user_version``: grows when the tables change their meaning."""

APPLICATION = 0x6F72676C
"""``PRAGMA application_id``: ``orgl``, so that the file can be distinguished from other SQLite files."""

DDL = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
  session INTEGER PRIMARY KEY, opened TEXT NOT NULL, versions TEXT NOT NULL
);
CREATE TABLE limits (
  session INTEGER NOT NULL, at TEXT NOT NULL, account TEXT NOT NULL, lim INTEGER NOT NULL,
  why TEXT NOT NULL
);
CREATE TABLE specs (
  hash TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, normal TEXT NOT NULL,
  added TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE blobs (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
CREATE TABLE runs (
  run INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, arm TEXT NOT NULL, unit TEXT NOT NULL,
  replicate INTEGER NOT NULL, seed INTEGER NOT NULL, spec TEXT NOT NULL, ordinal INTEGER NOT NULL,
  inputs TEXT NOT NULL, extra TEXT NOT NULL,
  status TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', answer TEXT, last TEXT,
  turns INTEGER NOT NULL DEFAULT 0, loops INTEGER NOT NULL DEFAULT 0,
  forced INTEGER NOT NULL DEFAULT 0, calls INTEGER NOT NULL DEFAULT 0,
  tool_calls INTEGER NOT NULL DEFAULT 0,
  tokens_input INTEGER NOT NULL DEFAULT 0, tokens_output INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL, priced_usd REAL NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
  service_seconds REAL NOT NULL DEFAULT 0, waiting_seconds REAL NOT NULL DEFAULT 0, seconds REAL,
  simulated INTEGER NOT NULL DEFAULT 0, asked_again INTEGER NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0, failures TEXT NOT NULL DEFAULT '[]', diverged INTEGER,
  started TEXT NOT NULL, ended TEXT
);
CREATE TABLE events (
  run INTEGER NOT NULL, seq INTEGER NOT NULL, tick INTEGER NOT NULL, kind TEXT NOT NULL,
  body TEXT NOT NULL, UNIQUE (run, seq)
);
CREATE TABLE attempts (
  run INTEGER NOT NULL, position TEXT NOT NULL, number INTEGER NOT NULL,
  retry INTEGER NOT NULL, again INTEGER NOT NULL, what TEXT NOT NULL,
  UNIQUE (run, position, number)
);
CREATE TABLE calls (
  run INTEGER NOT NULL, position TEXT NOT NULL, superseded INTEGER NOT NULL DEFAULT 0,
  identity TEXT NOT NULL, copy TEXT NOT NULL, role TEXT NOT NULL, purpose TEXT NOT NULL,
  visit INTEGER NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, served TEXT NOT NULL,
  stop TEXT NOT NULL, error TEXT,
  tokens_input INTEGER NOT NULL, tokens_output INTEGER NOT NULL,
  tokens_cached INTEGER NOT NULL, tokens_reasoning INTEGER NOT NULL,
  cost_usd REAL, service_seconds REAL NOT NULL, waiting_seconds REAL NOT NULL,
  attempts INTEGER NOT NULL, simulated INTEGER NOT NULL,
  seed INTEGER, params TEXT NOT NULL, messages TEXT NOT NULL, tools TEXT, schema TEXT,
  reply TEXT NOT NULL, cut INTEGER NOT NULL DEFAULT 0, reserved_usd REAL,
  UNIQUE (run, position, superseded)
);
CREATE INDEX calls_by_identity ON calls (identity);
CREATE TABLE tool_calls (
  run INTEGER NOT NULL, position TEXT NOT NULL, superseded INTEGER NOT NULL DEFAULT 0,
  identity TEXT NOT NULL, copy TEXT NOT NULL, role TEXT NOT NULL, visit INTEGER NOT NULL,
  tool TEXT NOT NULL, arguments TEXT NOT NULL, result TEXT NOT NULL, error INTEGER NOT NULL,
  refused TEXT NOT NULL, seconds REAL NOT NULL, prompt INTEGER NOT NULL, more TEXT NOT NULL,
  UNIQUE (run, position, superseded)
);
CREATE TABLE decisions (
  run INTEGER NOT NULL, position TEXT NOT NULL, superseded INTEGER NOT NULL DEFAULT 0,
  identity TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (run, position, superseded)
);
CREATE TABLE evaluations (
  run INTEGER NOT NULL, evaluator TEXT NOT NULL, arguments TEXT NOT NULL, error TEXT,
  PRIMARY KEY (run, evaluator, arguments)
) WITHOUT ROWID;
CREATE TABLE scores (
  run INTEGER NOT NULL, evaluator TEXT NOT NULL, arguments TEXT NOT NULL, name TEXT NOT NULL,
  scale TEXT NOT NULL, value REAL, label TEXT, passed INTEGER, reason TEXT NOT NULL,
  detail TEXT NOT NULL, PRIMARY KEY (run, evaluator, arguments, name)
) WITHOUT ROWID;
"""

_RUN_COLUMNS = "run, id, arm, unit, replicate, seed, spec, ordinal, inputs, extra, status, started"
_ENDED = (
    "status=?, reason=?, answer=?, last=?, turns=?, loops=?, forced=?, calls=?, tool_calls=?, "
    "tokens_input=?, tokens_output=?, cost_usd=?, priced_usd=?, unpriced=?, service_seconds=?, "
    "waiting_seconds=?, seconds=?, simulated=?, asked_again=?, diverged=?, ended=?"
)


def _insert(table: str, columns: int, verb: str = "INSERT") -> str:
    return f"{verb} INTO {table} VALUES ({','.join('?' * columns)})"


STATEMENTS = {
    "limit": _insert("limits", 5),
    "spec": _insert("specs", 5, "INSERT OR IGNORE"),
    "blob": "INSERT OR IGNORE INTO blobs (hash, text) VALUES (?, ?)",
    "run": f"INSERT INTO runs ({_RUN_COLUMNS}) VALUES ({','.join('?' * 12)})",  # noqa: S608 - constants
    "attempt": _insert("attempts", 6),
    "call": _insert("calls", 30),
    "tool": _insert("tool_calls", 15),
    "decision": _insert("decisions", 5),
    "event": _insert("events", 5, "INSERT OR REPLACE"),
    "end": f"UPDATE runs SET {_ENDED} WHERE run=?",  # noqa: S608 - constants
    "unscore": "DELETE FROM scores WHERE run=? AND evaluator=? AND arguments=?",
    "evaluation": _insert("evaluations", 4, "INSERT OR REPLACE"),
    "score": _insert("scores", 10),
}
"""What is written, by name, in the order in which a commit writes it."""
