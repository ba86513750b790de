"""What may stand nowhere in the project."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORBIDDEN = re.compile(r"/(work|root|home)/[a-z]|pypi\.org|files\.pythonhosted|/opt/wheels")
"""Paths of one machine, hosts of package registries."""


def test_no_paths_of_a_machine_and_no_registry_hosts() -> None:
    """Every file that git knows."""
    listed = subprocess.run(
        ["git", "ls-files"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_symlink() or path.is_dir() or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{name}: {match[0]}" for match in FORBIDDEN.finditer(text)]
    assert found == []
