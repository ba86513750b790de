"""Profiles of the simulated model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orglab.providers.simulated.profile import make_profile, profile_names

PAGE = Path(__file__).parents[3] / "docs/reference/simulated.md"


def test_six_profiles_are_shipped() -> None:
    """Each can be made, and says what it is."""
    assert profile_names() == ["careful", "lenient", "null", "sloppy", "strict", "sycophantic"]
    for name in profile_names():
        assert make_profile(name).description


def test_careful_is_the_default() -> None:
    """A spec without a profile gets the careful one."""
    assert make_profile(None) == make_profile("careful")
    assert make_profile({}).verdicts == make_profile("careful").verdicts


def test_a_mapping_changes_single_settings() -> None:
    """What isn't named stays as in the base."""
    profile = make_profile({"base": "sloppy", "verdicts": {"approve": 0.9}, "truthful": 1})
    sloppy = make_profile("sloppy")
    assert profile.verdicts == {**sloppy.verdicts, "approve": 0.9}
    assert (profile.truthful, profile.words, profile.name) == (1.0, sloppy.words, "sloppy+")


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("carefull", "no profile 'carefull'; did you mean 'careful'"),
        ({"base": "x"}, "there is no profile 'x'"),
        ({"truthfull": 1}, "unknown field 'truthfull'; did you mean 'truthful'"),
        ({"verdicts": {"aprove": 1}}, "unknown field 'aprove'; did you mean 'approve'"),
        ({"truthful": 1.5}, r"profile.truthful must be a number from 0 to 1, not 1.5"),
        ({"truthful": True}, "profile.truthful must be a number"),
        ({"tool_calls": {"mean": -1}}, r"profile.tool_calls.mean must be a number from 0"),
        ({"tool_calls": 3}, r"profile.tool_calls must be a mapping of mean, max"),
        (3, "profile must be a name or a mapping"),
    ],
)
def test_a_wrong_setting_names_the_nearest(written: Any, wrong: str) -> None:
    """The author is told what was wrong and what is allowed."""
    with pytest.raises(ValueError, match=wrong):
        make_profile(written)


def test_every_setting_is_documented() -> None:
    """The page names each field of a profile, and each profile."""
    page = PAGE.read_text(encoding="utf-8")
    for name in (*make_profile(None).__slots__, *profile_names()):
        assert f"`{name}`" in page, name
