"""What asking ahead wins: seconds of a step over servers whose answers take as long as training does.

    python -m bench.ahead [--rounds 5] [--steps 12] [--seconds 0.6] [--json]

A small model, servers of our own engine behind HTTP, and a learner; each waits so many seconds more in every step, as a
large model would compute. Arms in turn, each round in another order: `now` (answers of the weights of now, one
server), a lag of 1 on one server, and a lag of 2 on two servers of which each takes twice as long. The first step of an
arm, which nothing overlaps, is not counted. Ratios are of medians, with the smallest and largest of single rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from assay.assemble import assemble
from assay.collect import Ahead, AtEnd
from assay.engine.choose import engine_of
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW
from assay.engine.paired import Paired
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.server import facts_of
from assay.engine.remote.servers.http_server import Server
from assay.engine.remote.servers.own import AssaySite
from assay.engine.remote.servers.served_engine import ServedEngine
from assay.engine.remote.transport.secret import fresh_secret
from assay.engine.remote.transport.site import Expected
from assay.engine.remote.weights.publish import Published
from assay.engine.remote.weights.send import Files
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.models import Models
from assay.policy import Policy, PolicyConfig, character_tokenizer, fresh_policy
from assay.policy.adapted import twin
from assay.recipe import Recipe
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import ALPHABET
from assay.types import Episode, Verdict

SECRET = fresh_secret()
ARMS = {"now": (0, 1), "lag 1": (1, 1), "lag 2, two pools": (2, 2)}  # arm -> lag, servers


class Clock:
    """A recorder that only reads the clock."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def started(self, memory: Memory, models: Models) -> None:
        """Nothing is measured before the first step."""

    def phase(self, name: str) -> None:
        """Steps alone are measured."""

    def step(self, *of_step: Any, **more: Any) -> None:
        self.ends.append(time.perf_counter())


def half_right(episodes: Sequence[Episode]) -> list[Verdict]:
    """Every other answer of a group, so that each step has something to learn."""
    return [Verdict.ok(one.text) if one.request.sample % 2 else Verdict.fail("wrong", one.text) for one in episodes]


def model() -> Policy:
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 96, attention_bias=True)
    return fresh_policy(shape, tokenizer, key=Key("ahead"))


def engine(policy: Policy, *, learns: bool) -> LocalEngine:
    kind = engine_of(policy.network, "auto", "cpu", "fp32").engine
    about = {"end_ids": policy.end_ids, "decode": policy.codec.decode, "vocab": policy.codec.vocab}
    return kind(twin(policy.network), optimiser=AdamW() if learns else None, precision="fp32", **about)


@contextlib.contextmanager
def serving(policy: Policy, seconds: float) -> Iterator[str]:
    """A server whose every call takes so many seconds more: its address."""
    slow = engine(policy, learns=False)
    plain = slow.generate

    def generate(*given: Any, **more: Any) -> Any:
        time.sleep(seconds)
        return plain(*given, **more)

    slow.generate = generate  # type: ignore[method-assign]
    served = ServedEngine(slow)
    server = Server(served, facts_of(slow, model="small", digest="0"), secret=SECRET)
    served.start()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.address
    finally:
        server.shutdown()
        served.stop()
        server.server_close()


def recipe_of(lag: int, steps: int) -> Recipe:
    plain = RECIPES["dr-grpo"]
    collect = (Ahead(lag=lag),) if lag else ()
    scale = dataclasses.replace(
        plain.scale, num_prompts=4, group_size=4, max_new=8, num_steps=steps, num_minibatches=1, warmup_steps=0
    )
    return dataclasses.replace(plain, mechanism=dataclasses.replace(plain.mechanism, collect=collect), scale=scale)


def seconds_a_step(lag: int, pools: int, steps: int, seconds: float) -> float:
    """The mean over all steps but the first."""
    policy, recipe, clock = model(), recipe_of(lag, steps), Clock()
    learner = engine(policy, learns=True)
    plain = learner.step

    def step(**how: Any) -> Any:
        time.sleep(seconds)
        return plain(**how)

    learner.step = step  # type: ignore[method-assign]
    expected = Expected(
        vocab=learner.vocab, context=learner.context, end_ids=learner.end_ids, decode=policy.codec.decode
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        samplers = []
        for place in range(pools):
            address = stack.enter_context(serving(policy, seconds * pools))
            remote = stack.enter_context(RemoteSampler([AssaySite(address, SECRET)], expected, run="bench"))
            samplers.append(Published(remote, learner, Files(folder / str(place)), tolerance=1e-3))
        about = {"context": learner.context, "vocab": learner.vocab, "end_ids": learner.end_ids}
        models = Models({"policy": Paired(learner, lambda: samplers, **about)}, recipe.roles, recipe.models)
        pool = Pool((Share("countdown", (3,)),))
        stages = assemble(recipe, pool=pool, codec=policy.codec, micro_tokens=4096, verdicts=AtEnd(half_right))
        train(stages, models, Memory(0), clock)
    return (clock.ends[-1] - clock.ends[0]) / (len(clock.ends) - 1)


def ratio(above: list[float], below: list[float]) -> list[float]:
    """[the ratio of the medians, the smallest, the largest of single rounds]"""
    single = [a / b for a, b in zip(above, below, strict=True)]
    return [statistics.median(above) / statistics.median(below), min(single), max(single)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="default 5")
    parser.add_argument("--steps", type=int, default=12, help="of an arm in a round; default 12")
    parser.add_argument("--seconds", type=float, default=0.6, help="that answers and training each take; default 0.6")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for turn in range(options.rounds):
        for arm in random.Random(turn).sample(list(ARMS), len(ARMS)):
            found[arm].append(seconds_a_step(*ARMS[arm], options.steps, options.seconds))
    table = {arm: ratio(found["now"], found[arm]) for arm in ARMS if arm != "now"}
    if options.json:
        seconds = {arm: statistics.median(values) for arm, values in found.items()}
        sys.stdout.write(json.dumps({"injected": options.seconds, "seconds": seconds, "won": table}) + "\n")
        return
    for arm, (middle, low, high) in table.items():
        sys.stdout.write(f"now / {arm}: {middle:.2f} ({low:.2f} to {high:.2f})\n")


if __name__ == "__main__":
    main()
