"""Study 1 through the provider ``openai``, against llama-cpp-python's own server with a real model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from orglab.providers.llama.provider import LlamaProvider
from orglab.results.records import RunRecord
from orglab.results.store.reader import Reader

pytest.importorskip("llama_cpp", reason="the local model needs orglab[llama]")
pytest.importorskip("fastapi", reason="the server needs llama-cpp-python[server]")

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "specs/insight-review"
SHORTER = (
    "roles.explorer.limits.tool_calls=1",
    "links.columns.cap=1",
    "links.review.cap=0",
)
"""What keeps the run of a small model within a minute or two; else the team is the study's own."""

CATALOGUE = """\
default:
  provider: openai
  model: smollm2
  base_url: {url}
  tool_calls: actions        # the model's template knows no tools
  params: {{temperature: 0.5, top_p: 0.9, repeat_penalty: 1.1, max_output_tokens: 300}}
"""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of the server, once it answers."""
    weights = LlamaProvider.from_spec("smollm2", {})._settings.path
    port = _free_port()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(weights)]
    command += ["--model_alias", "smollm2", "--n_ctx", "8192", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--verbose", "false", "--seed", "7"]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait(f"http://127.0.0.1:{port}/v1/models", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(20)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        assert process.poll() is None, "the server ended by itself"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    pytest.fail("the server did not answer within a minute")


def run(folder: Path, catalogue: Path) -> RunRecord:
    """One run of the study's team; its record."""
    command = [
        *(str(Path(sys.executable).parent / "orglab"), "run"),
        str(STUDY / "skeptic-checked.yaml"),
        *("--models", str(catalogue), "--seed", "7", "--out", str(folder)),
        *("--input", f"table={STUDY / 'data/films.csv'}"),
        *("--input", "question=Which columns move together?"),
        *(part for each in SHORTER for part in ("--set", each)),
    ]
    env = {**os.environ, "COLUMNS": "120", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr  # a stopped run is a true end
    with Reader(folder) as reader:
        (row,) = reader.runs()
        return reader.record(row.id)


@pytest.mark.models
@pytest.mark.timeout(1800)
def test_study_1_through_a_compatible_server(server: str, tmp_path: Path) -> None:
    """The run ends truly, every output fits its schema, tokens and model are the server's."""
    catalogue = tmp_path / "models.yaml"
    catalogue.write_text(CATALOGUE.format(url=server), encoding="utf-8")
    record = run(tmp_path / "study", catalogue)
    assert record.status in ("completed", "stopped"), record.reason
    assert record.calls
    assert record.outputs
    for call in record.calls:
        assert (call.served, call.simulated) == ("smollm2", False)
        assert call.tokens["input"] > 0
    for output in record.outputs:
        schema = next(
            call.request["schema"]
            for call in record.calls
            if call.role == output.role and call.request["schema"]
        )
        Draft202012Validator(schema).validate(output.value)
