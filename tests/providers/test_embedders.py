"""Embedders: what they are known by, and what goes over the wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.base import AuthenticationFailed, BadRequest, ProviderError
from orglab.providers.llama.embedder import LlamaEmbedder
from orglab.providers.llama.weights_digest import weights_digest
from orglab.providers.openai.embedder import OpenAIEmbedder

KEY = "a-key-of-twenty-signs"


class Server:
    """A server with an embeddings endpoint; it notes what it is sent."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[tuple[int, dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append({"path": self.path, **body})
                outer.keys.append(self.headers["authorization"])
                status, answer = outer.answers.pop(0) if outer.answers else (200, _vectors(body))
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"


def _vectors(body: dict[str, Any]) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": at, "embedding": [float(len(text)), 1.0]}
        for at, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}


@pytest.fixture
def server() -> Iterator[Server]:
    """The server, running."""
    found = Server()
    thread = threading.Thread(target=found.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    found.http.shutdown()
    found.http.server_close()
    thread.join()


def test_vectors_come_in_the_order_of_the_texts(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain numbers are asked for, only what is written is sent, and many texts in parts."""
    monkeypatch.setenv("MY_KEY", KEY)
    options = {"base_url": server.url, "api_key_env": "MY_KEY", "dimensions": 2}
    embedder = OpenAIEmbedder.from_spec("m1", options)
    texts = ["x" * number for number in range(1, 71)]
    assert [row[0] for row in embedder.embed(texts)] == list(range(1, 71))
    assert [len(each.pop("input")) for each in server.asked] == [64, 6]
    plain = {"path": "/v1/embeddings", "model": "m1", "dimensions": 2, "encoding_format": "float"}
    assert server.asked == [plain] * 2
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert embedder.identity == f"openai {server.url} m1 2"


def test_a_server_that_is_busy_is_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rate limits and faults of the server are waited out; a local server gets no key of a vendor."""
    waits: list[float] = []
    monkeypatch.setattr("orglab.providers.openai.embedder.time.sleep", waits.append)
    server.answers = [
        (429, {"error": {"message": "slow", "code": "rate_limit_exceeded"}}),
        (503, {}),
    ]
    embedder = OpenAIEmbedder.from_spec("m1", {"base_url": server.url})
    assert len(embedder.embed(["a"])) == 1
    assert len(server.asked) == 3
    assert waits == [1.0, 2.0]
    assert KEY not in str(server.keys)


def test_permanent_errors_are_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and without the key."""
    monkeypatch.setenv("MY_KEY", KEY)
    server.answers = [(401, {"error": {"message": f"wrong key {KEY}", "code": "invalid_api_key"}})]
    options = {"base_url": server.url, "api_key_env": "MY_KEY"}
    with pytest.raises(AuthenticationFailed, match="does not take the key in MY_KEY") as refused:
        OpenAIEmbedder.from_spec("m1", options).embed(["a"])
    assert KEY not in str(refused.value)
    assert len(server.asked) == 1


def test_a_vector_too_few_is_no_answer(server: Server) -> None:
    """Nothing is guessed."""
    server.answers = [(200, _vectors({"model": "m1", "input": ["a"]}))]
    with pytest.raises(ProviderError, match="gave 1 vectors for 2 texts"):
        OpenAIEmbedder.from_spec("m1", {"base_url": server.url}).embed(["a", "b"])


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("", {}, "needs `model`"),
        ("m", {"dimensions": 0}, "integer of at least 1, not 0"),
        ("m", {"base": "x"}, "did you mean 'base_url'"),
        ("m", {"base_url": "ftp://x"}, "base_url must be an address"),
        (
            "m",
            {"base_url": "https://a.example/v1", "api_key_env": "OPENAI_API_KEY"},
            "OPENAI_API_KEY would be sent to a.example",
        ),
    ],
)
def test_wrong_options_are_reported(model: str, options: dict[str, Any], words: str) -> None:
    """A key is never sent to a server of the spec's author."""
    with pytest.raises(ValueError, match=words):
        OpenAIEmbedder.from_spec(model, options)


def test_a_missing_key_is_reported_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec can be checked without keys."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    embedder = OpenAIEmbedder.from_spec("m1", {})
    with pytest.raises(BadRequest, match="OPENAI_API_KEY is not set"):
        embedder.embed(["a"])


def test_an_unknown_local_model_is_reported() -> None:
    """With the cure."""
    with pytest.raises(ValueError, match="write smollm2, or name a GGUF file by `embed_file`"):
        LlamaEmbedder.from_spec("nomic", {})


def test_weights_are_known_by_their_content(tmp_path: Path) -> None:
    """A copy under another name is the same, a change under the same name another."""
    one, two = tmp_path / "one.gguf", tmp_path / "two.gguf"
    for file in (one, two):
        file.write_bytes(b"GGUF and more")
    first = weights_digest(one)
    assert first == weights_digest(two) == weights_digest(one)
    one.write_bytes(b"GGUF and other")
    assert weights_digest(one) != first
    with pytest.raises(OSError, match="No such file"):
        weights_digest(tmp_path / "none.gguf")
