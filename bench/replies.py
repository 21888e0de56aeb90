"""Tokens a second of a policy whose tool is slow: in rounds, where each turn waits for the slowest reply of all, and
free, where a slow reply holds its own play alone.

    python -m bench.replies                    # 64 plays of up to 8 calls, delays log-normal with a mean of 0.2 s
    python -m bench.replies --pairs 5 --plays 128

The two schedules run one after the other, in turns; the answers are compared token by token.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.ask import Sampling, first_requests
from assay.collect import AtEnd, Collector, Worth
from assay.collect.hosts import Hosting, Schedule, hosting
from assay.memory import Memory
from assay.models import Models
from assay.policy import PolicyConfig, character_tokenizer, fresh_policy
from assay.rng import Key
from assay.tasks import TASKS
from assay.types import Episode, Origin
from bench.machine import describe
from bench.slow_tool import SLOW

LETTERS, TURNS = "abc[]", 8


def collected(engine: Any, codec: Any, schedule: Schedule, plays: int, seed: int) -> tuple[float, list[Episode]]:
    """Seconds, and the answers."""
    problem, memory = SLOW.problem(Key(0), level=1), Memory(seed)
    settings = Sampling(max_new=12 * TURNS)
    asked = first_requests([problem], memory, first=0, samples=plays, sampling=settings, codec=codec)
    collector = Collector(AtEnd(lambda episodes: []), lambda role: Worth(False, ()), (), lambda *_: [], codec)
    models = Models({"policy": engine}, {"policy": "policy"})
    how = Hosting(schedule)
    with hosting(how):
        collector.finish(models, asked[: how.count], memory, None)  # starts the processes
        begun = time.perf_counter()
        answers = collector.finish(models, asked, memory, None)
        return time.perf_counter() - begun, answers


def written(answers: Sequence[Episode]) -> int:
    return sum(int(np.count_nonzero(answer.stream("origin") == Origin.POLICY)) for answer in answers)


def main() -> None:
    """Measures pairs, and prints each ratio, their median and their spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--plays", type=int, default=64)
    asked = parser.parse_args()
    from assay.engine.choose import engine_for

    TASKS["slow"] = SLOW
    codec = character_tokenizer(LETTERS)
    shape = PolicyConfig("qwen2", codec.vocab, 64, 2, 2, 2, 32, 128, 256, attention_bias=True)
    policy = fresh_policy(shape, codec, key=Key(0))
    made = engine_for("auto", "cpu", "auto").engine
    engine = made(policy.network, end_ids=frozenset(), decode=codec.decode, optimiser=None)
    pairs = []
    for seed in range(asked.pairs):
        (slow, one), (fast, other) = (collected(engine, codec, how, asked.plays, seed) for how in ("rounds", "free"))
        same = [a.stream("ids").tolist() for a in one] == [a.stream("ids").tolist() for a in other]
        calls = sum(sum(int(s.origin[0] == Origin.ENV) for s in a.segments if len(s)) for a in one)
        pairs.append({"rounds_s": slow, "free_s": fast, "ratio": slow / fast, "tokens": written(one), "calls": calls})
        pairs[-1]["same"] = same
        print(json.dumps(pairs[-1]), flush=True)
    ratios = sorted(pair["ratio"] for pair in pairs)
    print(json.dumps({"median": float(np.median(ratios)), "least": ratios[0], "most": ratios[-1], **describe()}))


if __name__ == "__main__":
    main()
