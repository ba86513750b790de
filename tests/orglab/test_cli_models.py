"""``orglab models``: installed, configured, reachable, priced; no key is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.spec.model import Model
from orglab.engine.study.plan.models_overview import ModelOverview, overviews_of, with_reachability
from orglab.engine.study.plan.prices import Priced
from orglab.providers.client.request_queue import LimitChange
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.results.store.store import Store

Cli = Callable[..., Any]

KEY = "sk-planted-key-0123456789"
CATALOGUE = """\
models:
  small: {provider: openai, model: gpt-4o-mini, api_key_env: PLANTED, requests_per_minute: 60}
  ours: {provider: openai, model: own, base_url: "http://127.0.0.1:1/v1", api_key_env: PLANTED,
         params: {temperature: 0.5}, price: {input: 0.5, output: 1}}
  bare: {provider: openai, model: own, base_url: "http://127.0.0.1:1/v1"}
  local: {provider: simulated}
"""
PANEL = """\
judges: {far: {provider: simulated, model: strict}}
rubric: {criteria: {clarity: {levels: {"1": muddled, "5": clear}}}}
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    """A catalogue of hosted models."""
    (tmp_path / "models.yaml").write_text(CATALOGUE, encoding="utf-8")
    return "models.yaml"


def test_providers_come_with_their_distribution(cli: Cli) -> None:
    """By entry point, with the version that brings them."""
    body = json.loads(cli("models", "--json").out)
    brought = {each["name"]: each["brought_by"] for each in body["providers"]}
    assert brought["openai"].startswith("orglab ")
    assert body["models"] == []


def test_a_catalogue_is_reported(cli: Cli, catalogue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where, which key, which limits, which price; the key itself never."""
    monkeypatch.setenv("PLANTED", KEY)
    ended = cli("models", catalogue)
    assert ended.code == 0
    for words in (
        "at https://api.openai.com/v1",
        "key in PLANTED: set",
        "60 requests a minute",
        "(genai-prices ",
        "$0.5 in, $1 out (written)",
        'parameters: {"temperature":0.5}',
        "at http://127.0.0.1:1/v1\n  key: none is sent\n",
        "price: price unknown",
        "price: free",
    ):
        assert words in ended.out
    assert KEY not in ended.out + ended.err


def test_a_key_that_is_not_set_is_reported(
    cli: Cli, catalogue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its variable, with what follows from it."""
    monkeypatch.delenv("PLANTED", raising=False)
    out = cli("models", catalogue).out
    assert "key in PLANTED: NOT SET" in out
    assert "cannot be asked: no key for api.openai.com" in out


def test_servers_are_asked_on_demand(
    cli: Cli, catalogue: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only with ``--check``; a server out of reach is told in words."""
    monkeypatch.setenv("PLANTED", KEY)
    text = CATALOGUE.replace("  small: {provider: openai", "  small: {provider: simulated")
    text = text.replace("model: gpt-4o-mini, api_key_env: PLANTED, ", "")
    (tmp_path / catalogue).write_text(text, encoding="utf-8")
    assert "reachable" not in cli("models", catalogue).out
    out = cli("models", catalogue, "--check").out
    assert out.count("reachable: 127.0.0.1 cannot be reached (ConnectError)") == 2
    assert out.count("reachable: needs no server") == 2
    assert KEY not in out


def test_a_wrong_catalogue_is_a_fault(cli: Cli, tmp_path: Path) -> None:
    """Every entry's faults are told, as by ``check``."""
    (tmp_path / "wrong.yaml").write_text("one: {provider: nobody}\ntwo: {provider: 7}\n", "utf-8")
    ended = cli("models", "wrong.yaml")
    assert ended.code == 2
    assert "no provider `nobody` is installed" in ended.err
    assert "two" in ended.err


def test_the_judges_of_a_team_are_reported(cli: Cli, tmp_path: Path, spec: str) -> None:
    """Beside the team's own models, by name."""
    (tmp_path / "panel.yaml").write_text(PANEL, encoding="utf-8")
    text = spec.replace("[usage,", "[judge_panel: {file: panel.yaml},")
    (tmp_path / "judged.yaml").write_text(text, encoding="utf-8")
    out = cli("models", "judged.yaml").out
    assert "worker  simulated" in out
    assert "judge strict  simulated strict" in out


async def test_no_key_goes_where_a_stranger_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without trust a server that is no vendor's own is not asked; the reason is told."""
    monkeypatch.setenv("PLANTED", KEY)
    options = {"base_url": "https://example.org/v1", "api_key_env": "PLANTED"}
    model = Model(alias="far", provider="openai", model="own", options=options)
    (found,) = await with_reachability(overviews_of([model]), trust=False)
    assert found.reachable is not None
    assert found.reachable.startswith("not asked: the key in PLANTED would be sent to example.org")
    assert KEY not in repr(found)


def test_the_limit_that_was_learnt_is_reported(
    cli: Cli, catalogue: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the studies under ``runs``, by account."""
    monkeypatch.setenv("PLANTED", KEY)
    (tmp_path / "runs").mkdir()
    store = Store(tmp_path / "runs" / "one")
    for limit, at in ((40, 1.0), (12, 2.0)):
        account = "http://127.0.0.1:1/v1 PLANTED"
        store.add_limit_change(LimitChange(account=account, limit=limit, why="429", at=at))
    store.close()
    out = cli("models", catalogue).out
    assert "last known limit of the account 12 calls at once" in out


async def test_a_provider_that_breaks_is_reported_without_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a plugin raises may hold anything."""

    async def broken(self: SimulatedProvider, model: str) -> str:
        raise RuntimeError(KEY)

    monkeypatch.setattr(SimulatedProvider, "reachable", broken)
    (found,) = await with_reachability(
        overviews_of([Model(alias="m", provider="simulated")]), trust=True
    )
    assert found.reachable == "an error of the provider: RuntimeError"


async def test_what_cannot_be_made_is_not_asked() -> None:
    """A missing provider is a fault in words."""
    (missing,) = overviews_of([Model(alias="m", provider="gone")])
    assert missing.issue == "no provider `gone` can be loaded"
    assert await with_reachability([missing], trust=True) == [missing]
    assert missing.price == Priced(how="free")
    assert isinstance(missing, ModelOverview)
