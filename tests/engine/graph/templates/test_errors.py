"""Faults of templates, in words that an author can act on."""

from __future__ import annotations

import pytest

from orglab.engine.graph.templates.templates import references


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("a\n{% if x %}\nb", 2, "`{% if … %}` is not closed", "write `{% endif %}` where it ends"),
        ("{% if x %}{% for y in x %}{% endfor %}", 1, "`{% if … %}` is not", "write `{% endif %}`"),
        ("{% for y in x %}\n{% if y %}", 2, "`{% if … %}` is not closed", "write `{% endif %}`"),
        ("{% for y in x %}\n{% endif %}", 2, "`{% endif %}` stands where `{% for … %}` is open", "write `{% endfor %}` before it"),
        ("{% endif %}", 1, "`{% endif %}` ends nothing", "begin with `{% if … %}`"),
        ("{% else %}", 1, "`{% else %}` stands in no `{% if … %}`", "remove it"),
        ("{% iff x %}", 1, "there is no tag `{% iff %}`", "did you mean `{% if … %}`?"),
        ("a {{ x", 1, "`{{` is not closed", "write `}}` at its end"),
        ("a {% if x", 1, "`{%` is not closed", "write `%}` at its end"),
        ("a\n{# x", 2, "`{#` is not closed", "write `#}`"),
        ('{{"a": 1}}', 1, "expected token", "{% raw %}"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_how_to_mend_it(text: str, line: int, message: str, hint: str) -> None:
    """The line of the mistake, what it is, and the cure."""
    issue = references(text).error
    assert issue is not None
    assert issue.line == line
    assert message in issue.message
    assert hint in issue.hint
