"""Tokens a second through the llama provider against plain llama-cpp-python, same calls, same run.

    python benchmarks/llama_throughput.py [--calls 6] [--tokens 96] [--threads 1]

Both sides answer the same conversations (one system text, drafts that differ), half in free text,
half held to the verdict's schema (ours by llguidance, theirs by llama-cpp-python's own grammar),
with the same seeds, sampling parameters, window and threads. The calls take turns, so that a busy machine slows both. The plain side is
`create_chat_completion` as it comes, which reuses what it has just read of a prompt.
Prints a table with seconds by the clock and of the processor (which other programs don't stretch),
and the ratio of each. The aim is 0.9 or more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

from orglab.providers.base import Message, Request
from orglab.providers.llama.grammar import schema_grammar
from orglab.providers.llama.provider import LlamaProvider

SYSTEM = (
    "You are the skeptic of a small team that reads tables. You review the insight of a colleague: "
    "is each figure in the table, is the comparison fair, could chance explain it? "
    "Say what is wrong in one or two sentences, or that nothing is. " * 2
)
DRAFTS = [
    "Films became longer: the mean running time rose from 92 to 121 minutes between 1950 and 2010.",
    "Deeper earthquakes are weaker: depth and magnitude correlate at -0.41 over all regions.",
    "Comedies are rated lower than dramas, 6.1 against 6.8, but there are four times as many.",
    "A third of all earthquakes happened within 50 kilometres of a coast.",
]
TASKS = ["Write a paragraph of six sentences about this finding:", "Judge this draft:"]
VERDICT = {
    "type": "object",
    "properties": {
        "action": {"enum": ["approve", "comment", "revise"]},
        "reason": {"type": "string"},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}
WINDOW = 2048


def requests(calls: int, tokens: int) -> list[Request]:
    """Free text and verdicts in turn."""
    return [
        Request(
            model="smollm2",
            messages=(
                Message(role="system", content=SYSTEM),
                Message(role="user", content=f"{TASKS[i % 2]} {DRAFTS[i % len(DRAFTS)]}"),
            ),
            schema=VERDICT if i % 2 else None,
            params={"max_output_tokens": tokens, "temperature": 0.8, "top_p": 0.95},
            seed=i + 1,
        )
        for i in range(calls)
    ]


def plain(llama: Any, request: Request) -> int:
    """The call as a user of llama-cpp-python writes it; tokens of the reply."""
    from llama_cpp import LlamaGrammar

    grammar = None
    if request.schema is not None:
        grammar = LlamaGrammar.from_json_schema(
            json.dumps(schema_grammar(request.schema).schema), verbose=False
        )
    reply = llama.create_chat_completion(
        messages=[{"role": m.role, "content": m.content} for m in request.messages],
        max_tokens=request.params["max_output_tokens"],
        temperature=0.8,
        top_p=0.95,
        repeat_penalty=1.0,
        seed=request.seed,
        grammar=grammar,
    )
    return int(reply["usage"]["completion_tokens"])


async def measure(calls: int, tokens: int, threads: int) -> dict[tuple[str, str], list[float]]:
    """Tokens and seconds by side and kind."""
    import llama_cpp

    provider = LlamaProvider.from_spec("smollm2", {"n_ctx": WINDOW, "n_threads": threads})
    path = provider._settings.path  # noqa: SLF001 (the very same weights)
    llama = llama_cpp.Llama(
        str(path), n_ctx=WINDOW, n_threads=threads, n_threads_batch=threads, verbose=False
    )
    warm = requests(1, 2)[0]
    await provider.complete(warm)
    plain(llama, warm)
    sums: dict[tuple[str, str], list[float]] = {}

    def add(side: str, request: Request, written: int, begun: tuple[float, float]) -> None:
        kind = "free text" if request.schema is None else "verdict"
        entry = sums.setdefault((side, kind), [0.0, 0.0, 0.0])
        entry[0] += written
        entry[1] += time.perf_counter() - begun[0]
        entry[2] += time.process_time() - begun[1]

    for i, request in enumerate(requests(calls, tokens)):
        for side in ("orglab", "plain") if i % 4 < 2 else ("plain", "orglab"):
            begun = time.perf_counter(), time.process_time()
            if side == "plain":
                written = plain(llama, request)
            else:
                written = (await provider.complete(request)).usage.output
            add(side, request, written, begun)
    await provider.aclose()
    llama.close()
    return sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    sums = asyncio.run(measure(args.calls, args.tokens, args.threads))
    print(f"{'side':8} {'kind':10} {'tokens':>7} {'seconds':>8} {'tokens/s':>9} {'cpu s':>8}")
    totals = {"orglab": [0.0, 0.0, 0.0], "plain": [0.0, 0.0, 0.0]}
    for (side, kind), entry in sorted(sums.items()):
        tokens, seconds, cpu = entry
        print(f"{side:8} {kind:10} {tokens:7.0f} {seconds:8.2f} {tokens / seconds:9.1f} {cpu:8.2f}")
        totals[side] = [a + b for a, b in zip(totals[side], entry, strict=True)]
    (ours, wall, cpu), (theirs, plain_wall, plain_cpu) = totals["orglab"], totals["plain"]
    print(f"orglab {ours / wall:.1f}, plain {theirs / plain_wall:.1f} tokens/s")
    print(f"ratio by the clock {ours / wall / (theirs / plain_wall):.2f}")
    print(f"ratio by processor time {ours / cpu / (theirs / plain_cpu):.2f}")


if __name__ == "__main__":
    main()
