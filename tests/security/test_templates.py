"""Templates from a stranger: out of reach of Python, bounded in time and memory."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import TemplateError

from orglab.engine.graph.templates.templates import compiled, references

Den = Any

A = "{% set a='x'*4900000 %}"
MANY = "{% for i in range(90000) %}"
ESCAPES = [
    "{{ ''.__class__.__mro__ }}",
    "{{ ''['__class__'] }}",
    "{{ ''['__cla' ~ 'ss__'] }}",
    "{{ x|attr('__class__') }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ lipsum.__globals__ }}",
    "{{ joiner() }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ dict.__base__.__subclasses__() }}",
    "{{ dict.mro() }}",
    "{{ dict.fromkeys([1]) }}",
    "{{ range.__class__ }}",
    "{{ range(1).__class__ }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ '{0.__class__}'.format_map({}) }}",
    "{{ '%s'.__mod__ }}",
    "{{ 'a'.encode }}",
    "{{ (1).real }}",
    "{{ things.__class__ }}",
    "{{ things.append(1) }}",
    "{{ thing.pop('a') }}",
    "{{ tool.now.__globals__ }}",
    "{{ tool.now.__self__ }}",
    "{{ tool.__class__ }}",
    "{{ tool.now.__code__ }}",
    "{{ [1]|map(attribute='__class__')|list }}",
    "{{ [1]|groupby('__class__') }}",
    "{{ [1]|selectattr('__class__')|list }}",
    "{{ [1]|map('attr', '__class__')|list }}",
    "{{ x is sameas(x.__class__.__base__) }}",
    "{{ x|pprint }}",
    "{{ x|xmlattr }}",
    "{% debug %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
    "{% macro m() %}{% endmacro %}{{ m.__init__.__globals__ }}",
    "{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}",
    "{% macro m() %}{{ caller.__globals__ }}{% endmacro %}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ varargs.__class__ }}{% endmacro %}{{ m() }}",
    "{% for i in [1] %}{{ loop.__class__ }}{% endfor %}",
    "{% for i in [1] %}{{ loop._iterable }}{% endfor %}",
    "{% set y.__class__ = 1 %}",
]
BOMBS = [
    "{{ 'x' * 10**9 }}",
    "{{ (1, 2) * 10**9 }}",
    "{{ 10**9 * 'x' }}",
    "{{ 2**(10**9) }}",
    "{{ 10**4000 }}",
    "{{ (2**4000) * (2**4000) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%*d' % (1000000000, 1) }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ 'x'|center(10**9) }}",
    "{{ 'x'.center(10**9) }}",
    "{{ 'x'.zfill(10**9) }}",
    "{{ 'x'|indent(10**9) }}",
    "{{ ('x'*1000000)|replace('x', 'y'*1000000) }}",
    "{{ ('x'*1000000).replace('x', 'y'*1000000) }}",
    "{{ thing|tojson(10**9) }}",
    "{{ 1.0|round(10**9) }}",
    "{{ range(10**9)|list }}",
    "{{ range(10**18)|sum }}",
    "{{ [1]|batch(10**9)|list }}",
    "{{ [1]|slice(10**9)|list }}",
    "{{ [1]|batch(100000, 'x'*90000)|list }}",
    "{% for i in range(10**9) %}{% endfor %}",
    MANY * 3 + "x" + "{% endfor %}" * 3,
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% set n=namespace(a='x') %}" + MANY + "{% set n.a=n.a~n.a %}{% endfor %}",
    "{% set n=namespace(a=[1]) %}" + MANY + "{% set n.a=[n.a, n.a] %}{% endfor %}{{ n.a }}",
    A + "{% set b='y'.replace('y','x')*4900000 %}" + MANY + "{% if a==b %}{% endif %}{% endfor %}",
    A + MANY + "{% set y=a[1:] %}{% endfor %}",
    A + MANY + "{% if 'b' in a %}{% endif %}{% endfor %}",
    A + MANY + "{% if a is eq('b') %}{% endif %}{% endfor %}",
    A + MANY + "{% if a.count('x') %}{% endif %}{% endfor %}",
    A + MANY + "{{ a|length }}{% endfor %}",
    "{% set a=range(90000)|list %}" + MANY + "{% if 'b' in a %}{% endif %}{% endfor %}",
    "{% set a=range(90000)|list %}" + MANY + "{% if 'b' is in(a) %}{% endif %}{% endfor %}",
    "{% set a=range(90000)|list %}" + MANY + "{% set y=a[1:] %}{% endfor %}",
    "{% for a in [1, [2]] recursive %}{{ loop([1]) }}{% endfor %}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ 1" + "+1" * 20_000 + " }}",
    "{{ " + "not " * 5000 + "x }}",
]
REFUSED = (TemplateError, OverflowError, RecursionError, TypeError, ValueError, AttributeError)


def now(**_: object) -> str:
    """A tool as templates see it."""
    return "now"


async def attack(template: str, asynchronous: bool) -> None:
    """Renders as a prompt is rendered: what is no template is refused before."""
    if (issue := references(template).error) is not None:
        raise ValueError(issue.message)
    values = {"x": "a", "things": [1], "thing": {"a": 1}, "tool": {"now": now}}
    if asynchronous:
        await compiled(template, True).render_async(values)
    else:
        compiled(template).render(values)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["settings", "prompts"])
@pytest.mark.parametrize("template", ESCAPES)
async def test_no_template_reaches_python(template: str, asynchronous: bool) -> None:
    """Attributes of Python's own, loaders, and what changes values are refused."""
    with pytest.raises(REFUSED, match=r"\S"):
        await attack(template, asynchronous)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["settings", "prompts"])
@pytest.mark.parametrize("template", BOMBS, ids=range(len(BOMBS)))
async def test_no_template_takes_all_time_or_memory(template: str, asynchronous: bool) -> None:
    """Loops, joins, comparisons, slices and paddings have a budget."""
    with pytest.raises(REFUSED, match=r"\S"):
        await attack(template, asynchronous)


def test_a_refused_template_fails_its_turn_in_words(den: Den) -> None:
    """Through the whole engine: in a prompt, and in an overridden template of the engine."""
    den.write(
        {
            "role.yaml": den.text.replace("prompt: P", "prompt: \"{{ ''.__class__ }}\""),
            "engine.yaml": den.text.replace(", prompt: P", "")
            + "templates: {prompt: \"{{ 'x' * 10**9 }}\"}\n",
            "replies.jsonl": '{"role": "w", "reply": "x"}\n',
        }
    )
    role, engine = den.orglab("run", "role.yaml"), den.orglab("run", "engine.yaml")
    assert (role.code, engine.code) == (1, 1)
    assert "unsafe" in role.out
    assert "over 10,000,000 characters" in engine.out
