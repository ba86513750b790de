"""Keys and passwords have no place in a spec, which is shared, stored and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.providers.base import JSON

_SECRETS: Final = frozenset((
    "accesskey", "accesstoken", "apikey", "apitoken", "auth", "authorization", "authtoken",
    "bearer", "bearertoken", "clientsecret", "credential", "credentials", "defaultheaders",
    "extraheaders", "headers", "key", "password", "secret", "secretkey", "token",
))  # fmt: skip
"""Names under which clients take secrets, without capitals and signs; headers may hold one."""

HINT: Final = "put it into an environment variable, and write `api_key_env: NAME`"


def secret_problems(model: Mapping[str, JSON], path: SpecPath) -> Iterator[Problem]:
    """Secrets written into a model's entry; no message repeats one."""
    yield from _named(model, path)
    params = model.get("params")
    if isinstance(params, dict):
        yield from _within(params, (*path, "params"))
    url = model.get("base_url")
    if isinstance(url, str) and _holds_password(url):
        wrong = "an address must not hold a user's name or password"
        yield Problem(path=(*path, "base_url"), wrong=wrong, hint=HINT)


def _within(value: JSON, path: SpecPath) -> Iterator[Problem]:
    """Yield what is sent as it stands may hold one at any depth: ``extra_body`` is a server's own form."""
    if isinstance(value, dict):
        yield from _named(value, path)
        for name, part in value.items():
            yield from _within(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _within(part, (*path, index))


def _named(fields: Mapping[str, JSON], path: SpecPath) -> Iterator[Problem]:
    for name in fields:
        if name.lower().replace("_", "").replace("-", "").removeprefix("x") in _SECRETS:
            wrong = f"a spec holds no secrets, so `{name}` is not allowed"
            yield Problem(path=(*path, name), wrong=wrong, hint=HINT, at_key=True)


def _holds_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return "@" in parts.netloc
