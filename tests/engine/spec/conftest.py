"""Specs written on the spot, and their faults as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from orglab.engine.spec.load import Loaded, load

HEAD = "kind: topology\nversion: 1\n"
BODY = "models: {worker: {provider: simulated}}\n"

Load = Callable[..., Loaded]
Lines = Callable[..., list[str]]


@pytest.fixture
def load_spec(tmp_path: Path) -> Load:
    """Writes a spec (and other files) and loads it; the head and a model are put in front."""

    def write(
        text: str,
        *,
        files: Mapping[str, str] | None = None,
        head: str = HEAD + BODY,
        name: str = "spec.yaml",
        **options: Any,
    ) -> Loaded:
        for other, content in {**(files or {}), name: head + dedent(text)}.items():
            path = tmp_path / other
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        return load(tmp_path / name, shown_as=name, **options)

    return write


@pytest.fixture
def issues(load_spec: Load) -> Lines:
    """The faults of a spec, each as the line that is printed."""

    def lines(text: str, **options: Any) -> list[str]:
        return [str(issue) for issue in load_spec(text, **options).issues]

    return lines


@pytest.fixture(scope="session")
def everything() -> str:
    """A document with every field of the language, sound in form."""
    return """
kind: topology
version: 1
name: everything there is
description: All fields.
x-note: free
inputs: {product: {type: string}, table: {type: string, format: file, optional: true}}
models:
  worker: {provider: simulated, profile: careful, params: {temperature: 0}, max_concurrency: 2,
    price: {input: 1, output: 2.5, cached_input: 0}, requests_per_minute: 10, x-a: 1,
    tokens_per_minute: 1000, timeout_seconds: 2.5, faults: {timeout: 0.1}}
pools: {p: {members: [worker], draw: per_run, replace: false, balance: true}}
tools: {t: {use: query, with: {file: "{{ table }}"}}}
roles:
  writer: {system: {file: a.md}, prompt: Hi, vars: {persona: plain}, model: {pool: p}, tools: [t],
    sees: [task, inbox, own, latest, blackboard, "role:critic"], output: {type: object},
    join: any, replicas: 2, on_error: skip,
    limits: {tool_calls: 0, repeated_calls: 1, output_tokens: 9, repair_attempts: 0}}
  critic: {}
links:
  - {id: a, kind: forward, from: writer, to: critic, when: {ok: [true, null], n: 1}, cap: 2, on_cap: accept}
  - {kind: forward, from: critic, to: writer, when: otherwise}
  - {id: over, kind: authority, from: critic, to: [writer], cap: 0, sees: blackboard, target: writer,
    review: [{actions: [question, reject], prompt: {file: b.md}}, {actions: [approve]}],
    trigger: {checks: [usage, {contains: x}, {length: {max: 3}}], voice: findings, action: reject},
    directive: Again., reviews: 1, on_cap: fail, stake: {start: 1, approve: 1, reject: -2.5}}
  - {id: coin, kind: authority, from: critic, to: writer, cap: 1, trigger: {probability: 0.5}}
  - {id: idle, kind: authority, from: critic, to: writer, cap: 1, trigger: never}
start: writer
output: [writer, critic]
evaluators: [usage, {length: 3}]
limits: {turns: 1, tokens: 1, cost_usd: 0.1, seconds: 0.5}
templates: {prompt: a, review: b, powers: c, directive: d, verdicts: e, stake: f, repair: g, tools_gone: h}
"""
