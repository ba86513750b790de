"""Chat templates: rendered in a sandbox, and what they cannot take is folded."""

from __future__ import annotations

import pytest

from orglab.providers.base import BadRequest, Message
from orglab.providers.llama.chat_template import ChatTemplate

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
REFUSES_SYSTEM = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "<turn>{{ message['role'] }}: {{ message['content'] | trim }}</turn>{% endfor %}"
)
IGNORES_SYSTEM = (
    "{% for m in messages if m.role != 'system' %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
)


def _talk(*turns: tuple[str, str]) -> list[Message]:
    return [Message(role=role, content=text) for role, text in turns]  # type: ignore[arg-type]


def test_a_template_that_takes_all_is_rendered_as_it_is() -> None:
    """No turn is folded without need."""
    template = ChatTemplate(CHATML)
    text = template.render(_talk(("system", "S"), ("user", "U"), ("user", "V")))
    assert (template.takes_system, template.takes_runs) == (True, True)
    assert text == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
        "<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_that_refuses_a_system_turn_gets_its_text_in_the_first_user_turn() -> None:
    """As with Gemma: folded, and turns of one speaker in a row made one."""
    template = ChatTemplate(REFUSES_SYSTEM, bos="<bos>")
    talk = _talk(("system", "S"), ("user", "U"), ("user", "V"), ("assistant", "A"), ("user", "W"))
    assert (template.takes_system, template.takes_runs) == (False, False)
    assert template.render(talk) == (
        "<bos><turn>user: S\n\nU\n\nV</turn><turn>assistant: A</turn><turn>user: W</turn>"
    )


def test_a_template_that_ignores_a_system_turn_is_found_out() -> None:
    """A system text is never lost, also where the template raises nothing."""
    template = ChatTemplate(IGNORES_SYSTEM)
    assert not template.takes_system
    assert template.render(_talk(("system", "S"), ("user", "U"))) == "[user] S\n\nU\n"


def test_a_system_text_without_a_user_turn_becomes_one() -> None:
    """There may be nothing to fold it into."""
    fitted = ChatTemplate(IGNORES_SYSTEM).fitted(_talk(("system", "S"), ("assistant", "A")))
    assert [(turn.role, turn.content) for turn in fitted] == [("user", "S"), ("assistant", "A")]


def test_what_a_template_still_refuses_is_a_bad_request() -> None:
    """The template's own words are in the error."""
    template = ChatTemplate(REFUSES_SYSTEM)
    with pytest.raises(BadRequest, match="Roles must alternate"):
        template.render(_talk(("assistant", "A"), ("user", "U")))


def test_a_prompt_does_not_depend_on_the_day() -> None:
    """Templates that write today's date write the same one for ever."""
    template = ChatTemplate("{{ strftime_now('%d %b %Y') }} {{ messages[-1].content }}")
    assert template.render(_talk(("user", "U"))) == "01 Jan 2025 U"


def test_tags_and_filters_of_chat_templates_are_known() -> None:
    """Loop controls, the generation tag and JSON that keeps its letters."""
    source = (
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
        "{{ {'é': m.role} | tojson }}{% if loop.index == 9 %}{% break %}{% endif %}{% endfor %}"
    )
    assert ChatTemplate(source).render(_talk(("user", "<U>"))) == '<U>{"é": "user"}'


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{% for %}", "cannot be read"),
        ("hello", "does not show what the user says"),
        ("{{ messages.__class__.__mro__ }}", "does not show"),
    ],
)
def test_what_is_no_chat_template_is_refused(source: str, why: str) -> None:
    """A template comes with somebody's weights: it is tried before it is trusted."""
    with pytest.raises(ValueError, match=why):
        ChatTemplate(source)


def test_a_template_cannot_reach_out_of_its_sandbox() -> None:
    """Attributes that lead to code are refused, not rendered."""
    template = ChatTemplate(
        "{{ messages[0].content }}{% if messages | length == 2 %}"
        "{{ messages[0].content.__class__.__mro__[1].__subclasses__() }}{% endif %}"
    )
    with pytest.raises(BadRequest, match=r"unsafe|undefined"):
        template.render(_talk(("user", "U"), ("assistant", "A")))
