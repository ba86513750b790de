"""Runs of experiments: interleaved, resumable, and with calls that arms share."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from case_files import case_folder
from studies import query, run_experiment, write_experiment

from orglab.engine.study.batch.batch import Batch, BatchTally, PlannedRun
from orglab.engine.study.batch.response_sharing import StudySharing
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.experiment.load import load_experiment
from orglab.providers.base import Completion, Request, TokenUsage, Unavailable
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.records import CallEntry
from orglab.results.store.store import Store

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models:
  one: {provider: scripted, file: replies.jsonl, price: {input: 1000000, output: 1000000}}
  two: {provider: scripted, file: replies.jsonl, price: {input: 1000000, output: 1000000}}
  three: {provider: scripted, file: replies.jsonl, price: {input: 1000000, output: 1000000}}
pools: {all: {members: [one, two, three]}}
roles:
  reader: {model: {pool: all}, system: You read.}
  writer: {model: {pool: all}, system: You write.}
  editor: {model: {pool: all}, system: You judge.}
links:
  - {from: reader, to: writer, kind: forward}
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms:
  free: team.yaml
  bound: {base: team.yaml, set: {links.oversight.cap: 1}}
treatment: [links.oversight.cap]
units: {file: units.csv}
seed: 5
pairing: {share_prefix: SHARE}
evaluators: [usage]
"""

Load = Callable[..., Experiment]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads the experiment, changed as a test says."""

    def loaded(
        share: bool = True,
        units: int = 3,
        changes: Mapping[str, str] | None = None,
        team: str = TEAM,
    ) -> Experiment:
        text = EXPERIMENT.replace("SHARE", str(share).lower())
        for old, new in (changes or {}).items():
            assert old in text
            text = text.replace(old, new)
        rows = "id,topic\n" + "".join(f"u{number},tea {number}\n" for number in range(units))
        files = {"team.yaml": team, "units.csv": rows, "experiment.yaml": text}
        return write_experiment(tmp_path, files)

    return loaded


def run(experiment: Experiment, folder: Path, model: Model, **more: Any) -> BatchTally:
    """Run an experiment on a model."""
    return run_experiment(experiment, folder, ScriptedProvider(model), **more)


class Model:
    """Answers by the identity of the call, and counts what it is asked."""

    def __init__(self, invalid: Callable[[Request], Any] | None = None) -> None:
        self.requests: list[Request] = []
        self.invalid = invalid or (lambda _: None)

    async def __call__(self, request: Request) -> Any:
        """Answers, in whatever order."""
        self.requests.append(request)
        for _ in range(int(request.identity[0], 16) % 5):
            await asyncio.sleep(0)
        issue = self.invalid(request)
        if isinstance(issue, Exception):
            raise issue
        if issue is not None:
            return issue
        text = f"{request.labels.copy} {request.identity[:8]}"
        if request.schema is not None:
            actions = request.schema["properties"]["action"]["enum"]
            text = json.dumps({"action": actions[-1], "reason": text})
        return Completion(text=text, usage=TokenUsage(input=2, output=1))

    @property
    def asked(self) -> Counter[tuple[str, str]]:
        """How often each role of each unit was asked."""
        labels = [request.labels for request in self.requests]
        return Counter((each.unit, each.role) for each in labels)


CALLS = """SELECT r.arm, r.unit, c.role, c.visit, c.attempts, c.identity, c.cost_usd
           FROM calls c JOIN runs r USING (run) ORDER BY r.arm, r.unit, c.position"""


EVENTS = """SELECT r.id, e.seq, e.kind, e.body FROM events e JOIN runs r USING (run)
            ORDER BY 1, 2"""


# --- the plan of runs --------------------------------------------------------------------------


def order(experiment: Experiment) -> list[PlannedRun]:
    """The runs in their order."""
    return list(experiment.batch().planned())


def test_pairs_are_interleaved_in_a_seeded_order(load: Load) -> None:
    """The arms of a unit one after another, each first about as often; the same for a seed."""
    planned = order(load(units=40))
    units = [run.unit.id for run in planned]
    assert units[::2] == units[1::2]
    assert sorted(units[::2]) == sorted({f"u{number}" for number in range(40)})
    assert units[::2] != [f"u{number}" for number in range(40)]
    first = Counter(run.arm.name for run in planned[::2])
    assert 10 < first["free"] < 30
    assert [run.id for run in planned] == [run.id for run in order(load(units=40))]
    other = order(load(units=40, changes={"seed: 5": "seed: 6"}))
    assert [run.unit.id for run in other] != units


def test_replicates_are_shuffled_each_by_itself(load: Load) -> None:
    """All of one replicate before the next, in another order."""
    planned = order(load(units=20, changes={"seed: 5": "seed: 5\nreplicates: 2"}))
    assert [run.replicate for run in planned] == [0] * 40 + [1] * 40
    assert [run.unit.id for run in planned[:40]] != [run.unit.id for run in planned[40:]]


@pytest.mark.parametrize("pool", ["", ", replace: false", ", balance: true", ", draw: per_run"])
@pytest.mark.parametrize("share", [True, False])
def test_pool_draws_are_equal_for_all_arms_of_a_unit(
    load: Load, tmp_path: Path, pool: str, share: bool
) -> None:
    """With and without replacement, balanced, drawn for each run; others for other units."""
    team = TEAM.replace("[one, two, three]", f"[one, two, three]{pool}")
    experiment = load(share, units=8, team=team)
    run(experiment, tmp_path / "study", Model())
    started = query(
        tmp_path / "study",
        "SELECT r.unit, r.arm, e.body FROM events e JOIN runs r USING (run) WHERE e.kind='started'",
    )
    drawn: dict[str, dict[str, Any]] = {}
    for unit, arm, body in started:
        drawn.setdefault(unit, {})[arm] = json.loads(body)["models"]
    assert all(arms["free"] == arms["bound"] for arms in drawn.values())
    assert len({json.dumps(arms["free"]) for arms in drawn.values()}) > 1


# --- going on ----------------------------------------------------------------------------------


def test_the_same_again_costs_nothing(load: Load, tmp_path: Path) -> None:
    """No call, every run kept."""
    experiment = load()
    first, again = Model(), Model()
    tally = run(experiment, tmp_path / "study", first)
    assert (tally.planned, tally.completed) == (6, 6)
    tally = run(experiment, tmp_path / "study", again)
    assert (tally.kept, again.requests) == (6, [])


@pytest.mark.parametrize("share", [True, False])
def test_stopped_half_way_it_goes_on(load: Load, tmp_path: Path, share: bool) -> None:
    """Nothing durable is asked again; the end is that of a run without a stop."""
    experiment = load(share)
    calm = Model()
    run(experiment, tmp_path / "calm", calm)
    asked = 0
    for limit in range(1, 40):
        stop = asyncio.Event()

        def count(_: Request, stop: asyncio.Event = stop, limit: int = limit) -> None:
            nonlocal asked
            asked += 1
            if asked % limit == 0:
                stop.set()

        tally = run(experiment, tmp_path / "stopped", Model(count), stop=stop)
        if not tally.interrupted:
            break
    assert asked == len(calm.requests)
    for sql in (EVENTS, "SELECT DISTINCT identity FROM calls ORDER BY 1"):
        assert query(tmp_path / "stopped", sql) == query(tmp_path / "calm", sql)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("share", [True, False])
def test_killed_half_way_it_goes_on(load: Load, tmp_path: Path, share: bool) -> None:
    """The process dies within a call, again and again: only what was in flight is asked again."""
    experiment = load(share)
    run(experiment, tmp_path / "calm", Model())
    for limit in (1, 2, 4, 7):
        child = os.fork()
        if child == 0:
            model = Model()

            def die(_: Request, model: Model = model, limit: int = limit) -> None:
                if len(model.requests) > limit:
                    os._exit(9)

            model.invalid = die
            run(experiment, tmp_path / "killed", model)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    before = {identity for (identity,) in query(tmp_path / "killed", "SELECT identity FROM calls")}
    last = Model()
    assert run(experiment, tmp_path / "killed", last).completed > 0
    assert before
    assert not before & {request.identity for request in last.requests}
    for sql in (EVENTS, "SELECT DISTINCT identity FROM calls ORDER BY 1"):
        assert query(tmp_path / "killed", sql) == query(tmp_path / "calm", sql)


def test_a_study_goes_on_in_another_place(load: Load, tmp_path: Path) -> None:
    """Spec and study moved to another folder, and the variable of a key renamed: the same calls."""
    stop = asyncio.Event()
    experiment = load()
    calm = Model()
    run(experiment, tmp_path / "calm", calm)
    first = Model(lambda _: stop.set())
    assert run(experiment, tmp_path / "study", first, stop=stop).interrupted
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("experiment.yaml", "team.yaml", "units.csv", "replies.jsonl"):
        shutil.move(tmp_path / name, moved / name)
    text = (moved / "team.yaml").read_text(encoding="utf-8")
    renamed = text.replace("file: replies.jsonl", "file: replies.jsonl, api_key_env: ANOTHER_KEY")
    (moved / "team.yaml").write_text(renamed, encoding="utf-8")
    rest = Model()
    assert run(load_experiment(moved / "experiment.yaml"), tmp_path / "study", rest).completed == 6
    asked = [request.identity for request in [*first.requests, *rest.requests]]
    assert sorted(asked) == sorted(request.identity for request in calm.requests)


def test_more_units_and_replicates_run_only_what_is_new(load: Load, tmp_path: Path) -> None:
    """In the same folder, under another frozen plan."""
    study = tmp_path / "study"
    run(load(units=2), study, Model())
    grown = Model()
    tally = run(load(units=3), study, grown)
    assert (tally.kept, tally.completed) == (4, 2)
    assert {unit for unit, _ in grown.asked} == {"u2"}
    again = Model()
    tally = run(load(units=3, changes={"seed: 5": "seed: 5\nreplicates: 2"}), study, again)
    assert (tally.kept, tally.completed) == (6, 6)
    assert {request.labels.replicate for request in again.requests} == {1}
    assert query(study, "SELECT COUNT(*) FROM specs WHERE kind='experiment'") == [(3,)]


def test_more_evaluators_ask_no_role_again(load: Load, tmp_path: Path) -> None:
    """They measure the kept runs; what was measured stays."""
    study = tmp_path / "study"
    run(load(), study, Model())
    again = Model()
    run(load(changes={"[usage]": "[usage, words]"}), study, again)
    assert again.requests == []
    assert query(study, "SELECT COUNT(*) FROM scores WHERE evaluator='words'") == [(6,)]


# --- calls that arms share ---------------------------------------------------------------------


def test_arms_fork_exactly_at_the_treatment(load: Load, tmp_path: Path) -> None:
    """The reader and the first draft are written once a unit; from the review on each has its own."""
    model = Model()
    run(load(), tmp_path / "study", model)
    for unit in ("u0", "u1", "u2"):
        assert model.asked[unit, "reader"] == 1
        assert model.asked[unit, "writer"] == 2  # the draft, and the revision of the bound one
        assert model.asked[unit, "editor"] == 3
    rows = query(tmp_path / "study", CALLS)
    shared = Counter(role for _, _, role, _, attempts, _, _ in rows if attempts == 0)
    assert shared == {"reader": 3, "writer": 3}
    identities = Counter(identity for *_, identity, _ in rows)
    assert set(identities.values()) == {1, 2}


def test_nothing_is_shared_unless_it_is_said(load: Load, tmp_path: Path) -> None:
    """Two arms with the same prompts differ as two samples do."""
    model = Model()
    run(load(share=False), tmp_path / "study", model)
    rows = query(tmp_path / "study", CALLS)
    assert len(model.requests) == len(rows)
    assert all(attempts == 1 for _, _, _, _, attempts, _, _ in rows)
    assert len({identity for *_, identity, _ in rows}) == len(rows)


def test_a_shared_reply_counts_in_full_and_is_paid_once(load: Load, tmp_path: Path) -> None:
    """Each run's cost is what it would have cost alone; the tally tells what was paid."""
    model = Model()
    tally = run(load(), tmp_path / "study", model)
    costs = query(tmp_path / "study", "SELECT arm, cost_usd FROM runs")
    assert {str(arm): cost for arm, cost in costs} == {"free": 9.0, "bound": 15.0}
    assert sum(cost for _, cost in costs) == 72.0
    assert tally.cost_usd == pytest.approx(3.0 * len(model.requests))
    assert tally.tokens == 3 * len(model.requests)


def test_an_arm_runs_as_it_would_alone(load: Load, tmp_path: Path) -> None:
    """Its events and identities do not depend on which arm made the shared calls."""
    both = load(units=6)
    run(both, tmp_path / "both", Model())
    changes = {"  bound: {base: team.yaml, set: {links.oversight.cap: 1}}\n": ""}
    run(load(units=6, changes=changes), tmp_path / "alone", Model())
    events = """SELECT r.unit, e.seq, e.kind, e.body FROM events e JOIN runs r USING (run)
                WHERE r.arm='free' ORDER BY 1, 2"""
    assert query(tmp_path / "both", events) == query(tmp_path / "alone", events)


@pytest.mark.parametrize("at_once", [1, 2, 64])
def test_concurrency_changes_nothing_of_it(load: Load, tmp_path: Path, at_once: int) -> None:
    """Many at once: each identical call is made once, and every run has the same events."""
    model = Model()
    experiment = load(units=32)
    tally = run(experiment, tmp_path / "study", model, at_once=at_once)
    assert tally.completed == 64
    assert max(Counter(request.identity for request in model.requests).values()) == 1
    assert len(model.requests) == 32 * 6


FAULTS: dict[str, Callable[[], Any]] = {
    "failure": lambda: Unavailable("down"),
    "truncated": lambda: Completion(text="half", stop="length"),
    "refused": lambda: Completion(text="", stop="refusal"),
    "empty": lambda: Completion(text=""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_no_answer_is_never_shared(load: Load, tmp_path: Path, name: str) -> None:
    """The first asking of the reader goes wrong: the other arm asks itself."""
    bad: set[str] = set()

    def invalid(request: Request) -> Any:
        if request.labels.role != "reader" or request.labels.unit in bad:
            return None
        bad.add(request.labels.unit)
        return FAULTS[name]()

    model = Model(invalid)
    run(load(units=2), tmp_path / "study", model)
    rows = query(
        tmp_path / "study",
        "SELECT r.unit, c.attempts, c.reply FROM calls c JOIN runs r USING (run) "
        "WHERE role='reader' AND attempts=0",
    )
    assert all("half" not in reply for _, _, reply in rows)
    assert model.asked["u0", "reader"] >= 2
    later = Model()
    tally = run(load(units=2), tmp_path / "study", later, retry_failed=True)
    assert tally.failed == 0


def test_a_stored_call_of_another_content_is_not_taken(load: Load, tmp_path: Path) -> None:
    """The parts of an identity are verified: a record that was tampered with stops the study."""
    study = tmp_path / "study"
    changes = {"  bound: {base: team.yaml, set: {links.oversight.cap: 1}}\n": ""}
    run(load(units=1, changes=changes), study, Model())
    store = Store(study)
    store._connection.execute("UPDATE calls SET model='another' WHERE role='reader'")
    store.close()
    with pytest.raises(Exception, match="the stored call of this identity differs"):
        run(load(units=1), study, Model())


async def test_who_waits_is_reported(tmp_path: Path) -> None:
    """Of many that ask alike one makes the call; where it has none to share, the next does."""
    store = Store(tmp_path)
    sharing = StudySharing(store)
    assert await sharing.claim("id", dict, cacheable=False) is None
    waiting = [asyncio.create_task(sharing.claim("id", dict, cacheable=False)) for _ in range(3)]
    await asyncio.sleep(0)
    sharing.publish("id", None, cacheable=False)
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [None]
    call = CallEntry(position="", text="said")
    sharing.publish("id", call, cacheable=False)
    assert [await task for task in pending] == [call] * 2
    store.close()


# --- the stored cases --------------------------------------------------------------------------

MAY_SHARE: dict[str, tuple[str, str]] = {
    "model name differs": ("one: {provider: scripted,", "one: {provider: scripted, model: m2,"),
    "system prompt differs by one blank": ("You read.", "You  read."),
    "temperature 0 against 0.0": ("temperature: 0}", "temperature: 0.0}"),
    "temperature 0 against not set": ("params: {temperature: 0}, ", ""),
    "max_tokens differs": ("temperature: 0}", "temperature: 0, max_output_tokens: 9}"),
    "seed differs": ("temperature: 0}", "temperature: 0, seed: 9}"),
    "order of keys in a JSON body differs": (
        "params: {temperature: 0, top_p: 1}",
        "params: {top_p: 1, temperature: 0}",
    ),
    "request timeout differs": ("file:", "timeout_seconds: 9, file:"),
    "api key differs": ("file:", "api_key_env: OTHER_KEY, file:"),
    "max_parallel differs": ("file:", "max_concurrency: 1, file:"),
}


def test_case_84_what_may_share_a_reply(load: Load, tmp_path: Path) -> None:
    """Arms that differ in one row of the table share the first call exactly where it says yes."""
    table = (case_folder("84-cache-key-parts") / "pairs.csv").read_text(encoding="utf-8")
    expected = {row[0]: row[1].startswith("yes") for row in csv.reader(table.splitlines()[1:])}
    alone = TEAM.replace("{pool: all}", "one").replace(
        "pools: {all: {members: [one, two, three]}}\n", ""
    )
    base = alone.replace(
        "one: {provider: scripted,", "one: {provider: scripted, params: {temperature: 0}, "
    )
    changes = {
        "bound: {base: team.yaml, set: {links.oversight.cap: 1}}": "bound: other.yaml",
        "[links.oversight.cap]": "[models, roles]",
    }
    for number, (difference, (old, new)) in enumerate(MAY_SHARE.items()):
        more = "temperature: 0, top_p: 1}" if "top_p" in old else "temperature: 0}"
        first = base.replace("temperature: 0}", more)
        second = first.replace(old, new, 1)
        assert first != second, difference
        (tmp_path / "other.yaml").write_text(second, encoding="utf-8")
        model = Model()
        run(load(units=1, team=first, changes=changes), tmp_path / f"case-{number}", model)
        shared = model.asked["u0", "reader"] == 1
        assert shared == expected[difference], difference


@pytest.mark.parametrize("share", [True, False])
def test_case_85_repeats(load: Load, tmp_path: Path, share: bool) -> None:
    """Each repeat has its own reply, kept in its place; more repeats ask for what is new alone."""
    case = case_folder("85-cache-repeats")
    sweep = json.loads((case / "sweep.json").read_text(encoding="utf-8"))
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    team = TEAM.replace(
        "  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}\n", ""
    )
    team = team.replace("  editor: {model: {pool: all}, system: You judge.}\n", "")
    team = team.replace("  - {from: reader, to: writer, kind: forward}\n", "").replace(
        "links:\n", ""
    )
    team = team.replace("  reader: {model: {pool: all}, system: You read.}\n", "")
    changes = {
        "  bound: {base: team.yaml, set: {links.oversight.cap: 1}}\n": "",
        "[links.oversight.cap]": "[]",
    }

    def calls(repeats: int) -> int:
        more = {**changes, "seed: 5": f"seed: 5\nreplicates: {repeats}"}
        model = Model()
        run(load(share, units=sweep["items"], changes=more, team=team), tmp_path / "study", model)
        return len(model.requests)

    def replies() -> list[tuple[Any, ...]]:
        return query(
            tmp_path / "study",
            "SELECT r.unit, r.replicate, c.reply FROM calls c JOIN runs r USING (run) ORDER BY 1, 2",
        )

    assert calls(sweep["repeats"]) == expected["first"]
    first = replies()
    assert len({reply for *_, reply in first}) == expected["first"]
    assert calls(sweep["repeats"]) == expected["second"]
    assert replies() == first
    assert calls(7) == expected["repeats_7"]
    assert set(first) < set(replies())


def test_a_batch_of_one_arm_keeps_the_order_of_its_file(load: Load) -> None:
    """Outside experiments nothing is shuffled."""
    experiment = load(units=5)
    batch = Batch(arms=experiment.batch().arms[:1], units=experiment.units)
    assert [planned.unit.index for planned in batch.planned()] == [0, 1, 2, 3, 4]
