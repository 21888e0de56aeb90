"""Stage `models` of `bench.gpu`: speeds and memory of random models, next to the limits that the device sets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.gpu_device import ROUNDS, WARM_UP, Ceiling, Sizes, empty, now, peak

CACHE = 8 << 30  # bytes for the keys and values of the rows in flight


@dataclass(frozen=True)
class Row:
    """A model's numbers, or why there are none."""

    model: str
    parameters: int
    tokens_per_s: float | None = None  # sampled
    sample_s: float | None = None  # of a step
    learn_s: float | None = None
    peak_gib: float | None = None
    planned_gib: float | None = None
    sample_share: float | None = None  # of the tokens a second that reading weights, keys and values would allow
    learn_share: float | None = None  # of the products a second that this device reaches, at 6N a token
    place: str = ""  # the device and the code that computed on it
    skipped: str = ""

    @property
    def step_s(self) -> float | None:
        return None if self.sample_s is None or self.learn_s is None else self.sample_s + self.learn_s


def shares(
    shape: Any, sizes: Sizes, rows: int, ceiling: Ceiling, speeds: tuple[float, float], size: int
) -> list[float]:
    """Of sampling: rows a step / (weights and keys and values read at the mean context, by the bandwidth). Of
    learning: 6N operations for each token of an answer, prompts once a group.
    """
    from assay.engine.footprint import row_bytes
    from assay.policy.config import parameters

    read = parameters(shape) * size + rows * row_bytes(shape, sizes.prompt + sizes.answer // 2, size)
    tokens = sizes.groups * (sizes.prompt + sizes.samples * (sizes.answer - 1))
    sampled, learnt = speeds
    return [sampled / (rows * ceiling.memory / read), 6 * parameters(shape) * tokens / learnt / ceiling.products]


def work_of(shape: Any, device: str, sizes: Sizes, room: int) -> Any:
    """What a step needs of memory, as the plan of a run counts it where so many bytes are free."""
    from assay.engine.footprint import Work, keeping

    cuda = device == "cuda"
    work = Work(
        answers=sizes.answers,
        group=sizes.samples,
        prompt=sizes.prompt,
        max_new=sizes.answer,
        micro_tokens=sizes.micro_tokens,
        cache_bytes=CACHE,
        cuda=cuda,
        compute=2 if cuda else 4,
        fused=cuda,
    )
    return keeping(shape, work, room)


def measured(name: str, numbers: Sequence[int], device: str, sizes: Sizes, until: float, ceiling: Ceiling) -> Row:
    """Random weights: sampling and one update, the median of some rounds; skipped where it cannot fit or time is up."""
    from assay.engine.footprint import budget, gib
    from assay.host.space import room_of
    from assay.policy.config import parameters
    from bench.gpu_checks import qwen

    shape = qwen(*numbers)  # type: ignore[arg-type]
    room = room_of(device).bytes
    work = work_of(shape, device, sizes, room)
    made = budget(shape, work)
    need = max(made.phases["sampling"], made.phases["learning"])
    if need > room:
        return Row(name, parameters(shape), skipped=f"needs {gib(need)}, {gib(room)} are free")
    if time.monotonic() > until:
        return Row(name, parameters(shape), skipped="the time was up")
    empty(device)
    try:
        tokens, seconds, learnt, most, place = _rounds(shape, device, sizes)
    finally:
        empty(device)
    need = made.together if made.together <= room and work.cuda else need
    of_sampling, of_learning = shares(shape, sizes, made.rows, ceiling, (tokens / seconds, learnt), work.compute)
    return Row(
        name,
        parameters(shape),
        tokens_per_s=tokens / seconds,
        sample_s=seconds,
        learn_s=learnt,
        peak_gib=most / 2**30,
        planned_gib=need / 2**30,
        sample_share=of_sampling,
        learn_share=of_learning,
        place=place,
    )


def _rounds(shape: Any, device: str, sizes: Sizes) -> tuple[int, float, float, int, str]:
    """Tokens sampled in a round, median seconds of sampling and of an update, the peak of memory, and what computed."""
    workload = Workload(shape, device, sizes)
    times: list[tuple[float, float]] = []
    tokens = 0
    for number in range(WARM_UP + ROUNDS):
        began = now(device)
        made = workload.sample(number)
        sampled = now(device)
        tokens = workload.learn(made)
        times.append((sampled - began, now(device) - sampled))
    middle = [sorted(column)[ROUNDS // 2] for column in zip(*times[WARM_UP:])]
    return tokens, middle[0], middle[1], peak(device), workload.engine.place


class Workload:
    """Random weights that sample a round by its number and learn from what was sampled, as a whole or in parts.

    Example:
        workload = Workload(shape, "cuda", FULL)
        workload.learn(workload.sample(0))
    """

    def __init__(self, shape: Any, device: str, sizes: Sizes) -> None:
        import torch

        from assay.engine.footprint import budget
        from assay.engine.optimiser import AdamW
        from assay.engine.torch.engine import TorchEngine
        from assay.host.space import room_of
        from assay.objective import Clip, Objective
        from assay.policy.transformer import Transformer
        from assay.scale import Scale
        from bench.gpu_checks import requests_of

        with torch.device(device):
            model = Transformer(shape).initialise(torch.Generator(device).manual_seed(0))
        room = room_of(device).bytes
        work = work_of(shape, device, sizes, room)
        settings = {"end_ids": frozenset(), "device": device, "memory_bytes": CACHE, "optimiser": AdamW()}
        settings |= {"caches_stay": work.cuda and budget(shape, work).together <= room}
        settings |= {"checkpointing": "off" if work.again is False else "auto"}
        self.engine = TorchEngine(model, precision="bf16" if device == "cuda" else "fp32", **settings)
        del model
        empty(device)
        groups = {"groups": sizes.groups, "samples": sizes.samples, "prompt": sizes.prompt, "max_new": sizes.answer}
        self.requests = requests_of(shape, **groups)
        self.sizes = sizes
        self.scale = Scale(sizes.groups, sizes.samples, sizes.answer, 1e-6, WARM_UP + ROUNDS)
        self.objective = Objective(gate=Clip(low=0.2, high=0.2))

    def sample(self, number: int) -> list[Any]:
        from assay.rng import Key

        return self.engine.generate(self.requests, Key(number))

    def learn(self, made: list[Any]) -> int:
        """One update; gives the number of tokens that were sampled."""
        from assay.objective.improve import improve
        from assay.rng import Key

        batch = self.batch(made)
        about = {"objective": self.objective, "scale": self.scale, "micro_tokens": self.sizes.micro_tokens}
        improve(self.engine, batch, key=Key(0), **about)
        return len(batch.ids)

    def batch(self, made: list[Any]) -> Any:
        from bench.gpu_checks import batch_of

        return batch_of(self.requests, made)

    def score(self, made: list[Any]) -> None:
        from assay.engine.interface import Span

        pairs = zip(self.requests, made, strict=True)
        self.engine.score([Span(request.context, one.segment.ids) for request, one in pairs])

    def gather(self, batch: Any) -> None:
        """The gradient of an update, and no step."""
        from assay.objective.improve import accumulate
        from assay.part import bind

        weight = bind(self.objective.aggregate)(batch, max_new=self.scale.max_new)
        accumulate(self.engine, batch, weight, self.objective, self.sizes.micro_tokens)

    def step(self) -> None:
        self.engine.step(lr=self.scale.learning_rate, clip=self.scale.clip_norm)
