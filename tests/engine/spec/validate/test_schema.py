"""The schema file: what editors and the loader read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orglab.engine.schemas.amendments import with_changes
from orglab.engine.spec.validate.schema import schema


def test_it_is_a_json_schema() -> None:
    """The schema fits the metaschema of 2020-12."""
    Draft202012Validator.check_schema(schema("topology"))


def test_its_derived_part_is_up_to_date() -> None:
    """`python -m orglab.engine.schemas.amendments` was run after the last edit."""
    assert with_changes(schema("topology")) == schema("topology")


@pytest.mark.parametrize("kind", ["experiment", "sweep"])
def test_other_kinds_are_json_schemas_too(kind: str) -> None:
    """Every kind fits the metaschema."""
    Draft202012Validator.check_schema(schema(kind))


def test_sweeps_name_their_units_as_experiments_do() -> None:
    """What two schemas both define is the same."""
    sweep, experiment = schema("sweep")["$defs"], schema("experiment")["$defs"]
    assert {name: sweep[name] for name in ("units", "pairing")} == {
        name: experiment[name] for name in ("units", "pairing")
    }


def test_unknown_kinds_are_named() -> None:
    """A kind that does not exist is told with those that do."""
    with pytest.raises(ValueError, match="there are: topology, experiment, sweep"):
        schema("topolgy")


def fields(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of the plain definitions, with its path."""
    if isinstance(node, dict):
        for name, part in node.get("properties", {}).items():
            yield f"{where}.{name}", part
        for key, part in node.items():
            yield from fields(part, f"{where}/{key}")
    elif isinstance(node, list):
        for index, part in enumerate(node):
            yield from fields(part, f"{where}/{index}")


def test_every_field_is_described() -> None:
    """Each has a description, its own or that of what it refers to; each map is closed."""
    defs = {k: v for k, v in schema("topology")["$defs"].items() if not k.endswith("-change")}
    for where, part in fields(defs):
        name = str(part.get("$ref", "")).removeprefix("#/$defs/")
        assert part.get("description") or defs[name].get("description"), where
    for name, part in defs.items():
        if "properties" in part and name not in {"input", "model"}:
            assert part["additionalProperties"] is False, name


@pytest.mark.parametrize(
    "document",
    [
        {"links": [{"id": "oversight", "cap": 0}], "roles": {"a": None, "b": {"tools": None}}},
        {"links": {"oversight": None, "a>b": {"when": None}}, "limits": {"turns": None}},
        {"models": {"w": {"model": "x"}}, "tools": {"t": {"with": {"a": 1}}}},
    ],
)
def test_editors_accept_documents_that_extend(document: dict[str, Any]) -> None:
    """Nothing but the head is required there, and null removes."""
    whole = {"kind": "topology", "version": 1, "extends": "a.yaml", **document}
    assert list(Draft202012Validator(schema("topology")).iter_errors(whole)) == []


def test_editors_refuse_misspelt_keys_there_too() -> None:
    """A map stays closed in a document that extends."""
    whole = {"kind": "topology", "version": 1, "extends": "a.yaml", "roles": {"a": {"tolls": []}}}
    assert list(Draft202012Validator(schema("topology")).iter_errors(whole)) != []
