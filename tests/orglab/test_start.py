"""How the command line starts."""

from __future__ import annotations

import subprocess
import sys


def test_a_check_waits_for_no_table_library() -> None:
    """What only reports, exports and statistics need is not read before they are asked for."""
    heavy = ["pandas", "matplotlib", "scipy", "statsmodels", "openai", "anthropic", "bm25s"]
    code = f"import sys, orglab.cli.app; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
