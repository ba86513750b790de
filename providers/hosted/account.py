"""What hosted providers share: the key, where it may go, and that it is shown nowhere.

A spec names a variable (``api_key_env``); its value is read once, when the provider is made, and is
kept out of texts, records and representations. ``hosted_waits`` reads how long a server asks to
wait, ``hosted_faults`` turns what it answers into the errors of ``base``.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from orglab.providers.base import JSON

VENDORS: Final = frozenset({"api.anthropic.com", "api.openai.com", "openrouter.ai"})
"""Hosts whose own keys a spec may send to them, whoever wrote the spec."""

NO_KEY: Final = "no-key-needed"
"""What is sent as the key to servers that need none; the SDKs insist on some text."""

MOST_TOKENS: Final = 2**40
"""A larger count of tokens is no count of one call's."""

SHORTEST_SECRET: Final = 8
"""Characters; a shorter key is no secret, and hiding it would spoil ordinary words."""

_STRANGE: Final = re.compile(r"[\s\\\x00-\x1f\x7f]")  # parsers of addresses disagree on these
_MASKED: Final = re.compile(r"\S*[*•…]{3,}\S*")
_HIDDEN: Final = "[key]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Who is billed for a call.

    Attributes:
        base_url: The server's address, without a slash at its end.
        variable: The environment variable that holds the key; None: the server gets none.
        key: The key; "" where the server gets none.
    """

    base_url: str
    variable: str | None = None
    key: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.base_url} {self.variable or '(no key)'}"

    @property
    def host(self) -> str:
        """The server's host, for messages."""
        return host_of(self.base_url)

    @property
    def sent_key(self) -> str:
        """Return what an SDK is given as its key."""
        return self.key or NO_KEY

    def hide(self, text: str) -> str:
        """Return ``text`` without the key."""
        return redact(text, self.key)


def open_account(options: Mapping[str, JSON], *, own_url: str, own_variable: str) -> Account:
    """Read the key for a model's entry.

    The vendor's own variable is read for the vendor's own address alone; a server elsewhere gets a
    key only where the spec names its variable, and else none.

    Args:
        options: The model's entry: ``base_url`` and ``api_key_env`` are read.
        own_url: The vendor's address, where the entry gives none.
        own_variable: The variable that holds the vendor's key by custom.

    Raises:
        ValueError: The address is none, or the variable is not set; the text names the variable.
    """
    base_url = base_url_of(options.get("base_url"), own_url)
    variable = options.get("api_key_env")
    if variable is None and host_of(base_url) == host_of(own_url):
        variable = own_variable
    if variable is None:
        return Account(base_url=base_url)
    return Account(base_url=base_url, variable=str(variable), key=_key(str(variable), base_url))


def _key(variable: str, base_url: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ValueError(
            f"no key for {host_of(base_url)}: the environment variable {variable} is not set; set it, "
            "or name the one that holds the key with `api_key_env`"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(f"the environment variable {variable} does not hold a key: {_NOT_A_KEY}")
    return key


_NOT_A_KEY: Final = "a key has letters, digits and signs of ASCII, without spaces"


def as_map(value: JSON) -> Mapping[str, JSON]:
    """Return a part of a server's reply that should be an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def base_url_of(written: JSON, own_url: str) -> str:
    """Return the address to ask, without a slash at its end.

    Raises:
        ValueError: ``written`` is no address of HTTP, or holds a name or password.
    """
    url = own_url if written is None else written
    if not isinstance(url, str) or not _is_address(url):
        raise ValueError(f"base_url must be an address such as {own_url}, not {url!r}")
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    if _STRANGE.search(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return False
    plain = "@" not in parts.netloc and not parts.query and not parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain


def host_of(base_url: str) -> str:
    """Return the host of an address, in small letters; "" where there is none."""
    try:
        return urlsplit(base_url).hostname or ""
    except ValueError:
        return ""


def is_loopback(base_url: str) -> bool:
    """Return whether an address is this machine's own, by its name alone; nothing is looked up."""
    host = host_of(base_url)
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_risk(options: Mapping[str, JSON]) -> str | None:
    """Return why a spec that someone else wrote may not have a key sent, in words; None: it may.

    A key goes where the spec says. One of the vendors' own addresses (over HTTPS), this machine,
    and a server that gets no key are no risk; the author of a spec with any other address would be
    handed the key.

    Args:
        options: The model's entry: ``base_url`` and ``api_key_env`` are read.
    """
    base_url, variable = options.get("base_url"), options.get("api_key_env")
    if base_url is None:
        return None
    if not isinstance(base_url, str) or not _is_address(base_url):
        return "`base_url` is no address"
    own = host_of(base_url) in VENDORS
    if is_loopback(base_url) or (own and base_url.lower().startswith("https://")):
        return None
    if variable is None and not own:
        return None
    name = f"the key in {variable}" if variable else "a key"
    how = "unencrypted " if own else ""
    return f"{name} would be sent {how}to {host_of(base_url)}, as the spec's author wrote it"


def redact(text: str, key: str) -> str:
    """Return ``text`` without ``key``, without longer parts of it, and without what looks like a masked one.

    Servers quote keys in errors, whole, or as ``sk-abcd****wxyz``, or by their last letters.
    """
    if len(key) < SHORTEST_SECRET:
        return text
    text = _without_parts(text.replace(key, _HIDDEN), key)
    text = _MASKED.sub(_HIDDEN, text)
    tail = re.escape(key[-4:])
    return re.sub(rf"(?<![A-Za-z0-9]){tail}(?![A-Za-z0-9])|(?<=\.\.\.){tail}", _HIDDEN, text)


def _without_parts(text: str, key: str) -> str:
    """Return ``text`` with every run of eight or more characters of ``key`` hidden."""
    parts = {key[at : at + SHORTEST_SECRET] for at in range(len(key) - SHORTEST_SECRET + 1)}
    kept, at, shown = [], 0, 0
    while at <= len(text) - SHORTEST_SECRET:
        end = at
        while text[end : end + SHORTEST_SECRET] in parts:
            end += 1
        if end == at:
            at += 1
            continue
        kept += [text[shown:at], _HIDDEN]
        at = shown = end - 1 + SHORTEST_SECRET
    return "".join([*kept, text[shown:]])
