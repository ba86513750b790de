"""What a person at the terminal is shown: the conversation, and what is wanted of them."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.providers.base import Labels, Message, Request, ToolDefinition
from orglab.providers.terminal_safety import visible

__all__ = ["heading", "page", "questions"]

_RULE = "─" * 72


def page(request: Request, *, whole: bool) -> str:
    """Return the conversation so far; else what came after the person's last words, results of tools say.

    Everything that would steer the terminal is written out.
    """
    messages = list(request.messages)
    if not whole:
        spoken = [i for i, each in enumerate(messages) if each.role == "assistant"]
        messages = messages[spoken[-1] + 1 :] if spoken else messages
    parts = [_message(each) for each in messages]
    title = [_RULE, visible(_title(request.labels)), _RULE] if whole else []
    return "\n" + "\n".join([*title, *parts])


def _title(labels: Labels) -> str:
    words = f"{labels.copy or 'you'}, turn {labels.visit}"
    if labels.reviewed is not None:
        words += f", reviewing {labels.reviewed}"
    if labels.unit:
        words += f" · unit {labels.unit}, replicate {labels.replicate + 1}"
    return words


def _message(message: Message) -> str:
    names = {"assistant": "you said", "user": "you are asked", "tool": "the tool answers"}
    lines = [f"[{names.get(message.role, message.role)}]"]
    if message.content:
        lines.append(visible(message.content))
    lines += [
        f"called {visible(call.name)} {visible(call.arguments)}" for call in message.tool_calls
    ]
    return "\n".join(lines) + "\n"


def heading(request: Request, tools: Sequence[ToolDefinition]) -> str:
    """Return how to answer."""
    lines = [_RULE]
    if tools:
        names = ", ".join(tool.name for tool in tools)
        lines.append(f"Tools: {names}. /tool NAME calls one, in place of an answer.")
    elif request.tools:
        lines.append("No tool may be called now.")
    lines.append(
        "/show shows all again. Ctrl-D or Ctrl-C stops the study; the same command goes on."
    )
    return "\n".join(lines)


def questions(request: Request) -> str:
    """Return what a form is about."""
    if request.labels.purpose == "review":
        return f"Your verdict on the output of {visible(request.labels.reviewed or '')}:"
    return "Your answer, field by field:"
