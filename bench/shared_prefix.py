"""What it saves the core to run once what all prompts of a step begin with, at 135M parameters.

    python -m bench.shared_prefix               # a process each, in turns; on an idle machine some ten minutes
    python -m bench.shared_prefix --rounds 1 --dry

A Llama in the shape of SmolLM2-135M with random weights, in fp32 on one thread, with an adapter of rank 16: two steps
of 8 answers to each of 8 prompts. The prompts are as long as a question in the chat template, whose system message is
common to all, or as a question behind four worked examples. The same work with prompts of the same lengths that have
nothing in common is what a step costs without sharing. The second step is timed, in seconds of the processor, so that
other processes disturb them less. Results are kept in results/.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import arms, kept
from bench.again import SHAPE

NAME = "shared-prefix"
GROUPS, SAMPLES = 8, 8
STEPS = 2
PARTS = ("sampling", "learning")


@dataclass(frozen=True)
class Arm:
    """Tokens of a prompt, how many of them all prompts begin with, and tokens of an answer."""

    prompt: int
    common: int
    answer: int


ARMS = {
    "chat: prompts of 46 tokens, 22 in common, answers of 24": Arm(46, 22, 24),
    "four examples: prompts of 140 tokens, 100 in common, answers of 4": Arm(140, 100, 4),
}


def inside(arm: Arm, common: int, micro_tokens: int) -> dict[str, float]:
    """In a process of its own: seconds of the processor of the last step's parts, and the tokens that they ran."""
    import torch

    from assay.engine.choose import processor_of
    from assay.engine.interface import Want
    from assay.engine.native.engine import NativeEngine
    from assay.policy.adapted import attach
    from assay.policy.lora import Lora
    from assay.policy.transformer import Transformer
    from assay.rng import Key
    from assay.types import Problem, Request
    from bench.gpu_checks import batch_of

    torch.set_num_threads(1)
    model = Transformer(SHAPE).initialise(torch.Generator().manual_seed(0))
    attach(model, Lora(rank=16), key=Key(0))
    engine = NativeEngine(model, end_ids=frozenset(), precision="fp32")
    random = np.random.default_rng(0)
    prompts = random.integers(1, SHAPE.vocab, (GROUPS, arm.prompt)).astype(np.int32)
    prompts[:, :common] = prompts[0, :common]
    requests = [
        Request(Problem("none", str(g), {}, str(g)), prompt, str(g), arm.answer, draw=g, sample=s)
        for g, prompt in enumerate(prompts)
        for s in range(SAMPLES)
    ]
    found: dict[str, float] = {}
    with processor_of(engine):
        for number in range(STEPS):
            ran, learnt = engine.prefilled, 0
            began = time.process_time()
            batch = batch_of(requests, engine.generate(requests, Key(number)))
            sampled = time.process_time()
            for chunk in engine.chunks(batch, tokens=micro_tokens):
                out = engine.forward(chunk, Want())
                (out.logp * chunk.streams["advantage"]).sum().backward()
                engine.backward(chunk, out)
                learnt += len(chunk.layout.ids)
            ended = time.process_time()
            engine.step(lr=1e-5, clip=1.0)
            found = {"sampling": sampled - began, "learning": ended - sampled}
            found |= {"prefilled": engine.prefilled - ran, "learnt": learnt}
    return found


def measure(names: Sequence[str], rounds: int, micro_tokens: int) -> dict[str, dict[str, Any]]:
    """Each arm once a round, with and without something in common one after the other."""
    seen: dict[str, dict[str, list[dict[str, float]]]] = {name: {"shared": [], "apart": []} for name in names}
    for _ in range(rounds):
        for name in names:
            for way, common in (("shared", ARMS[name].common), ("apart", 0)):
                found = arms.process("bench.shared_prefix", name, micro_tokens, "--common", str(common))
                seen[name][way].append(found)
                print(name, way, seen[name][way][-1], flush=True)
    return {
        name: {way: {key: [round(one[key], 3) for one in ones] for key in ones[0]} for way, ones in ways.items()}
        for name, ways in seen.items()
    }


def ratios(one: dict[str, Any], key: str) -> list[float]:
    """How many times as long it took with nothing in common, of each round."""
    return [apart / shared for apart, shared in zip(one["apart"][key], one["shared"][key], strict=True)]


def section(folder: Path = arms.RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = [
        "## What all prompts of a step begin with",
        "",
        "`python -m bench.shared_prefix`: SmolLM2-135M's shape, random weights, LoRA 16, fp32, one thread; 8 answers",
        "to each of 8 prompts. How many times the processor's time a part of a step takes if the prompts have nothing",
        "in common; of each round, in turns: medians, least and greatest in brackets.",
    ]
    for run in runs:
        lines += ["", arms.heading(run), ""]
        lines += ["| | sampling | learning |", "|---|---|---|"]
        for name, one in run["arms"].items():
            lines.append(f"| {' | '.join([name, *(arms.spread(ratios(one, part)) for part in PARTS)])} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arms.parser(__doc__, ARMS)
    parser.add_argument("--common", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.inside:
        print(json.dumps(inside(ARMS[given.inside], given.common, given.micro_tokens)))
        return
    arms.run(NAME, given, measure)


if __name__ == "__main__":
    main()
