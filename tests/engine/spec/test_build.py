"""The JSON Schema of topologies and the dataclasses built from it say the same."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from orglab.engine.spec.build import FIELD_NAMES
from orglab.engine.spec.model import (
    AuthorityLink,
    ForwardLink,
    Limits,
    Link,
    Model,
    Phase,
    Pool,
    Price,
    Role,
    RoleLimits,
    Stake,
    Topology,
)
from orglab.engine.spec.validate.schema import definition

PARTS: dict[str, tuple[type, set[str], set[str]]] = {
    # keys that the canonical form resolves, and fields that no key of the author's is named after
    "topology": (
        Topology,
        {"kind", "version", "extends"},
        {"hash", "folder", "normal", "trusted"},
    ),
    "model": (
        Model,
        {"base_url", "api_key_env", "file", "profile", "n_ctx", "n_threads", "chat_template"},
        {"alias", "options"},
    ),
    "price": (Price, set(), set()),
    "pool": (Pool, set(), {"name"}),
    "role": (Role, {"with"}, {"name", "pool", "fill"}),
    "role-limits": (RoleLimits, set(), set()),
    "limits": (Limits, set(), set()),
    "forward": (ForwardLink, {"kind"}, set()),
    "authority": (AuthorityLink, {"kind"}, set()),
    "phase": (Phase, set(), set()),
    "stake": (Stake, set(), set()),
}
RENAMED: dict[type[Any], dict[str, str]] = {**FIELD_NAMES}


@pytest.mark.parametrize("part", PARTS)
def test_keys_of_the_schema_are_fields(part: str) -> None:
    """Every key that an author may write has a field, and every field a key."""
    kind, resolved, own = PARTS[part]
    names = RENAMED.get(kind, {})
    keys = {names.get(key, key) for key in definition(part)["properties"].keys() - resolved}
    assert {field.name for field in fields(kind)} - own == keys


@pytest.mark.parametrize("part", PARTS)
def test_required_keys_are_required_fields(part: str) -> None:
    """A key that the schema requires has no default in the dataclass."""
    kind, resolved, _ = PARTS[part]
    names = RENAMED.get(kind, {})
    required = {names.get(key, key) for key in set(definition(part).get("required", ())) - resolved}
    assert required <= {field.name for field in fields(kind) if not _has_default(field)}


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


@pytest.mark.parametrize("part", PARTS)
def test_choices_are_the_same(part: str) -> None:
    """The values of an ``enum`` are those of the field's ``Literal``, and the defaults agree."""
    kind, resolved, _ = PARTS[part]
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    for key, schema in definition(part)["properties"].items():
        if key in resolved:
            continue
        name = RENAMED.get(kind, {}).get(key, key)
        if "enum" in schema:
            assert get_origin(hints[name]) is Literal
            assert list(get_args(hints[name])) == schema["enum"]
        default = schema.get("default")
        if isinstance(default, str | int | bool) and known[name].default is not MISSING:
            assert known[name].default == default


def test_links_of_both_kinds_are_named() -> None:
    """Keys with another name are those of the two kinds of links."""
    assert set(FIELD_NAMES) == set(get_args(Link))
