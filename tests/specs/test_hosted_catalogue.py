"""The catalogue of hosted models: sound with the shipped studies, and without a key."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from studies import check_experiment

from orglab.engine.graph.check import check_file
from orglab.providers.hosted.account import VENDORS, host_of
from orglab.providers.openai.provider import OpenAIProvider

SPECS = Path(__file__).parents[2] / "specs"
CATALOGUE = SPECS / "models" / "hosted.yaml"
FAMILIES = ("gpt", "gemini", "qwen", "glm", "mistral")


@pytest.mark.parametrize(
    "spec", ["insight-review/skeptic-checked.yaml", "loop-back-authority/hierarchical.yaml"]
)
def test_the_shipped_teams_are_sound_with_it(spec: str) -> None:
    """Every alias is served, every parameter and option is one that the provider takes."""
    assert not check_file(SPECS / spec, models=CATALOGUE).issues


def test_the_published_experiment_is_sound_with_it() -> None:
    """Two arms and a panel of five judges."""
    assert not check_experiment(SPECS / "loop-back-authority/experiment.yaml", models=CATALOGUE)


def test_it_has_the_five_families_and_their_judges_and_no_key() -> None:
    """Workers and judges are the same five models, by the same server."""
    models = yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))
    for family in FAMILIES:
        worker, judge = models[family], models[f"judge-{family}"]
        assert worker["model"] == judge["model"]
        assert host_of(worker["base_url"]) in VENDORS
    assert len({models[family]["model"] for family in FAMILIES}) == len(FAMILIES)
    assert not any("price" in model for model in models.values())


def test_a_missing_key_is_named_when_the_model_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check needs no key; the run says which variable is missing."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    model = yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))["glm"]
    options = {name: model[name] for name in ("base_url", "api_key_env")}
    with pytest.raises(ValueError, match="OPENROUTER_API_KEY is not set"):
        OpenAIProvider.from_spec(model["model"], options)
