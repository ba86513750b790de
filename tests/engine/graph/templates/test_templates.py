"""What templates refer to, how they print, and what they cannot do."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st
from jinja2.exceptions import SecurityError, TemplateRuntimeError, UndefinedError

from orglab.engine.graph.templates.cost_guard import TemplateCostError
from orglab.engine.graph.templates.templates import compiled, environment, is_template, references


def rendered(text: str, **names: Any) -> str:
    """The text by both environments, which must agree."""
    one = compiled(text).render(**names)
    assert asyncio.run(compiled(text, True).render_async(**names)) == one
    return one


# --- references ---------------------------------------------------------------------------------


def test_plain_text_refers_to_nothing() -> None:
    """A text without markers is not even parsed."""
    assert not is_template('{"a": {1, 2}} ${HOME} 100% %s {')
    assert references("{1}").variables == frozenset()


def test_names_attributes_and_tools_are_found() -> None:
    """Dotted and bracketed attributes count alike."""
    found = references(
        '{{ topic }} {{ vars.persona }} {{ outputs["a-b"].text }} {{ tool.get(n=1) }} '
        '{{ tool["head"](rows=q) }}'
    )
    assert found.variables == {"topic", "vars", "outputs", "tool", "q"}
    assert found.attributes == {
        ("vars", "persona"),
        ("outputs", "a-b"),
        ("tool", "get"),
        ("tool", "head"),
    }
    assert found.tools == {"get", "head"}
    assert "tool" not in found.whole


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("{% for e in inbox %}{{ e.text }}{{ loop.index }}{% endfor %}", {"inbox"}),
        ("{% for e in inbox if e.text != skip %}{{ e }}{% else %}{{ e }}{% endfor %}", {"inbox", "skip", "e"}),
        ("{% set a = b %}{{ a }}", {"b"}),
        ("{{ a }}{% set a = 1 %}", {"a"}),
        ("{% set a %}{{ b }}{% endset %}{{ a }}", {"b"}),
        ("{% if c %}{% set a = 1 %}{% endif %}{{ a }}", {"c", "a"}),
        ("{% if c %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}", {"c"}),
        ("{% macro m(x, y=z) %}{{ x }}{{ y }}{% endmacro %}{{ m(1) }}", {"z"}),
        ("{% with a = b %}{{ a }}{% endwith %}{{ a }}", {"b", "a"}),
        ("{% set ns = namespace(n=0) %}{% set ns.n = 1 %}{{ ns.n }}{{ range(3) }}", set()),
        ("{% for a, b in pairs %}{{ a }}{{ b }}{% endfor %}", {"pairs"}),
        ("{% filter upper %}{{ x }}{% endfilter %}", {"x"}),
        ("{{ x[key] }}", {"x", "key"}),
    ],
)  # fmt: skip
def test_what_a_template_sets_is_no_reference(text: str, free: set[str]) -> None:
    """Loops, sets, macros and with-blocks bind names, in their own scope."""
    assert references(text).variables == free


def test_directive_is_noticed() -> None:
    """The engine appends a directive only where the prompt does not show it."""
    shown = references("{% if directive %}{{ directive.reason }}{% endif %}")
    assert "directive" in shown.variables
    assert "directive" not in references("{{ topic }}").variables


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("one\n{{ a", "not closed", 2),
        ("{% if %}", "[Ee]xpected", 1),
        ("a\nb {{ x|uper }}", "no filter `uper`; did you mean `upper`", 2),
        ("{{ x is evven }}", "no test `evven`; did you mean `even`", 1),
        ("{% include 'x' %}", "no `include`", 1),
        ("{% import 'x' as y %}", "no `import`", 1),
        ("{% from 'x' import y %}", "no `from", 1),
        ("{% extends 'x' %}", "no `extends`", 1),
        ("{% block a %}{% endblock %}", "no `block`", 1),
        ("{% for a in b recursive %}{% endfor %}", "recursive", 1),
        ("{{ x|random }}", "no filter `random`", 1),
        ("{{ x|safe }}", "no filter `safe`", 1),
        ("{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "nested too deeply", 1),
        ("{{" + "+".join("1" * 80) + "}}", "nested too deeply", 1),
        ("{% for a in b %}" * 11 + "{% endfor %}" * 11, "loops nested", 1),
    ],
)
def test_what_is_no_template_is_reported_with_its_line(text: str, message: str, line: int) -> None:
    """Also what Jinja would load, choose by chance or mark as safe."""
    error = references(text).error
    assert error is not None
    assert error.line == line
    assert re.search(message, error.message)


def _fail(message: str) -> None:
    raise ValueError(message)


@given(st.text(alphabet='{}%#"-+ \n|abcifor.()[]~', max_size=60))
def test_any_text_is_a_template_or_a_fault(text: str) -> None:
    """Nothing raises but through ``error``; a text found good compiles in both environments."""
    if references(text).error is None:
        compiled(text)
        compiled(text, True)


# --- printing -----------------------------------------------------------------------------------


def test_case_08_keeps_every_other_brace() -> None:
    """Only placeholders are replaced; values are not expanded again."""
    folder = case_folder("08-yaml-braces-in-prompt")
    lines = (folder / "spec.yaml").read_text("utf-8").splitlines()
    start = lines.index("    prompt: |") + 1
    prompt = "\n".join(line.strip() for line in lines[start : start + 4])
    prompt = prompt.replace("{topic}", "{{ topic }}")
    right = (folder / "expect.md").read_text("utf-8")
    for line in rendered(prompt, topic="income").splitlines():
        assert f"    {line}\n" in right
    assert references(prompt).variables == {"topic"}
    assert rendered(prompt, topic="{{ topic }} {topic}").startswith(
        "Choose a column for {{ topic }} {topic}.\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("é <b>", "é <b>"),
        (None, ""),
        (True, "true"),
        (3, "3"),
        ([1, None, "é"], '[1, null, "é"]'),
        ({"a": [False]}, '{"a": [false]}'),
    ],
)
def test_values_print_as_a_reader_of_json_expects(value: Any, text: str) -> None:
    """Null prints as nothing; lists and maps as JSON; also through ``~``, ``string``, ``join``."""
    assert rendered("{{ x }}", x=value) == text
    assert rendered("{{ x ~ '' }}", x=value) == text
    assert rendered("{{ x|string }}", x=value) == text
    assert rendered("{{ [x, x]|join('+') }}", x=value) == f"{text}+{text}"


def test_a_tag_alone_on_its_line_leaves_no_line() -> None:
    """A tag beside other text keeps the line; raw text keeps all."""
    text = "{% if a %}\nyes\n  {% endif %}\n{# note #}\nx {% if a %}y{% endif %}\nz"
    assert rendered(text, a=True) == "yes\nx y\nz"
    assert rendered("{% raw %}\n{% if %}\n{% endraw %}") == "\n{% if %}\n"
    assert rendered("{% for i in [1, 2] -%}\n {{ i }}\n{%- endfor %}\nend") == "12end"


def test_lines_keep_their_numbers() -> None:
    """A fault after lone tags is told at the line where the author wrote it."""
    error = references("{% if a %}\nx\n{% endif %}\n{{ b|nothing }}").error
    assert error is not None
    assert error.line == 4


def test_tools_are_awaited() -> None:
    """In the asynchronous environment ``tool.NAME(…)`` may be awaitable."""

    async def rows(n: int) -> list[int]:
        return list(range(n))

    tool = SimpleNamespace(rows=rows)
    text = "{% for i in tool.rows(n=2) %}{{ i }},{% endfor %}{{ tool.rows(n=1) }}"
    work: Callable[..., Awaitable[str]] = compiled(text, True).render_async
    assert asyncio.run(_wait(work(tool=tool))) == "0,1,[0]"


async def _wait(work: Awaitable[str]) -> str:
    return await work


def test_filters_that_authors_use_work() -> None:
    """In both environments alike."""
    rows = [{"a": 2, "b": "x"}, {"a": 1, "b": "y"}]
    assert rendered("{{ r|map(attribute='b')|join(', ') }}", r=rows) == "x, y"
    assert rendered("{{ r|selectattr('a', 'gt', 1)|map(attribute='b')|first }}", r=rows) == "x"
    assert rendered("{{ (r|sort(attribute='a'))[0].b }}{{ r|length }}", r=rows) == "y2"
    assert (
        rendered("{{ '%.2f'|format(1.005) }} {{ 2.25|round(1) }} {{ [1, 2]|sum }}") == "1.00 2.2 3"
    )
    assert rendered("{{ r|tojson(indent=1) }}", r=[1]) == json.dumps([1], indent=1)
    assert rendered("{{ 'A-b'.lower().replace('-', '+').split('+')|join }}") == "ab"
    assert (
        rendered("{% for k, v in m|dictsort %}{{ k }}{{ v }}{% endfor %}", m={"b": 1, "a": 2})
        == "a2b1"
    )


def test_an_undefined_name_fails() -> None:
    """Nothing is printed for what is not there."""
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        compiled("{{ x }}").render()


def test_compiled_templates_are_kept() -> None:
    """The same text is compiled once for each environment."""
    assert compiled("{{ x }}!") is compiled("{{ x }}!")
    assert compiled("{{ x }}!", True).environment is environment(True)


# --- what strangers try -------------------------------------------------------------------------

GROW = "{% set n = namespace(x=SEED) %}{% for i in range(200) %}{% set n.x = STEP %}{% endfor %}{{ n.x }}"


def grow(seed: str, step: str) -> str:
    """A loop that lets a value grow."""
    return GROW.replace("SEED", seed).replace("STEP", step)


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 10**9 }}",
        "{{ 10**9 * 'x' }}",
        "{{ [1] * 10**9 }}",
        "{{ 9**9999999 }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{{ range(99999)|sum }}{% endfor %}",
        "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% macro f(n) %}{{ f(n - 1) }}{{ f(n - 1) }}{% endmacro %}{{ f(50) }}",
        grow("'ab'", "n.x ~ n.x"),
        grow("'ab'", "n.x + n.x"),
        grow("'ab'", "n.x|replace('a', 'aa')"),
        grow("7", "n.x * n.x"),
        grow("[1]", "[n.x, n.x]"),
        grow("[1]", "(n.x, n.x)"),
        grow("[1]", "{'a': n.x, 'b': n.x}"),
        grow("[1]", "dict(a=n.x, b=n.x)"),
        grow("[1]", "n.x + n.x"),
        "{{ 'x'|center(10**9) }}",
        "{{ 'x'|center(width=10**9) }}",
        "{{ 'x'|indent(10**9, true) }}",
        "{{ '%0999999999d'|format(1) }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}",
        "{{ ('a' * 10**6)|replace('a', 'b' * 10**6) }}",
        "{{ range(9999)|join('x' * 99999) }}",
        "{{ [1]|batch(10**9, 'x')|list }}",
        "{{ [1]|slice(10**9)|list }}",
        "{{ 1.5|round(10**6, 'ceil') }}",
        "{{ [[1]]|sum(start=[]) }}",
        "{{ x|tojson(indent=10**9) }}",
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_template_cannot_hang_or_fill_the_memory(text: str, asynchronous: bool) -> None:
    """Bombs are refused while they are small."""
    template = compiled(text, asynchronous)
    with pytest.raises((TemplateCostError, RecursionError), match=r"template|recursion"):
        asyncio.run(_render(template, asynchronous))


async def _render(template: Any, asynchronous: bool) -> None:
    if asynchronous:
        await template.render_async(x=[1])
    else:
        template.render(x=[1])


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ x.__class__ }}",
        "{{ x['__class__'].__base__ }}",
        "{{ '{0.__class__}'.format(x) }}",
        "{{ '{a}'.format_map(x) }}",
        "{{ (1).to_bytes(10**9, 'big') }}",
        "{{ x.append(1) }}",
        "{{ f.__globals__ }}",
        "{{ 'a'.join(['b']) }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ dict.fromkeys(x) }}",
    ],
)
def test_a_template_reaches_nothing_behind_its_values(text: str) -> None:
    """Neither Python's insides nor methods that change or blow up a value."""
    with pytest.raises((SecurityError, UndefinedError), match=r"unsafe|undefined|no attribute"):
        compiled(text).render(x=[1], f=_fail)


# --- keys and methods ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ plan.items }}", '["leaf", "pot"]'),
        ("{{ plan['items'] }}", '["leaf", "pot"]'),
        ("{{ plan.copy }} {{ plan.update }}", "two 3"),
        ("{% for key, value in other.items() %}{{ key }}={{ value }}{% endfor %}", "a=1"),
        ("{{ other.get('a') }} {{ 'x'.upper() }}", "1 X"),
    ],
)
def test_a_map_s_own_key_wins_over_a_method(text: str, expected: str) -> None:
    """Attributes read keys first; methods are there to be called."""
    plan = {"items": ["leaf", "pot"], "copy": "two", "update": 3}
    assert rendered(text, plan=plan, other={"a": 1}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ other.items }}",
        "{{ other['items'] }}",
        "{{ 'x'.title }}",
        "{{ [1].count }}",
        "{{ other.items ~ '' }}",
        "{% if other.items %}yes{% endif %}",
        "{{ {'a': other.items} }}",
        "{{ other.items | string }}",
    ],
)
def test_a_method_is_never_printed(text: str) -> None:
    """Its text holds a memory address, so a call's identity would differ by process."""
    with pytest.raises(UndefinedError, match=r"is a method here and no key: write `\.\w+\(\)`"):
        rendered(text, other={"a": 1})


@pytest.mark.parametrize("text", ["{{ range }}", "{{ [1] | map('string') }}", "{{ [dict] }}"])
def test_functions_and_iterators_are_not_printed(text: str) -> None:
    """Nothing that depends on a memory address reaches a prompt."""
    with pytest.raises(TemplateRuntimeError, match="cannot be printed"):
        rendered(text)
