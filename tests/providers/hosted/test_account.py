"""Keys of hosted models: where they are read, where they may go, and that nothing shows them."""

from __future__ import annotations

import pytest

from orglab.providers.hosted.account import Account, host_of, key_risk, open_account, redact

OWN = {"own_url": "https://api.openai.com/v1", "own_variable": "OPENAI_API_KEY"}
KEY = "sk-planted-key-0123456789-wxyz"


def test_the_vendors_variable_is_read_for_the_vendors_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a base_url the key is where it is by custom; the line break at its end is no part."""
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    account = open_account({}, **OWN)
    assert (account.key, str(account)) == (KEY, "https://api.openai.com/v1 OPENAI_API_KEY")


def test_another_server_gets_a_key_only_where_its_variable_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A local server is not handed the vendor's key, though it is set."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = "http://127.0.0.1:8000/v1/"
    account = open_account({"base_url": url}, **OWN)
    assert (account.key, account.sent_key) == ("", "no-key-needed")
    assert str(account) == "http://127.0.0.1:8000/v1 (no key)"
    named = open_account({"base_url": url, "api_key_env": "OPENAI_API_KEY"}, **OWN)
    assert named.key == KEY


def test_a_missing_key_is_reported_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words name the server, the variable and the cure."""
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(ValueError, match=r"openrouter\.ai: the environment variable MY_KEY is not"):
        open_account({"base_url": "https://openrouter.ai/api/v1", "api_key_env": "MY_KEY"}, **OWN)


@pytest.mark.parametrize("value", ["two words here", "sk-ключ-0123456789", "line\nbreak-in-a-key"])
def test_what_is_no_key_is_not_quoted(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """A header cannot hold it; the client's own error would show it."""
    monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(ValueError, match="MY_KEY does not hold a key") as caught:
        open_account({"api_key_env": "MY_KEY"}, **OWN)
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "api.openai.com/v1",
        "http://",
        "http://u:p@host/v1",
        "http://h:x/",
        "http://h/?q=1",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """Only HTTP, with a host, without names and passwords."""
    with pytest.raises(ValueError, match="base_url must be an address"):
        open_account({"base_url": url}, **OWN)


@pytest.mark.parametrize(
    ("base_url", "variable"),
    [
        (None, "MY_KEY"),
        ("https://api.openai.com/v1", None),
        ("https://API.OpenAI.com/v1", "MY_KEY"),
        ("https://openrouter.ai/api/v1", "MY_KEY"),
        ("https://api.anthropic.com", None),
        ("http://localhost:11434/v1", "MY_KEY"),
        ("http://127.0.0.1:8000/v1", "MY_KEY"),
        ("http://[::1]:8000/v1", "MY_KEY"),
        ("https://elsewhere.example/v1", None),
    ],
)
def test_a_strangers_spec_may_send_a_key_home_or_to_this_machine(
    base_url: str | None, variable: str | None
) -> None:
    """Vendors' own addresses, loopback, and servers that get no key."""
    assert key_risk({"base_url": base_url, "api_key_env": variable}) is None


@pytest.mark.parametrize(
    "base_url",
    [
        "https://elsewhere.example/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com.elsewhere.example/v1",
        "https://elsewhere.example/api.openai.com",
        "https://elsewhere.example\\@api.openai.com/v1",
        "https://api.openai.com@elsewhere.example/v1",
        "http://127.0.0.1.elsewhere.example/v1",
        "http://localhost.elsewhere.example/v1",
        "https://api.openai.com\t.elsewhere.example/v1",
        17,
    ],
)
def test_a_strangers_spec_may_not_send_a_key_elsewhere(base_url: object) -> None:
    """Whatever the address is made to look like."""
    assert key_risk({"base_url": base_url, "api_key_env": "MY_KEY"})


def test_the_words_of_the_risk_name_the_variable_and_the_host() -> None:
    """A person can judge it by them."""
    risk = key_risk({"base_url": "https://elsewhere.example/v1", "api_key_env": "MY_KEY"})
    assert risk == (
        "the key in MY_KEY would be sent to elsewhere.example, as the spec's author wrote it"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"Bearer {KEY}",
        f"{KEY}{KEY}",
        f"key {KEY[:9]}… refused",
        "sk-pl******wxyz",
        "bad key ending in wxyz",
        "…wxyz, ...wxyz",
        f"cut {KEY[4:20]} short",
    ],
)
def test_a_key_is_hidden_in_every_form(text: str) -> None:
    """Whole, twice, in part, masked, by its tail."""
    shown = redact(text, KEY)
    assert "[key]" in shown
    assert not any(KEY[at : at + 8] in shown for at in range(len(KEY) - 7))
    assert "wxyz" not in shown


def test_words_are_left_alone() -> None:
    """A placeholder is no secret, and ordinary text stays."""
    assert redact("a test of the test server", "test") == "a test of the test server"
    assert redact("nothing to hide, 4096 tokens", KEY) == "nothing to hide, 4096 tokens"


def test_an_account_does_not_show_its_key() -> None:
    """Neither by its name nor by its representation."""
    account = Account(base_url="https://x.example", variable="V", key=KEY)
    assert KEY not in f"{account!r} {account} {host_of(account.base_url)}"
