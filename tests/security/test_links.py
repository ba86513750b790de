"""A study is written where the user is, whatever links a stranger's folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orglab.engine.study.batch.study_folder import load_team, study_folder
from orglab.results.store.group_commit import StoreError
from orglab.results.store.store import Store
from orglab.results.tables.export import export

Den = Any

pytestmark = pytest.mark.timeout(240)  # whole processes, many of them

FILES = ("study.sqlite", "study.sqlite-wal", "study.sqlite-journal", "study.sqlite.lock")


def test_linked_runs_lead_nowhere(den: Den) -> None:
    """`runs`, or the study's own folder, as a link out is refused; `--out` may name any folder."""
    den.write({"t.yaml": den.text, "replies.jsonl": '{"role": "w", "reply": "x"}\n'})
    (den.spec / "runs").symlink_to("../folder")
    ended = den.orglab("run", "t.yaml")
    assert ended.code == 2
    assert "with --out" in ended.out
    (den.spec / "runs").unlink()
    (den.spec / "runs").mkdir()
    team = load_team(den.spec / "t.yaml")
    (den.spec / "runs" / study_folder(team.topology).name).symlink_to("../../folder")
    assert den.orglab("run", "t.yaml").code == 2
    assert den.orglab("run", "t.yaml", "--out", "mine").code == 0


@pytest.mark.parametrize("name", FILES)
def test_linked_files_of_a_study_are_refused(tmp_path: Path, name: str) -> None:
    """The study's file, its log and its lock: nothing is written through them, nothing emptied."""
    precious = tmp_path / "precious.txt"
    precious.write_text("precious", encoding="utf-8")
    study = tmp_path / "study"
    study.mkdir()
    (study / name).symlink_to(precious)
    with pytest.raises(StoreError, match=r"link|cannot be written"):
        Store(study)
    assert precious.read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_export_writes_through_no_link(tmp_path: Path, kind: Any) -> None:
    """Links that wait under the names of its files are replaced, not followed."""
    precious = tmp_path / "precious.txt"
    precious.write_text("precious", encoding="utf-8")
    Store(tmp_path / "study").close()
    out = tmp_path / "out"
    out.mkdir()
    for name in (f"runs.{kind}", f"runs.{kind}.part", f"runs.{kind}.part.jsonl"):
        (out / name).symlink_to(precious)
    export(tmp_path / "study", kind, out)
    assert precious.read_text(encoding="utf-8") == "precious"
    assert not (out / f"runs.{kind}").is_symlink()


def test_a_linked_export_folder_is_refused(den: Den) -> None:
    """The folder that `export` writes to unless told otherwise."""
    Store(den.spec / "study").close()
    (den.spec / "study" / "export").symlink_to("../../folder")
    ended = den.orglab("export", "study", "--to", "csv")
    assert ended.code == 2
    assert "is a link" in ended.out
