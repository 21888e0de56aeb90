"""The placement of learners and servers: memory of a rank, seconds of each phase, waiting, and the next best one."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from assay.engine.footprint import LOGITS, TAPE_BYTES, row_bytes, tape_bytes
from assay.errors import ConfigError
from assay.planner.machines import CONSTANTS, NODE, Constant, Gpu
from assay.planner.shards import most, numbers, units
from assay.planner.simulate import Loop, Simulated, simulate
from assay.policy.config import PolicyConfig, parameters

WIDE, HALF = 4, 2  # bytes of a master weight, and of a number to compute with
BUCKET = 256 << 20  # bytes of weights that are whole at a time while they are published
LAGS = (0, 1, 2, 4)
MOST_LAG = max(LAGS)
Way = Literal["files", "gloo", "nccl"]
WAYS: tuple[Way, ...] = get_args(Way)
SUMS = 2  # over the GPUs of a server in each layer: behind attention and behind the feed-forward (1909.08053)
HOPELESS = 1.15  # times the fastest step: a placement that takes longer even without any waiting is left out
MOST = 4096  # GPUs that a plan looks at
TENSOR = (1, 2, 4, 8)  # GPUs over which one server spreads its weights
STEPS, WARM = 16, 6  # that are simulated, and not counted
WORTH = 0.03  # a gain below this share of a step is none


@dataclass(frozen=True)
class Work:
    """The work of a step, and the parameter sets that are kept beside the policy.

    Example:
        Work(prompts=128, group=16, prompt=512, limit=8192, answer=2000.0)
    """

    prompts: int
    group: int
    prompt: int  # tokens of a prompt
    limit: int  # the most tokens of an answer
    answer: float  # tokens of an answer in the mean
    passes: int = 1  # how often a step learns from each answer
    updates: int = 1  # optimiser steps of a step
    scored: int = 0  # further forward passes over all answers: old and reference log-probs
    trained: int = 1  # parameter sets with an optimiser
    frozen: int = 0
    optimiser_bits: int = 32
    micro_tokens: int = 16384  # tokens that a rank computes together
    publish: Way = "files"  # how servers get weights
    replies: float = 0.0  # tokens of a world's replies within an answer in the mean, beside `answer`
    most_replies: int = 0  # the most of them, beside `limit`
    seats: int = 1  # answers that are learnt from one play of a world

    @property
    def answers(self) -> int:
        return self.prompts * self.group * self.seats

    @property
    def read(self) -> float:
        """Tokens of an answer with its prompt and its replies, in the mean."""
        return self.prompt + self.answer + self.replies

    @property
    def longest(self) -> int:
        """The most tokens of an answer with its prompt and its replies."""
        return self.prompt + self.limit + self.most_replies

    @property
    def tokens(self) -> float:
        """Tokens that a step trains on; a prompt counts once for each of its answers."""
        return self.answers * self.read


@dataclass(frozen=True)
class Placement:
    """Learners and servers on GPUs.

    Example:
        Placement(learners=8, servers=8, tensor=1, lag=1)
    """

    learners: int
    servers: int
    tensor: int
    lag: int

    @property
    def gpus(self) -> int:
        return self.learners + self.servers * self.tensor

    def __str__(self) -> str:
        over = f" of {self.tensor} GPUs" if self.tensor > 1 else ""
        return f"{self.learners} learners, {self.servers} servers{over}, lag {self.lag}"


@dataclass(frozen=True)
class Estimate:
    """The memory that a placement needs, and the seconds that its steps take."""

    placement: Placement
    learner: dict[str, float]  # bytes of a learner's rank, by purpose
    server: dict[str, float]  # bytes of a server's GPU
    rows: int  # answers that a server writes at a time
    seconds: dict[str, float]  # of a step, by phase, each as if it were alone
    loop: Simulated

    @property
    def step(self) -> float:
        return self.loop.seconds


@dataclass(frozen=True)
class Situation:
    """A model, its work and the GPUs, from which placements are weighed.

    Example:
        estimates(Situation(shape("Qwen/Qwen3-8B"), work, gpu("h100"), 16))[0]
    """

    model: PolicyConfig
    work: Work
    gpu: Gpu
    gpus: int
    constants: dict[str, Constant] = dataclasses.field(default_factory=lambda: dict(CONSTANTS))

    def value(self, name: str) -> float:
        return self.constants[name].value

    @property
    def room(self) -> float:
        """Bytes of a GPU that may be used."""
        return self.gpu.memory * (1 - self.value("kept"))


# Memory


def learner_memory(s: Situation, learners: int) -> dict[str, float]:
    """Bytes of the fullest rank. Gathered units and their gradients are in the format of computing."""
    c, w = s.model, s.work
    share = most(c, learners)
    moment = {32: 4.0, 8: 1.0 + 4 / 256}[w.optimiser_bits]
    sets = w.trained + w.frozen
    tape = tape_bytes(c, w.micro_tokens, HALF)
    kept = c.layers * w.micro_tokens * c.hidden * HALF + tape / c.layers if tape > TAPE_BYTES else tape
    return {
        "weights": float(WIDE * share * sets),
        "gradients": float(WIDE * share * w.trained),
        "moments": 2 * moment * share * w.trained,
        "whole layers": float(whole_units(c) if learners > 1 else HALF * parameters(c)),
        "activations": float(kept),
        "output layer": float(4 * WIDE * min(LOGITS, w.micro_tokens * c.vocab)),
        "publishing": float(BUCKET),
        "libraries": s.value("reserve"),
    }


def whole_units(c: PolicyConfig) -> int:
    """Bytes of the numbers that are whole at a time in a backward pass. The gradient of a unit is copied to fp32, to be
    summed over the ranks, while the unit and its gradient are there. Meanwhile the next layer is gathered, and the root
    stays whole from the forward pass to its own turn, which is the last.
    """
    *layers, root = units(c)
    layer = max(map(numbers, layers))
    summed = 2 * HALF + WIDE
    return max(HALF * numbers(root) + (HALF + summed) * layer, summed * numbers(root))


def server_memory(s: Situation, tensor: int) -> tuple[dict[str, float], int]:
    """Bytes of each GPU of a server, and the number of answers of mean length that fit; 0 if not even the longest
    answer fits.
    """
    fixed = {
        "weights": HALF * parameters(s.model) / tensor,
        "publishing": float(BUCKET),
        "libraries": s.value("reserve"),
    }
    left = s.room - sum(fixed.values())
    each = row_bytes(s.model, round(s.work.read), HALF) / tensor
    longest = row_bytes(s.model, s.work.longest, HALF) / tensor
    rows = int(left // each) if left >= longest else 0
    rows = min(rows, int(s.value("slots")) * tensor)
    return {**fixed, "keys and values": rows * each}, rows


# Seconds


def forward_flops(s: Situation) -> float:
    """Of one pass over a step's tokens: two for each weight and token, and attention over the tokens before."""
    c, w = s.model, s.work
    length = w.read
    attention = 2 * 2 * c.layers * c.heads * c.head_dim * w.answers * length * length / 2
    return 2 * parameters(c) * w.tokens + attention


def train_seconds(s: Situation, learners: int) -> float:
    """Forward and backward passes; beyond one layer's tape everything is computed twice. Waves gather all weights
    twice, and scatter their gradients once: whichever takes longer decides.
    """
    c, w = s.model, s.work
    again = tape_bytes(c, w.micro_tokens, HALF) > TAPE_BYTES
    flops = forward_flops(s) * (4 if again else 3) * w.passes * w.trained
    compute = flops / (learners * s.gpu.flops * s.value("train_share"))
    if learners == 1:
        return compute
    waves = math.ceil(w.tokens * w.passes / (learners * w.micro_tokens))
    moved = waves * (2 * HALF + WIDE) * parameters(c) * w.trained * (learners - 1) / learners
    return max(compute, moved / link(s, learners))


def link(s: Situation, ranks: int) -> float:
    """Bytes a second between ranks: inside a node while they fit into one."""
    return s.gpu.link if ranks <= NODE else min(s.gpu.link, s.value("network"))


def score_seconds(s: Situation, learners: int) -> float:
    return s.work.scored * forward_flops(s) / (learners * s.gpu.flops * s.value("train_share"))


def publish_seconds(s: Situation, servers: int, way: Way | None = None) -> float:
    """Weights go in fp32: through a folder that all see they are written once and read by each server; over a network
    the learner sends them to each server, whose GPUs pass them on to each other.
    """
    way = way or s.work.publish
    return WIDE * parameters(s.model) * (servers + (way == "files")) / s.value(way)


def sum_seconds(s: Situation, tensor: int, tokens: float) -> float:
    """Of the sums over a server's GPUs in one pass over so many tokens. A ring sends 2 (n - 1) / n of the numbers."""
    if tensor == 1:
        return 0.0
    c = s.model
    moved = 2 * (tensor - 1) / tensor * tokens * c.hidden * HALF
    return SUMS * c.layers * (moved / s.gpu.link + s.value("reduce"))


def decode_rate(s: Situation, tensor: int, rows: int) -> float:
    """Tokens a second of one answer beside so many: a step reads all weights and the keys and values of all rows, of
    which each GPU of a server has its part, and the GPUs sum up their results in each layer.
    """
    c, w = s.model, s.work
    cached = rows * row_bytes(c, round(w.prompt + (w.answer + w.replies) / 2), HALF)
    reading = (HALF * parameters(c) + cached) / (tensor * s.gpu.bandwidth * s.value("decode_share"))
    products = 2 * parameters(c) * rows / (tensor * s.gpu.flops * s.value("prefill_share"))
    return 1 / (max(reading, products) + s.value("launch") + sum_seconds(s, tensor, rows))


def prefill_seconds(s: Situation, servers: int, tensor: int) -> float:
    """Of a step: each prompt is read once for its group, and each reply once."""
    tokens = (s.work.prompts * s.work.seats * s.work.prompt + s.work.answers * s.work.replies) / servers
    compute = 2 * parameters(s.model) * tokens / (tensor * s.gpu.flops * s.value("prefill_share"))
    return compute + sum_seconds(s, tensor, tokens)


@functools.lru_cache(maxsize=256)
def lengths(step: int, count: int, mean: float, limit: int, spread: float) -> Sequence[float]:
    """Tokens of a step's answers: log-normal with this mean before it is cut at the limit."""
    drawn = np.random.default_rng(step).lognormal(math.log(mean) - spread * spread / 2, spread, count)
    return np.clip(drawn, 1, limit).tolist()


# Placements


def placements(s: Situation) -> Iterator[Placement]:
    """All ways to spread the GPUs over learners and servers of one kind, with each lag."""
    coarse = max(NODE, s.gpus // NODE)  # beyond one node, learners are whole nodes, or eighths of all
    for learners in (n for n in range(1, s.gpus) if n <= NODE or not n % coarse):
        for tensor in TENSOR:
            servers, left = divmod(s.gpus - learners, tensor)
            if servers and not left:
                for lag in LAGS:
                    yield Placement(learners, servers, tensor, lag)


def loop_of(s: Situation, placement: Placement) -> tuple[Loop, dict[str, float]] | None:
    """The loop of this placement, and the seconds of a step by phase; None if the placement does not fit."""
    _, rows = server_memory(s, placement.tensor)
    if sum(learner_memory(s, placement.learners).values()) > s.room or not rows:
        return None
    w = s.work
    rows = min(rows, math.ceil(w.answers / placement.servers))
    train, score = train_seconds(s, placement.learners), score_seconds(s, placement.learners)
    more = w.updates == 1 and placement.lag > 0  # answers of other weights: their old log-probs are computed
    score += forward_flops(s) / (placement.learners * s.gpu.flops * s.value("train_share")) if more else 0.0
    publish = publish_seconds(s, placement.servers)
    prefill = prefill_seconds(s, placement.servers, placement.tensor)
    loop = Loop(
        lengths=lambda step: lengths(step, w.answers, w.answer, w.limit, s.value("spread")),
        rate=decode_rate(s, placement.tensor, rows),
        slots=rows * placement.servers,
        train=train + score,
        publish=publish + prefill,
        lag=placement.lag,
        pools=max(1, min(placement.lag, placement.servers)),
    )
    return loop, {"prefill": prefill, "score": score, "train": train, "publish": publish}


def least_seconds(loop: Loop) -> float:
    """No step takes less: the learner is never idle, or no slot is."""
    return max(loop.train, sum(loop.lengths(0)) / loop.rate / loop.slots, max(loop.lengths(0)) / loop.rate / MOST_LAG)


def estimate(s: Situation, placement: Placement) -> Estimate | None:
    """The memory and the seconds of this placement; None if it does not fit."""
    if (made := loop_of(s, placement)) is None:
        return None
    loop, seconds = made
    alone = simulate(dataclasses.replace(loop, train=0.0, publish=0.0, lag=0, pools=1), steps=4).seconds
    phases = {"write": alone + seconds.pop("prefill"), **seconds}
    return Estimate(
        placement,
        learner_memory(s, placement.learners),
        server_memory(s, placement.tensor)[0],
        loop.slots // placement.servers,
        phases,
        simulate(loop, steps=STEPS, warm=WARM),
    )


def estimates(s: Situation) -> list[Estimate]:
    """The placements that fit and are not hopeless, the fastest first. A step more of lag must be worth its age."""
    if s.gpus < 2:
        raise ConfigError(
            f"--gpus is {s.gpus}: learners and servers need 2 at least. `assay doctor --model` plans one machine."
        )
    loops = {placement: made[0] for placement in placements(s) if (made := loop_of(s, placement)) is not None}
    least = {placement: least_seconds(loop) for placement, loop in loops.items()}
    fitting: list[Estimate] = []
    for placement in sorted(loops, key=lambda option: least[option]):
        if fitting and least[placement] > HOPELESS * min(earlier.step for earlier in fitting):
            break
        if (made := estimate(s, placement)) is not None:
            fitting.append(made)
    if not fitting:
        raise ConfigError(_nothing_fits(s))
    return sorted(fitting, key=lambda made: (worth(made), made.placement.lag))


def worth(made: Estimate) -> float:
    """Seconds of a step by which placements are compared: a step more of lag must win its share."""
    return made.step * (1 + WORTH) ** made.placement.lag


def _nothing_fits(s: Situation) -> str:
    learner = min(sum(learner_memory(s, learners).values()) for learners in range(1, s.gpus))
    what = f"nothing fits on {s.gpus} {s.gpu.name}"
    if learner <= s.room:
        return (
            f"{what}: no server of up to {max(TENSOR)} GPUs, beside learners that fit, has room for one answer of "
            f"{s.work.limit + s.work.most_replies} tokens."
        )
    short = f"a learner's rank needs {learner / 1e9:.0f} GB, and a GPU has room for {s.room / 1e9:.0f} GB"
    fits = (n for n in range(s.gpus + 1, MOST) if sum(learner_memory(s, n - 1).values()) <= s.room)
    least = next(fits, None)
    advice = f"{least} GPUs would do" if least else f"{MOST} GPUs would not do"
    return f"{what}: {short}. {advice}; smaller --machine.micro-tokens need less."


def as_data(s: Situation, made: Estimate) -> dict[str, Any]:
    placement = made.placement
    return {
        "learners": placement.learners,
        "servers": placement.servers,
        "gpus_of_a_server": placement.tensor,
        "lag": placement.lag,
        "learner_bytes": made.learner,
        "server_bytes": made.server,
        "answers_at_a_time": made.rows,
        "seconds": {**made.seconds, "step": made.step},
        "learner_idle": made.loop.learner_idle,
        "samplers_idle": made.loop.samplers_idle,
        "age": made.loop.age,
        "room_bytes": s.room,
    }
