"""What a model of half a billion parameters takes of a machine's memory, by measurement and by plan.

    python -m bench.memory               # all arms, one process after another; some 10 minutes on two cores
    python -m bench.memory --arms lora   # one of them

A GRPO step of 8 answers x 128 tokens to one prompt on a Qwen2 of 494M parameters (vocabulary 151,936, random weights,
fp32), through the sampler, the objective and the optimiser of every run, twice, so that the second step samples beside
the moments of the first. The peak is the largest resident size of the process that does nothing else (VmHWM).
Keeps what was measured in results/ and writes RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.engine.footprint import Work, budget, gib
from assay.policy.config import PolicyConfig, parameters

ROOT = Path(__file__).parents[1]
SHAPE = PolicyConfig(
    family="qwen2",
    vocab=151_936,
    hidden=896,
    layers=24,
    heads=14,
    kv_heads=2,
    head_dim=64,
    ffn=4864,
    context=1024,
    attention_bias=True,
)
ANSWERS, PROMPT, ANSWER = 8, 64, 128
STEPS = 2
MICRO_TOKENS, CACHE = 2048, 512 << 20  # the defaults of a run


@dataclass(frozen=True)
class Arm:
    """A way to train, and the GiB that it must stay within."""

    limit: float
    lora: int = 0


ARMS = {"full": Arm(12.0), "lora": Arm(6.0, lora=16)}


def work_of(arm: Arm) -> Work:
    return Work(
        answers=ANSWERS,
        group=ANSWERS,
        prompt=PROMPT,
        max_new=ANSWER,
        micro_tokens=MICRO_TOKENS,
        cache_bytes=CACHE,
        lora=arm.lora,
    )


def peak() -> int:
    """The most of this process that was resident, in bytes."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10


def step_of(arm: Arm, shape: PolicyConfig = SHAPE) -> dict[str, Any]:
    """In a process of its own: peaks after each phase, and seconds of each step."""
    import torch

    from assay.engine.optimiser import AdamW
    from assay.engine.torch.engine import TorchEngine
    from assay.objective import Clip, Objective
    from assay.objective.improve import improve
    from assay.policy.adapted import attach
    from assay.policy.lora import Lora
    from assay.policy.transformer import Transformer
    from assay.rng import Key
    from assay.scale import Scale
    from bench.gpu_checks import batch_of, requests_of

    model = Transformer(shape).initialise(torch.Generator().manual_seed(0))
    if arm.lora:
        attach(model, Lora(rank=arm.lora), key=Key(0))
    engine = TorchEngine(model, end_ids=frozenset(), precision="fp32", optimiser=AdamW(), memory_bytes=CACHE)
    del model
    requests = requests_of(shape, groups=1, samples=ANSWERS, prompt=PROMPT, max_new=ANSWER)
    scale = Scale(1, ANSWERS, ANSWER, 1e-6, STEPS)
    objective = Objective(gate=Clip(low=0.2, high=0.2))
    peaks, seconds = {"built": peak()}, []
    for number in range(STEPS):
        began = time.perf_counter()
        made = engine.generate(requests, Key(number))
        peaks[f"sampling {number + 1}"] = peak()
        batch = batch_of(requests, made)
        assert len(batch.ids) == ANSWERS * ANSWER
        stats = improve(engine, batch, objective=objective, scale=scale, key=Key(0), micro_tokens=MICRO_TOKENS)
        peaks[f"learning {number + 1}"] = peak()
        seconds.append(time.perf_counter() - began)
        print(peaks, seconds, file=sys.stderr, flush=True)
        assert stats["update/steps"] == 1 and stats["update/skipped"] == 0
    assert engine.version == STEPS
    threads = torch.get_num_threads()
    return {"peaks": peaks, "seconds": seconds, "peak": peak(), "threads": threads, "torch": torch.__version__}


def measure(name: str) -> dict[str, Any]:
    """An arm in a process of its own, beside its plan."""
    from bench import machine

    arm, busy = ARMS[name], machine.load() >= 1
    made = budget(SHAPE, work_of(arm))
    reply = subprocess.run(
        [sys.executable, "-m", "bench.memory", "--inside", name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        "name": name,
        "measured": time.strftime("%Y-%m-%d"),
        "busy": busy,
        "machine": machine.describe(),
        "parameters": parameters(SHAPE),
        "limit": arm.limit,
        "planned": made.peak,
        "items": {f"{item.phase}: {item.name}": item.bytes for item in made.items},
        **json.loads(reply.stdout),
    }


def line(result: dict[str, Any]) -> str:
    verdict = "within" if result["peak"] <= result["limit"] * 2**30 else "ABOVE"
    off = result["planned"] / result["peak"] - 1
    seconds = " and ".join(f"{one:.0f}" for one in result["seconds"])
    return (
        f"{result['name']}: {gib(result['peak'])}, {verdict} {result['limit']:g} GiB; planned {gib(result['planned'])} "
        f"({off:+.0%}); {seconds} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--inside", choices=list(ARMS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(step_of(ARMS[options.inside])))
        return 0
    from bench import kept
    from bench.rendering import RESULTS, render

    results = [measure(name) for name in options.arms]
    for result in results:
        kept.keep(RESULTS, f"memory-{result['name']}", result)
        print(line(result), flush=True)
    render()
    return 0 if all(one["peak"] <= one["limit"] * 2**30 for one in results) else 1


if __name__ == "__main__":
    sys.exit(main())
