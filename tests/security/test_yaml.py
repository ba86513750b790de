"""YAML from a stranger: no tag builds an object, no document fills the memory."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.engine.graph.check import check_file

Den = Any

pytestmark = pytest.mark.timeout(240)  # whole processes, many of them

TAGS = (
    '!!python/object/apply:os.system ["touch ../pwned"]',
    "!!python/object/new:os.system [touch]",
    "!!python/name:os.system ''",
    "!!python/module:os ''",
    "!!python/object:os.environ {}",
    "!!binary aGk=",
    "!<tag:yaml.org,2002:python/tuple> [1]",
    "!env PATH",
)


def bomb() -> str:
    """Ten billion values in ten lines."""
    first = "x-a: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    more = [f"x-b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)]
    return first + "".join(more)


def test_no_document_builds_objects_or_fills_the_memory(den: Den) -> None:
    """Tags, alias bombs, depth, size, circles: each file is refused in words, within seconds."""
    text = den.text
    circle = "x-a: &a [*a]\n"
    specs = {f"tag{n}": f"{text}x-t: {tag}\n" for n, tag in enumerate(TAGS)} | {
        "aliases": text + bomb(),
        "texts": f"{text}x-t: &t {'t' * 100_000}\nx-u: [{', '.join(['*t'] * 1000)}]\n",
        "lists": f"{text}x-d: {'[' * 100_000}{']' * 100_000}\n",
        "maps": f"{text}x-d: {'{a: ' * 3000}1{'}' * 3000}\n",
        "circle": text + circle,
        "size": f"{text}# {'x' * 17_000_000}\n",
        "number": f"{text}x-n: {'9' * 100_000}\n",
        "itself": f"extends: itself.yaml\n{text}",
    }
    den.write({f"{name}.yaml": content for name, content in specs.items()})
    ended = den.orglab("check", *[f"{name}.yaml" for name in specs])
    assert ended.code == 2
    said = {line.split(".yaml")[0] for line in ended.out.splitlines()}
    assert said >= set(specs)
    assert " sound: " not in ended.out


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "more",
    [
        "".join(f"k{n}: 1\n" for n in range(20_000)),
        f"links: [{'1, ' * 20_000}1]\n",
        "links:\n" + "  - {from: a, to: b, kind: forwar, x: 1}\n" * 5_000,
        "x-a:\n" + "  - !t a\n" * 20_000,
        f"evaluators: [{'nope, ' * 20_000}nope]\n",
    ],
    ids=["keys", "values", "links", "tags", "names"],
)
def test_thousands_of_faults_take_seconds(den: Den, more: str) -> None:
    """The first ones are told, and how many there are in all."""
    den.write({"t.yaml": den.text + more, "replies.jsonl": ""})
    issues = [str(issue) for issue in check_file(den.spec / "t.yaml").issues]
    assert 200 < len(issues) <= 1_010
    assert any("are shown" in issue or "are listed" in issue for issue in issues)
