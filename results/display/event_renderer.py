"""Renders the events of a run one after another, for the transcript."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import one_line, visible
from orglab.results.display.layout import Prefixed, barred, inline, prose, value_block
from orglab.results.number_format import duration
from orglab.results.records import CallEntry, Event, Output, RunRecord, ToolEntry
from orglab.results.store.journal.history import answering
from orglab.results.store.journal.journal import position_key
from orglab.results.usage.spending import cost_of

Body: TypeAlias = Mapping[str, JSON]

_SHORT_WORDS = 160
_USUAL = ("native", "strict", "free", "")
_GOOD = {"approve": "green", "comment": "cyan"}
_NOT_TAKEN = {
    "when": "its condition does not hold",
    "cap": "its cap is used up",
    "skipped": "its source was skipped",
}

#: Events of one line: its words, style and indent.
ONE_LINE_EVENTS = {
    "lapsed": ("{output} is void: something before it begins anew", "dim", 0),
    "withdrawn": ("{output} is withdrawn from everyone's sight", "dim", 2),
    "late": ("{output} comes too late for {copy} to read", "dim", 0),
    "cap_used_up": ("! {link} is used up and not taken", "yellow", 0),
}
#: Printed with the turn, with the verdict, and in the footer.
PRINTED_ELSEWHERE = frozenset(("output", "sent_back", "ended"))


class EventRenderer:
    """Makes the lines of a transcript from a run's events.

    Args:
        record: The run.
        full: Unfold prompts, tool results and reasoning.
    """

    def __init__(self, record: RunRecord, *, full: bool) -> None:
        self._record = record
        self._full = full
        self._outputs = {(output.copy, output.visit): output for output in record.outputs}
        self._calls = _by_turn(record.calls)
        self._tools = _by_turn(record.tool_calls)
        self._used: dict[str, str] = {}
        self._lines: list[RenderableType] = []
        self._tick = 0
        self._under: tuple[str, str] | None = None
        self._receivers: list[str] = []
        self._failed: tuple[str, int] | None = None
        self._failures: list[str] = []
        self._shown_failures: set[str] = set()
        self._systems: dict[str, str] = {}
        self._teams = {
            (event.body["copy"], event.body["visit"])
            for event in record.events
            if event.kind == "team_started"
        }

    def render(self) -> Sequence[RenderableType]:
        """Render every event, in order."""
        events = self._record.events
        for event, following in zip(events, [*events[1:], None], strict=True):
            if event.tick != self._tick:
                self._tick = event.tick
                self._lines.append(Text(""))
                self._lines.append(Rule(f"tick {event.tick}", align="left", style="dim"))
            if event.kind == "delivered" and _same_delivery(event, following):
                self._pending_delivery(event)
            else:
                getattr(self, f"_on_{event.kind}", self._on_other)(event.body, event)
        return self._lines

    # -- pieces -------------------------------------------------------------------------------

    def _line(self, text: str, style: str = "", indent: int = 2) -> None:
        first, rest = " " * indent, " " * (indent + 2)
        self._lines.append(Prefixed(Text(visible(text), style=style), first, rest))

    def _block(self, value: JSON, style: str = "", indent: int = 2) -> None:
        content = value_block(value) if not style else prose(str(value), style)
        self._lines.append(barred(content, indent))

    def _headed_text(self, head: str, words: str, style: str) -> None:
        """Print a heading and its text: on one line if it is short."""
        text = Text(visible(head), style=style)
        if words and "\n" not in words and len(words) <= _SHORT_WORDS:
            text.append(": " + visible(words), style="not bold default")
            words = ""
        self._lines.append(Prefixed(text, "  ", "    "))
        if words:
            self._block(words, indent=4)

    def _heading(self, who: str, what: str, calls: Sequence[CallEntry]) -> None:
        text = Text(visible(who), style="bold cyan")
        text.append(visible(what), style="not bold default")
        if calls:
            text.append(f"  {_usage_text(calls)}", style="not bold dim")
        self._lines += [Text(""), text]

    def _work(self, copy: str, visit: int) -> None:
        """Print what a turn did before its output: tools, failures, repairs, reasoning."""
        if self._full:
            self._prompt(copy, self._calls.get((copy, visit), ()))
        for step in sorted(self._steps(copy, visit), key=_position):
            if isinstance(step, ToolEntry):
                self._tool(step)
            else:
                self._reply(step)

    def _prompt(self, copy: str, calls: Sequence[CallEntry]) -> None:
        """Print the prompt of a copy: its system text if new, and this turn's prompt."""
        if not calls:
            return
        messages = calls[0].request.get("messages") or []
        system = "\n".join(one["content"] for one in messages if one["role"] == "system")
        if system and self._systems.get(copy) != system:
            self._systems[copy] = system
            self._line("system prompt:", "dim")
            self._block(system, "dim", indent=4)
        said = [one["content"] for one in messages if one["role"] == "user"]
        if said:
            self._line("prompt:", "dim")
            self._block(said[-1], "dim", indent=4)

    def _steps(self, copy: str, visit: int) -> Iterable[CallEntry | ToolEntry]:
        yield from self._calls.get((copy, visit), ())
        yield from self._tools.get((copy, visit), ())

    def _tool(self, call: ToolEntry) -> None:
        by = " (by the prompt)" if call.prompt else ""
        arguments = inline(call.arguments, 60) if call.arguments else ""
        head = f"⚙ {call.tool}({arguments}){by}"
        failed = f"refused, {call.refused}: " if call.refused else "error: " if call.error else ""
        style = "yellow" if failed else "dim"
        if self._full:
            self._line(f"{head} → {failed}".rstrip(": "), style)
            self._block(call.result, indent=4)
        else:
            self._line(f"{head} → {failed}{inline(call.result, 70)}", style)

    def _reply(self, call: CallEntry) -> None:
        if call.reasoning:
            words = len(call.reasoning.split())
            self._line(f"… thought for {words:,} words", "dim")
            if self._full:
                self._block(call.reasoning, "dim italic", indent=4)
        if call.error:
            kind, message = call.error.get("kind", "error"), call.error.get("message", "")
            self._line(f"✗ {kind}: {one_line(str(message), 300)}", "red")
        if note := _how_read(call):
            self._line(note, "yellow")
        for note in call.notes:
            self._line(f"note: {one_line(note, 200)}", "dim")

    # -- turns --------------------------------------------------------------------------------

    def _on_started(self, body: Body, _: Event) -> None:
        models = body.get("models") or {}
        if len(set(models.values())) == 1:
            self._line(f"model of every role: {next(iter(models.values()))}", "dim", indent=0)
        elif models:
            self._line(f"models: {inline(models, 300)}", "dim", indent=0)

    def _on_turn(self, body: Body, _: Event) -> None:
        copy, visit = body["copy"], body["visit"]
        output = self._outputs.get((copy, visit))
        which = f", turn {visit}" if visit > 1 else ""
        self._heading(
            copy, which + _outcome_mark(output, self._record), self._calls.get((copy, visit), ())
        )
        if inbox := body.get("inbox"):
            again = " again" if body.get("again") else ""
            self._line(f"reads{again} {', '.join(item['output'] for item in inbox)}", "dim")
        if directive := body.get("directive"):
            self._directive(directive)
        self._work(copy, visit)
        if output is not None and (copy, visit) not in self._teams:
            self._block(output.value if output.value is not None else output.text)
        self._under = None

    def _directive(self, directive: Body) -> None:
        used = self._used.get(directive.get("link", ""), "")
        superior, action = directive.get("superior", ""), directive["action"]
        self._line(f"{_ASKED[action]} {superior}{used}", "yellow")

    def _on_team_started(self, body: Body, _: Event) -> None:
        inputs = ", ".join(f"{name}: {inline(value, 80)}" for name, value in body["inputs"].items())
        self._lines.append(Text(""))
        self._line(f"┌ the team of {body['copy']} begins{f' ({inputs})' * bool(inputs)}", "cyan", 0)

    def _on_team_ended(self, body: Body, _: Event) -> None:
        said = f"{body['status']}: {body['copy']}@{body['visit']} is {body['answer']}"
        if body["answer"] is None:
            reason = f" ({one_line(body['reason'], 300)})" if body["reason"] else ""
            said = f"{body['status']}: no answer{reason}"
        self._line(f"└ the team of {body['copy']} {said}", "cyan" if body["answer"] else "red", 0)
        self._under = None

    def _on_turn_failed(self, body: Body, _: Event) -> None:
        self._failed = (body["copy"], self._tick)
        self._line(f"✗ {body['copy']} failed: {_error_text(body.get('error'))}", "bold red", 0)

    def _on_skipped(self, body: Body, _: Event) -> None:
        why = ": nothing reached it"
        if body["why"] == "error":
            known = self._failed == (body["copy"], self._tick)
            why = "" if known else f": its turn failed: {_error_text(body.get('error'))}"
        self._line(f"• {body['copy']} is skipped{why}", "dim", 0)

    # -- reviews ------------------------------------------------------------------------------

    def _on_review(self, body: Body, _: Event) -> None:
        superior, visit, output = body["superior"], body["visit"], body["output"]
        calls = self._calls.get((superior, visit), ())
        self._heading(superior, f" reviews {output} ({body['link']})", calls)
        self._work(superior, visit)
        self._under = (body["link"], output)

    def _open_link(self, body: Body, what: str) -> None:
        """Print a heading for what a link decides without a review turn."""
        if self._under != (body["link"], body["output"]):
            self._heading(body["link"], f" {what} {body['output']}", ())
            self._failures = []
            self._under = (body["link"], body["output"])

    def _on_check(self, body: Body, _: Event) -> None:
        self._open_link(body, "checks")
        reason = f": {one_line(body['reason'], 400)}" if body.get("reason") else ""
        if body["passed"]:
            self._line(f"✓ {body['evaluator']}{reason}", "green")
        else:
            self._line(f"✗ {body['evaluator']}{reason}", "red")
            self._failures.append(f"{body['evaluator']}: {body.get('reason', '')}")
            self._shown_failures.add("\n".join(self._failures))

    def _on_coin(self, body: Body, _: Event) -> None:
        self._open_link(body, "tosses a coin on")
        side = "heads: sent back" if body["heads"] else "tails: delivered unread"
        self._line(f"{side}", "dim")

    def _on_verdict(self, body: Body, _: Event) -> None:
        self._open_link(body, "on")
        if body["by"] == "checks" and body["action"] == "approve" and not body.get("reason"):
            return  # the checks say it
        action, obliged = body["action"], body.get("obliged")
        used = f" ({body.get('used', 0)} of {body.get('cap', 0)})" if obliged else ""
        target = body.get("target")
        to = f", {target} must act" if obliged and target and target != body["copy"] else ""
        sign = "✓" if action == "approve" else "✎" if action == "comment" else "↺"
        style = _GOOD.get(action, "yellow")
        reason = body.get("reason", "")
        self._headed_text(
            f"{sign} {action}{used}{to}", "" if reason in self._shown_failures else reason, style
        )
        if body.get("suggestion"):
            self._headed_text("  suggests", body["suggestion"], "dim")
        if body.get("forced"):
            text = "! forced accept: the cap is used up, and it is delivered all the same"
            self._line(text, "bold yellow")
        if obliged:
            self._used[body["link"]] = used

    def _on_unreviewed(self, body: Body, _: Event) -> None:
        error = _error_text(body.get("error"))
        self._line(f"! {body['output']} stays unreviewed: {error}", "bold yellow", 0)

    # -- links --------------------------------------------------------------------------------

    def _pending_delivery(self, event: Event) -> None:
        """Collect receivers: they are printed with the next delivery of the same output."""
        self._receivers += _receivers(event.body)

    def _on_delivered(self, body: Body, event: Event) -> None:
        self._pending_delivery(event)
        to = ", ".join(self._receivers)
        self._receivers = []
        whom = f" to {to}" if to else ""
        self._lines.append(Text(""))
        self._line(f"→ {body['output']} is delivered{whom}", "green", 0)

    def _on_not_taken(self, body: Body, _: Event) -> None:
        if body["why"] == "each":
            self._line(f"{body['link']} has no item for {', '.join(body['to'])}", "dim", 0)
            return
        why = _NOT_TAKEN.get(body["why"], body["why"])
        self._line(f"{body['link']} is not taken: {why}", "dim", 0)

    def _on_anew(self, body: Body, _: Event) -> None:
        roles = ", ".join(body["roles"])
        lapsed = ", ".join(f"{item['what']} of {item['copy']}" for item in body.get("lapsed", ()))
        because = ", ".join(body["because"])
        tail = f" (void: {lapsed})" if lapsed else ""
        if roles or lapsed:
            self._line(f"↺ what follows {because} begins anew: {roles or 'nobody'}{tail}", "dim", 0)

    def _on_other(self, body: Body, event: Event) -> None:
        if event.kind in ONE_LINE_EVENTS:
            words, style, indent = ONE_LINE_EVENTS[event.kind]
            self._line(words.format_map(body), style, indent)
        elif event.kind not in PRINTED_ELSEWHERE:
            self._line(f"{event.kind}: {inline(body, 200)}", "dim", 0)


_ASKED = {
    "question": "has to answer a question of",
    "revise": "revises as directed by",
    "reject": "starts again, rejected by",
}


def _by_turn(records: Iterable[Any]) -> dict[tuple[str, int], list[Any]]:
    found: dict[tuple[str, int], list[Any]] = {}
    for record in records:
        if getattr(record, "purpose", "") != "judge":
            found.setdefault((record.copy, record.visit), []).append(record)
    return found


def _position(step: CallEntry | ToolEntry) -> tuple[tuple[int, int, str], ...]:
    return position_key(step.position)


def _usage_text(calls: Sequence[CallEntry]) -> str:
    served = calls[-1].served or calls[-1].model or calls[-1].provider
    read = sum(call.tokens["input"] for call in calls)
    written = sum(call.tokens["output"] for call in calls)
    spent = sum(call.service_seconds for call in calls)
    used = f"{read:,} → {written:,} tokens"
    parts = [visible(served), used, cost_of(calls), duration(spent)]
    return " · ".join(part for part in parts if part)


def _outcome_mark(output: Output | None, record: RunRecord) -> str:
    if output is None:
        return ""
    for end, words in ((record.answer, ", the answer"), (record.last, ", the last and no answer")):
        if output in answering(end.id if end else None, record.outputs):
            return words
    return {"lapsed": ", void later", "rejected": ", rejected later"}.get(output.fate, "")


def _how_read(call: CallEntry) -> str:
    """Return how a reply was read, if that is worth noting."""
    how, problem = call.read.get("how", ""), call.read.get("problem")
    if problem and call.error:
        return ""  # the error says it
    if problem:
        message = one_line(str(call.read.get("message") or problem), 300)
        return f"the reply could not be used ({problem}: {message}); retried"
    if call.stop in ("length", "refusal"):
        cut = "cut by the token limit" if call.stop == "length" else "a refusal"
        return f"the reply is {cut}"
    return "" if how in _USUAL else f"read from the reply: {how}"


def _error_text(error: JSON) -> str:
    if isinstance(error, Mapping):
        return one_line(f"{error.get('kind', 'error')}: {error.get('message', '')}", 400)
    return one_line(str(error or "no reason given"), 400)


def _receivers(body: Body) -> list[str]:
    use = f" (use {body['use']} of {body['cap']})" if body.get("cap") is not None else ""
    return [copy + use for copy in body.get("to", ())]


def _same_delivery(event: Event, following: Event | None) -> bool:
    return (
        following is not None
        and following.kind == "delivered"
        and following.body["output"] == event.body["output"]
    )
