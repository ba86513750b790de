"""Calls that studies keep for each other."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orglab.results.records import CallEntry
from orglab.results.store.response_cache import (
    ResponseCache,
    read_cached_calls,
    response_cache_file,
)

REQUEST: Mapping[str, Any] = {
    "provider": "hosted",
    "model": "m1",
    "params": {"temperature": 0.5},
    "seed": 7,
    "messages": [{"role": "user", "content": "Half a sign: \ud800"}],
    "tools": [],
    "schema": None,
}
CALL = CallEntry(
    position="",
    identity="id",
    role="writer",
    provider="hosted",
    model="m1",
    request={name: REQUEST[name] for name in ("params", "seed", "messages", "tools", "schema")},
    text="said",
    cost_usd=0.25,
)


def keeper(file: Path, told: list[str], study: str = "first", version: str = "1") -> ResponseCache:
    """A study's kept calls, and what it is told."""
    return ResponseCache(file, version=version, study=study, report=told.append)


def test_a_call_that_one_study_kept_another_finds(tmp_path: Path) -> None:
    """The reply comes whole, with the study that paid for it and when."""
    told: list[str] = []
    one, other = (keeper(tmp_path / "calls.sqlite", told, name) for name in ("first", "second"))
    one.add(CALL)
    found = other.find("id", REQUEST)
    assert found is not None
    kept = found.kept
    assert kept is not None
    assert replace(found, kept=None) == replace(CALL, tool_calls=[], notes=[])
    assert kept["study"] == "first"
    assert kept["paid"].endswith("Z")
    assert other.find("another", REQUEST) is None
    assert told == []
    for each in (one, other):
        each.close()


def test_what_was_asked_is_compared(tmp_path: Path) -> None:
    """Another request under the same identity is not this call, and the user is told."""
    told: list[str] = []
    calls = keeper(tmp_path / "calls.sqlite", told)
    calls.add(CALL)
    assert calls.find("id", {**REQUEST, "seed": 8}) is None
    assert "asked another thing" in told[0]
    turned = {name: REQUEST[name] for name in sorted(REQUEST, reverse=True)}
    assert calls.find("id", turned) is not None
    calls.close()


def test_calls_of_another_version_of_the_identity_are_not_found(tmp_path: Path) -> None:
    """The version of the key is part of the key."""
    told: list[str] = []
    old, new = (keeper(tmp_path / "calls.sqlite", told, version=each) for each in "12")
    old.add(CALL)
    assert new.find("id", REQUEST) is None
    for each in (old, new):
        each.close()


def test_the_first_of_an_identity_stays(tmp_path: Path) -> None:
    """Two processes that paid for the same call leave one answer."""
    told: list[str] = []
    calls = keeper(tmp_path / "calls.sqlite", told)
    calls.add(CALL)
    calls.add(replace(CALL, text="later"))
    found = calls.find("id", REQUEST)
    assert found is not None
    assert found.text == "said"
    calls.close()


def test_nothing_is_made_before_a_call_asks(tmp_path: Path) -> None:
    """A study of simulated models leaves no file."""
    calls = keeper(tmp_path / "calls.sqlite", [])
    calls.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("broken", ["no database", "another database", "a link", "a folder"])
def test_a_file_that_cannot_be_used_is_reported_once(tmp_path: Path, broken: str) -> None:
    """A study goes on without it, and the file stays as it is."""
    file, told = tmp_path / "calls.sqlite", list[str]()
    if broken == "no database":
        file.write_bytes(b"no database at all, and long enough to be read as one" * 40)
    elif broken == "another database":
        connection = sqlite3.connect(file)
        connection.execute("CREATE TABLE runs (x)")
        connection.close()
    elif broken == "a link":
        file.symlink_to(tmp_path / "elsewhere.sqlite")
    else:
        file.mkdir()
    calls = keeper(file, told)
    assert calls.find("id", REQUEST) is None
    calls.add(CALL)
    assert calls.find("id", REQUEST) is None
    assert len(told) == 1
    assert "cannot be used" in told[0]
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_damage_inside_is_reported_and_not_used(tmp_path: Path) -> None:
    """A row without its message, or with a torn text, is no answer."""
    for damage in ("DELETE FROM blobs", "UPDATE calls SET reply='{'"):
        file, told = tmp_path / f"{len(damage)}.sqlite", list[str]()
        calls = keeper(file, told)
        calls.add(CALL)
        connection = sqlite3.connect(file)
        connection.execute(damage)
        connection.commit()
        connection.close()
        assert calls.find("id", REQUEST) is None
        assert "cannot be used" in told[0]


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    """Every call that any of them kept is there, and none is torn."""
    file = tmp_path / "calls.sqlite"
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            told: list[str] = []
            calls = keeper(file, told, f"study {number}")
            for each in range(40):
                name = f"{number}.{each}"
                calls.add(replace(CALL, identity=name, text=name))
            calls.close()
            os._exit(bool(told))
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 3
    calls = keeper(file, told := [])
    for number in range(3):
        for each in range(40):
            found = calls.find(f"{number}.{each}", REQUEST)
            assert found is not None
            assert found.text == f"{number}.{each}"
    assert told == []
    calls.close()


def test_kept_calls_of_a_role_are_read(tmp_path: Path) -> None:
    """With all that was asked, for who wants to know why a call was made."""
    calls = keeper(response_cache_file(tmp_path / "study"), [])
    calls.add(CALL)
    (call,) = read_cached_calls(tmp_path / "calls.sqlite", "writer")
    assert (call.identity, call.study, call.request) == ("id", "first", REQUEST)
    assert read_cached_calls(tmp_path / "calls.sqlite", "critic") == []
    assert read_cached_calls(tmp_path / "none.sqlite", "writer") == []
    calls.close()
