"""The options of a model's entry in a spec: only known ones, misspelled ones named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from orglab.providers.base import JSON


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean NAME?`` for the known name closest to ``name``, else ""."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def known_options(given: Mapping[str, JSON], known: Iterable[str], what: str) -> dict[str, JSON]:
    """Return ``given`` without what is null or begins with ``x-``.

    Args:
        given: What was written.
        known: The names allowed.
        what: Whose fields these are, for the message.

    Raises:
        ValueError: A name is not known; the message suggests the closest one.
    """
    names = sorted(known)
    kept = {name: value for name, value in given.items() if not str(name).startswith("x-")}
    for name in kept:
        if name not in names:
            allowed = ", ".join(names) or "none"
            raise ValueError(
                f"{what}: unknown field {name!r}{suggestion(name, names) or '.'} Allowed: {allowed}"
            )
    return {name: value for name, value in kept.items() if value is not None}


def flag_option(options: Mapping[str, JSON], name: str, provider: str) -> bool:
    """Return a boolean option; false where it is not given.

    Raises:
        ValueError: It is no boolean.
    """
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} of provider {provider} must be true or false, not {value!r}")
    return value


def choice_option(
    options: Mapping[str, JSON], name: str, provider: str, known: Iterable[str]
) -> str | None:
    """Return an option that takes one of the ``known`` values; None where it is not given.

    Raises:
        ValueError: It is another value.
    """
    value = options.get(name)
    if value is not None and value not in list(known):
        allowed = ", ".join(known)
        raise ValueError(f"{name} of provider {provider} must be one of {allowed}, not {value!r}")
    return value
