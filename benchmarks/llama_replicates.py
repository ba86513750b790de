"""Twenty replicates of a team on the real local model, and plain llama-cpp-python on the same calls.

    python benchmarks/llama_replicates.py [--replicates 20] [--threads 1]

Runs study 1's `skeptic-checked` on the films, shortened to about five calls a run, with SmolLM2 in this process.
After each call that the team makes, plain llama-cpp-python answers the same messages, with the same
schema, parameters, seed and length, in the same run; it reuses what it read of the prompt before, as it
comes. Prints the tokens a
second of both by the clock and by processor time, and their ratio: the aim is 0.9 or more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import load_team, open_study, units_of
from orglab.providers.base import Completion, Provider, Request
from orglab.providers.llama.grammar import schema_grammar
from orglab.providers.llama.provider import LlamaProvider
from orglab.providers.structured_output.tool_call_emulation import with_actions

STUDY = Path(__file__).parents[1] / "specs/insight-review"
SHORTER: Mapping[str, Any] = {
    "roles.explorer.limits.tool_calls": 1,
    "links.columns.cap": 0,
    "links.review.cap": 1,
}
WINDOW = 4096


class Beside(Provider):
    """Asks the llama provider, and plain llama-cpp-python the same."""

    free = True
    default_concurrency = 1

    def __init__(self, threads: int) -> None:
        import llama_cpp

        options = {"n_ctx": WINDOW, "n_threads": threads}
        self.ours = LlamaProvider.from_spec("smollm2", options)
        path = self.ours._settings.path  # noqa: SLF001 - the very same weights
        self.llama = llama_cpp.Llama(
            str(path), n_ctx=WINDOW, n_threads=threads, n_threads_batch=threads, verbose=False
        )
        self.sums = {"orglab": [0.0, 0.0, 0.0], "plain": [0.0, 0.0, 0.0]}
        self.calls = 0

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, Any]) -> Beside:
        raise NotImplementedError

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        completion = await self._ours(request)
        await asyncio.to_thread(self._plain, request, completion.usage.output)
        return completion

    async def _ours(self, request: Request) -> Completion:
        begun = time.perf_counter(), time.process_time()
        completion = await self.ours.complete(request)
        self._add("orglab", completion.usage.output, begun)
        return completion

    def _plain(self, request: Request, tokens: int) -> None:
        """The same call as a user of llama-cpp-python writes it, ended at the same length."""
        from llama_cpp import LlamaGrammar

        begun = time.perf_counter(), time.process_time()
        asked = with_actions(request)
        grammar = None
        if asked.schema is not None:
            grammar = LlamaGrammar.from_json_schema(_unbounded(asked.schema), verbose=False)
        reply: Any = self.llama.create_chat_completion(
            messages=[{"role": m.role, "content": m.content} for m in asked.messages],  # type: ignore[misc, list-item]
            max_tokens=tokens,
            temperature=request.params.get("temperature", 0.8),
            top_p=request.params.get("top_p", 0.95),
            repeat_penalty=1.0,
            seed=request.seed,
            grammar=grammar,
        )
        self._add("plain", reply["usage"]["completion_tokens"], begun)

    def _add(self, side: str, tokens: int, begun: tuple[float, float]) -> None:
        entry = self.sums[side]
        entry[0] += tokens
        entry[1] += time.perf_counter() - begun[0]
        entry[2] += time.process_time() - begun[1]


def _unbounded(schema: Any) -> str:
    """Return the bounded schema without lengths of texts: llama-cpp-python's process ends on long ones."""
    text = json.dumps(schema_grammar(schema).schema)
    bounds = ("maxLength", "minLength")
    return json.dumps(
        json.loads(
            text, object_hook=lambda part: {k: v for k, v in part.items() if k not in bounds}
        )
    )


async def measure(replicates: int, threads: int, folder: Path) -> tuple[Beside, str]:
    """Runs the team; the model, and how its runs ended."""
    team = load_team(
        STUDY / "skeptic-checked.yaml",
        overrides=SHORTER,
        models=STUDY.parent / "models/local.yaml",
    )
    inputs = [f"table={STUDY / 'data/films.csv'}", "question=Which columns move together?"]
    units = units_of(team, inputs=inputs)
    model = Beside(threads)
    batch = Batch(
        arms=[Arm.alone(team)],
        units=units,
        replicates=replicates,
        seed=7,
        at_once=1,
        providers={"*": model},
    )
    store = open_study(folder, team)
    try:
        tally = await run_batch(batch, store)
    finally:
        store.close()
    ended = f"{tally.completed} completed, {tally.stopped} stopped, {tally.failed} failed"
    return model, ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        model, ended = asyncio.run(measure(args.replicates, args.threads, Path(folder)))
        minutes = (time.perf_counter() - begun) / 60
    print(
        f"{args.replicates} replicates in {minutes:.1f} min (both sides), {model.calls} calls: {ended}"
    )
    print(f"{'side':8} {'tokens':>8} {'seconds':>9} {'tokens/s':>9} {'cpu s':>9}")
    for side, (tokens, seconds, cpu) in model.sums.items():
        print(f"{side:8} {tokens:8.0f} {seconds:9.1f} {tokens / seconds:9.1f} {cpu:9.1f}")
    (ours, wall, cpu), (theirs, plain_wall, plain_cpu) = model.sums.values()
    print(f"ratio by the clock {ours / wall / (theirs / plain_wall):.2f}")
    print(f"ratio by processor time {ours / cpu / (theirs / plain_cpu):.2f}")


if __name__ == "__main__":
    main()
