"""Digests of exported tables, to compare the results of two versions of orglab.

Run as a script it prints the digests of a folder of CSV files as JSON:

    orglab run STUDY.yaml --seed 7 --no-cache --out DIR && orglab export DIR --to csv
    python tests/support/table_digests.py DIR/export --without-clocks > tests/data/golden/NAME.json
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["table_digests"]

CLOCKS = re.compile(r"\bseconds|_seconds|^started$|^ended$")
"""Columns and measures that a second run gives anew."""
FREE = ("blobs.csv",)
"""Tables that hold clocks inside their texts."""


def table_digests(folder: Path, *, clocks: bool = True) -> dict[str, Any]:
    """Return row count, digest of the sorted rows and digest of each column, by table.

    Without `clocks`, columns and scores that measure time are left out, and so are blobs.
    """
    csv.field_size_limit(2**31 - 1)
    paths = [path for path in sorted(folder.glob("*.csv")) if clocks or path.name not in FREE]
    return {path.stem: _digests(path, clocks=clocks) for path in paths}


def _digests(path: Path, *, clocks: bool) -> dict[str, Any]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not clocks:
        rows = [row for row in rows if path.stem != "scores" or not CLOCKS.search(row["name"])]
    names = [name for name in rows[0] if clocks or not CLOCKS.search(name)] if rows else []
    lines = [json.dumps([row[name] for name in names]) for row in rows]
    columns = {name: _digest([row[name] for row in rows]) for name in names}
    return {"rows": len(rows), "digest": _digest(lines), "columns": columns}


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


if __name__ == "__main__":
    found = table_digests(Path(sys.argv[1]), clocks="--without-clocks" not in sys.argv[2:])
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
