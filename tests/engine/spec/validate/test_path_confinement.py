"""Files that a spec names stay in its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orglab.engine.spec.compose import text_files as inline
from orglab.engine.spec.validate import path_confinement as confine
from orglab.engine.spec.validate.path_confinement import (
    FileRefused,
    confined_file,
    read_confined_text,
)

Lines = Callable[..., list[str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A spec's folder with a file in it, and a secret beside it."""
    (tmp_path / "spec" / "parts").mkdir(parents=True)
    (tmp_path / "spec" / "a.md").write_text("inside", "utf-8")
    (tmp_path / "secret.md").write_text("outside", "utf-8")
    return tmp_path / "spec"


def test_a_file_inside_is_found(root: Path) -> None:
    """Relative to the folder that names it, also upwards inside the spec's folder."""
    assert confined_file("a.md", folder=root, root=root) == root / "a.md"
    assert confined_file("../a.md", folder=root / "parts", root=root) == root / "a.md"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../secret.md", "outside"),
        ("parts/../../secret.md", "outside"),
        ("/etc/passwd", "relative"),
        ("~/x", "relative"),
        ("", "relative"),
        ("a\0.md", "NUL"),
        ("parts", "a folder"),
        ("none.md", "no such file"),
        ("a.md/b", "cannot be reached"),
        ("x" * 5000, "cannot be reached"),
    ],
)
def test_ways_out_are_refused(root: Path, name: str, words: str) -> None:
    """Absolute paths, dots, NUL, folders and what is not there."""
    with pytest.raises(FileRefused, match=words):
        confined_file(name, folder=root, root=root)


def test_links_that_lead_out_are_refused(root: Path) -> None:
    """A symbolic link is followed before it is judged: of a file, of a folder, in a circle."""
    (root / "link.md").symlink_to(root.parent / "secret.md")
    (root / "up").symlink_to(root.parent)
    (root / "round").symlink_to(root / "round")
    (root / "fine.md").symlink_to(root / "a.md")
    for name, words in (("link.md", "outside"), ("up/secret.md", "outside"), ("round", "reached")):
        with pytest.raises(FileRefused, match=words):
            confined_file(name, folder=root, root=root)
    assert confined_file("fine.md", folder=root, root=root) == root / "a.md"


def test_pipes_are_refused_before_they_hang(root: Path) -> None:
    """Only regular files are opened."""
    os.mkfifo(root / "pipe")
    with pytest.raises(FileRefused, match="no regular file"):
        confined_file("pipe", folder=root, root=root)


def test_text_is_utf8_of_bounded_size(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line ends are made one kind; other encodings, NUL and size are refused."""
    (root / "a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read_confined_text(root / "a.md") == "one\ntwo\nthree\n"
    (root / "a.md").write_bytes(b"caf\xe9")
    with pytest.raises(FileRefused, match="not UTF-8"):
        read_confined_text(root / "a.md")
    (root / "a.md").write_bytes(b"a\0b")
    with pytest.raises(FileRefused, match="NUL"):
        read_confined_text(root / "a.md")
    monkeypatch.setattr(confine, "TEXT_LIMIT", 2)
    with pytest.raises(FileRefused, match="larger"):
        read_confined_text(root / "a.md")


def test_texts_together_are_bounded(issues: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """One large file named by many roles is refused once, before it is copied into each."""
    monkeypatch.setattr(inline, "TEXTS_LIMIT", 25)
    roles = ", ".join(f"r{i}: {{system: {{file: a.md}}}}" for i in range(9))
    found = issues(f"roles: {{{roles}}}\noutput: r0\n", files={"a.md": "ten chars."})
    assert len(found) == 1
    assert "add up to more than 25 characters" in found[0]


def test_a_spec_cannot_read_outside_its_folder(issues: Lines, tmp_path: Path) -> None:
    """Each place that names a file is confined, and each fault has its place."""
    (tmp_path.parent / "secret.md").write_text("x", "utf-8")
    found = issues(
        """\
        roles:
          writer: {system: {file: ../secret.md}, prompt: {file: /etc/passwd}}
          critic: {}
        templates: {powers: {file: ../secret.md}}
        links:
          - {kind: authority, from: critic, to: writer, cap: 1, directive: {file: no.md},
             review: [{actions: [approve], prompt: {file: ../secret.md}}]}
        output: writer
        """
    )
    assert [line.split(": ", 2)[0].split(" ")[1] for line in found] == [
        "roles.writer.system.file", "roles.writer.prompt.file", "templates.powers.file",
        "links[0].directive.file", "links[0].review[0].prompt.file",
    ]  # fmt: skip
