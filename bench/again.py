"""What it costs the core to compute layers again in the backward pass, and what memory it saves, at 135M parameters.

    python -m bench.again               # a process each, in turns; on an idle machine some five minutes
    python -m bench.again --rounds 1 --dry

A Llama in the shape of SmolLM2-135M with random weights, in fp32 on one thread, with an adapter of rank 16 or with all
weights trained: two steps of 64 answers x 24 tokens to 8 prompts of 46 tokens, in chunks of `--micro-tokens`. The
second step is timed, in seconds of the processor, so that other processes disturb them less. The peak is the largest
resident size of the process (VmHWM), beside what the plan of memory says. Results are kept in results/.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.engine.footprint import Work, budget
from assay.run.pretrained import SMOLLM2
from bench import arms, kept

NAME = "again"
SHAPE = SMOLLM2.shape
GROUPS, SAMPLES, PROMPT, ANSWER = 8, 8, 46, 24
STEPS = 2
CACHE = 512 << 20


@dataclass(frozen=True)
class Arm:
    """What is trained, and whether layers are computed again."""

    lora: int
    again: bool


ARMS = {
    "LoRA 16, kept": Arm(16, again=False),
    "LoRA 16, again": Arm(16, again=True),
    "all weights, kept": Arm(0, again=False),
    "all weights, again": Arm(0, again=True),
}


def planned(arm: Arm, micro_tokens: int) -> int:
    from assay.run.memory_plan import built_for_gpus

    work = Work(
        answers=GROUPS * SAMPLES,
        group=SAMPLES,
        prompt=PROMPT,
        max_new=ANSWER,
        micro_tokens=micro_tokens,
        cache_bytes=CACHE,
        native=True,
        gpu_build=built_for_gpus(),
        lora=arm.lora,
        again=arm.again,
    )
    return budget(SHAPE, work).peak


def inside(arm: Arm, micro_tokens: int) -> dict[str, float]:
    """In a process of its own: seconds of the processor of the last step's parts, and the peak."""
    import torch

    from assay.engine.choose import processor_of
    from assay.engine.interface import Want
    from assay.engine.native.engine import NativeEngine
    from assay.policy.adapted import attach
    from assay.policy.lora import Lora
    from assay.policy.transformer import Transformer
    from assay.rng import Key
    from bench.gpu_checks import batch_of, requests_of
    from bench.memory import peak

    torch.set_num_threads(1)
    model = Transformer(SHAPE).initialise(torch.Generator().manual_seed(0))
    if arm.lora:
        attach(model, Lora(rank=arm.lora), key=Key(0))
    settings: dict[str, Any] = {"checkpointing": "on" if arm.again else "off", "memory_bytes": CACHE}
    engine = NativeEngine(model, end_ids=frozenset(), precision="fp32", **settings)
    requests = requests_of(SHAPE, groups=GROUPS, samples=SAMPLES, prompt=PROMPT, max_new=ANSWER)
    found: dict[str, float] = {}
    with processor_of(engine):
        for number in range(STEPS):
            began = time.process_time()
            batch = batch_of(requests, engine.generate(requests, Key(number)))
            sampled = time.process_time()
            for chunk in engine.chunks(batch, tokens=micro_tokens):
                out = engine.forward(chunk, Want())
                (out.logp * chunk.streams["advantage"]).sum().backward()
                engine.backward(chunk, out)
            learnt = time.process_time()
            engine.step(lr=1e-5, clip=1.0)
            ended = time.process_time()
            found = {"sampling": sampled - began, "learning": learnt - sampled, "step": ended - learnt}
    return found | {"peak": peak()}


def measure(names: Sequence[str], rounds: int, micro_tokens: int) -> dict[str, dict[str, Any]]:
    """Each arm once a round."""
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            seen[name].append(arms.process("bench.again", name, micro_tokens))
            print(name, seen[name][-1], flush=True)
    return {
        name: {
            "planned": planned(ARMS[name], micro_tokens),
            **{key: [round(one[key], 3) for one in ones] for key in ("sampling", "learning", "step")},
            "peak": [int(one["peak"]) for one in ones],
        }
        for name, ones in seen.items()
    }


def section(folder: Path = arms.RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = [
        "## Layers computed again in the core",
        "",
        "`python -m bench.again`: SmolLM2-135M's shape, random weights, fp32, one thread; 64 answers x 24 tokens to 8",
        "prompts of 46. Seconds of the processor, a process each, in turns: medians, least and greatest in brackets.",
    ]
    for run in runs:
        lines += ["", arms.heading(run), ""]
        lines += ["| | learning, s | optimiser step, s | peak, GiB | planned, GiB |", "|---|---|---|---|---|"]
        for name, one in run["arms"].items():
            peaks = arms.spread([value / 2**30 for value in one["peak"]])
            cells = [
                name,
                arms.spread(one["learning"]),
                arms.spread(one["step"]),
                peaks,
                f"{one['planned'] / 2**30:.2f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arms.parser(__doc__, ARMS)
    given = parser.parse_args(arguments)
    if given.inside:
        print(json.dumps(inside(ARMS[given.inside], given.micro_tokens)))
        return
    arms.run(NAME, given, measure)


if __name__ == "__main__":
    main()
