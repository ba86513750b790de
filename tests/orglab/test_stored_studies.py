"""Studies written by an earlier orglab: today's code exports and reports the same.

`tests/data/README.md` says how the stored studies and the golden digests were made.
"""

from __future__ import annotations

import json
import lzma
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from table_digests import table_digests

DATA = Path(__file__).parents[1] / "data"
SPECS = Path(__file__).parents[2] / "specs"

pytestmark = pytest.mark.timeout(180)

Cli = Callable[..., Any]

NEW_ARGUMENT = ',""vocabulary"":""data/laptop_parts.yaml""'
"""What `spec_check` of study 2 did not need when the digests were written: it knew laptops itself."""


@pytest.fixture
def unpack(tmp_path: Path) -> Callable[[str], Path]:
    """Return the folder of a stored study, unpacked."""

    def to_folder(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        packed = (DATA / "studies" / f"{name}.sqlite.xz").read_bytes()
        (folder / "study.sqlite").write_bytes(lzma.decompress(packed))
        return folder

    return to_folder


def digests(file: str) -> Any:
    """Return the expected digests of tables."""
    return json.loads((DATA / file).read_text(encoding="utf-8"))


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Compare two JSON values; sentences may be reworded, their numbers may not change."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new:
                yield f"{path}.{key}: in one report only"
            else:
                yield from differences(old[key], new[key], f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{path}[{at}]")
    elif isinstance(old, float) and isinstance(new, float):
        if not math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{path}: {old} became {new}"
    elif isinstance(old, str) and isinstance(new, str) and " " in old and " " in new:
        if re.findall(r"\d+", old) != re.findall(r"\d+", new):
            yield f"{path}: {old!r} became {new!r}"
    elif old != new:
        yield f"{path}: {old!r} became {new!r}"


@pytest.mark.parametrize("name", ["experiment", "sweep", "validator"])
def test_a_stored_study_gives_the_same_tables(
    cli: Cli, unpack: Callable[[str], Path], name: str
) -> None:
    """Every row and every column, clocks included."""
    folder = unpack(name)
    assert cli("export", folder, "--to", "csv").code == 0
    assert table_digests(folder / "export") == digests(f"studies/{name}.tables.json")


@pytest.mark.parametrize("name", ["experiment", "sweep"])
def test_a_stored_study_gives_the_same_report(
    cli: Cli, unpack: Callable[[str], Path], name: str
) -> None:
    """The same values at the same keys of report.json, and figures of the same names."""
    folder = unpack(name)
    assert cli("report", folder).code == 0
    new = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert list(differences(digests(f"studies/{name}.report.json"), new)) == []
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert figures == digests("studies/figures.json")[name]


@pytest.mark.parametrize("name", ["validator", "skeptic"])
def test_a_run_of_study_1_gives_the_same_rows(cli: Cli, tmp_path: Path, name: str) -> None:
    """Six units with seed 7: simulated draws, identities and scores are as before."""
    study, units = SPECS / "insight-review", tmp_path / "units.jsonl"
    shutil.copytree(study / "data", tmp_path / "data")
    lines = (study / "units.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:6]
    units.write_text("".join(lines), encoding="utf-8")
    run = ("run", study / f"{name}.yaml", "--units", units, "--seed", 7, "--no-cache")
    assert cli(*run, "--out", "out").code == 0
    assert cli("export", "out", "--to", "csv").code == 0
    found = table_digests(tmp_path / "out/export", clocks=False)
    assert found == digests(f"golden/{name}.json")


def test_a_run_of_study_2_gives_the_same_rows(cli: Cli, tmp_path: Path) -> None:
    """Both arms on a sample of six laptops."""
    study = tmp_path / "specs/loop-back-authority"
    shutil.copytree(SPECS / "loop-back-authority", study)
    file = study / "experiment.yaml"
    text = file.read_text(encoding="utf-8")
    where = 'where: "review_count >= 5"'
    file.write_text(text.replace(where, f"{where}, sample: 6"), encoding="utf-8")
    assert cli("run", file, "--no-cache", "--out", "out").code == 0
    assert cli("export", "out", "--to", "csv").code == 0
    for path in (tmp_path / "out/export").glob("*.csv"):
        path.write_text(path.read_text(encoding="utf-8").replace(NEW_ARGUMENT, ""), "utf-8")
    found = table_digests(tmp_path / "out/export", clocks=False)
    assert found == digests("golden/loop-back-authority.json")
