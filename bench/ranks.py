"""A learner over ranks beside one process: what two ranks win over one, and what a wave costs beside a chunk.

    python -m bench.ranks [S3 60M] [--rounds 5] [--tokens 8192] [--micro 2048] [--json]

Four arms in turn, each round in another order, with one thread each: the torch engine in this process, one rank, two
ranks, and two ranks that know nothing of each other, each with half of the rows. A round of an arm is one optimiser
step on the same rows. Ratios are of medians, with the smallest and the largest ratio of single rounds:

- `speedup`, one rank / two ranks; `wave`, one rank / this process: the cost of a wave beside a chunk;
- `ceiling`, one rank / two ranks apart: what two cores of this machine give two processes that share memory, caches and
  the driver, and exchange nothing;
- `exchange`, two ranks / two ranks apart: what gathering weights and summing gradients costs.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from assay.engine.interface import Want
from assay.engine.sharded.engine import ShardedLearner
from assay.engine.sharded.ranks import RankLayout, Ranks
from assay.engine.torch.engine import TorchEngine
from assay.policy.adapted import twin
from assay.policy.transformer import Transformer
from assay.streams import Names
from assay.types import Batch
from bench.micro_engine import SHAPES, config_of

LENGTHS = (40, 200)  # tokens of an answer, drawn evenly
PROMPT, GROUP = 64, 8


def batch_of(tokens: int, vocab: int) -> Batch:
    """Rows of groups with one prompt each, of so many answer tokens in all."""
    drawn = np.random.default_rng(0)
    lengths: list[int] = []
    while sum(lengths) < tokens or len(lengths) % GROUP:
        lengths.append(int(drawn.integers(*LENGTHS)))
    prompts = [drawn.integers(1, vocab, PROMPT).astype(np.int32) for _ in range(len(lengths) // GROUP)]
    total, rows = sum(lengths), len(lengths)
    names = Names.of(map(str, range(rows)))
    return Batch(
        context=np.concatenate([prompts[i // GROUP] for i in range(rows)]),
        context_at=np.arange(rows + 1) * PROMPT,
        ids=drawn.integers(1, vocab, total).astype(np.int32),
        at=np.cumsum([0, *lengths]),
        mask=np.ones(total, bool),
        counted=np.ones(total, bool),
        counted_rows=np.ones(rows, bool),
        advantage=drawn.normal(size=total).astype(np.float32),
        origin=np.zeros(total, np.int8),
        temperature=np.ones(rows, np.float32),
        problem=names,
        request=names,
        group=Names.of(str(i // GROUP) for i in range(rows)),
    )


def step(learner: Any, batch: Batch, micro: int) -> float:
    """Seconds of an optimiser step."""
    began = time.perf_counter()
    for chunk in learner.chunks(batch, tokens=micro):
        out = learner.forward(chunk, Want())
        (chunk.streams["advantage"] * out.logp).sum().backward()
        learner.backward(chunk, out)
    learner.step(lr=1e-5, clip=1.0)
    return time.perf_counter() - began


def measured(name: str, rounds: int, tokens: int, micro: int) -> dict[str, list[float]]:
    """Arm -> the seconds of its rounds; the first round of each arm is not counted."""
    config = config_of(SHAPES[name])
    model = Transformer(config).initialise(torch.Generator().manual_seed(0))
    batch, half = batch_of(tokens, config.vocab), batch_of(tokens // 2, config.vocab)
    with (
        Ranks(RankLayout(1)) as one,
        Ranks(RankLayout(2)) as two,
        Ranks(RankLayout(1)) as left,
        Ranks(RankLayout(1)) as right,
        ThreadPoolExecutor(2) as threads,
    ):
        engine = TorchEngine(twin(model), end_ids=frozenset(), precision="fp32")
        sharded = {group: ShardedLearner(group, "policy", model, precision="fp32") for group in (one, two, left, right)}

        def apart() -> float:
            began = time.perf_counter()
            list(threads.map(lambda group: step(sharded[group], half, micro), (left, right)))
            return time.perf_counter() - began

        arms: dict[str, Callable[[], float]] = {
            "process": lambda: step(engine, batch, micro),
            "one": lambda: step(sharded[one], batch, micro),
            "two": lambda: step(sharded[two], batch, micro),
            "apart": apart,
        }
        found: dict[str, list[float]] = {arm: [] for arm in arms}
        for turn in range(rounds + 1):
            for arm in random.Random(turn).sample(list(arms), len(arms)):
                seconds = arms[arm]()
                if turn:
                    found[arm].append(seconds)
    return found


def ratio(above: list[float], below: list[float]) -> list[float]:
    """[the ratio of the medians, the smallest, the largest of single rounds]"""
    single = [a / b for a, b in zip(above, below, strict=True)]
    return [statistics.median(above) / statistics.median(below), min(single), max(single)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["S3", "60M"], choices=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=8192, help="answer tokens of a step; default 8192")
    parser.add_argument("--micro", type=int, default=2048, help="input tokens of a chunk; default 2048")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.names:
        found = measured(name, options.rounds, options.tokens, options.micro)
        table = {"speedup": ratio(found["one"], found["two"]), "wave": ratio(found["one"], found["process"])}
        table |= {"beside process": ratio(found["process"], found["two"])}
        table |= {"ceiling": ratio(found["one"], found["apart"]), "exchange": ratio(found["two"], found["apart"])}
        if options.json:
            seconds = {arm: statistics.median(values) for arm, values in found.items()}
            sys.stdout.write(json.dumps({"shape": name, "seconds": seconds, **table}) + "\n")
        else:
            told = [f"{key} {mid:.2f} ({low:.2f} to {high:.2f})" for key, (mid, low, high) in table.items()]
            sys.stdout.write(f"{name}  {'  '.join(told)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
