"""A process that does one GRPO-like step on an engine and says what its memory came to, by phase: for tests.

python memory_child.py JSON -> {"base": bytes, "sampling": bytes, "learning": bytes}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch

from assay.engine.choose import processor_of
from assay.engine.interface import Generation, Want
from assay.engine.native.engine import NativeEngine
from assay.engine.optimiser import AdamW
from assay.engine.torch.engine import TorchEngine
from assay.policy.adapted import attach
from assay.policy.config import PolicyConfig
from assay.policy.lora import Lora
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.streams import Names
from assay.types import Batch, Problem, Request


def peak() -> int:
    """The most that was resident, in bytes. What getrusage says begins with the size of the parent process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def now() -> int:
    """Resident now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def requests_of(asked: dict) -> list[Request]:
    """Groups of answers to prompts of one length."""
    generator = np.random.default_rng(0)
    found = []
    for g in range(asked["answers"] // asked["group"]):
        context = generator.integers(1, asked["shape"]["vocab"], asked["prompt"]).astype(np.int32)
        problem = Problem(task="none", prompt=f"{g}", spec={}, canonical=str(g))
        for s in range(asked["group"]):
            found.append(Request(problem, context, str(g), max_new=asked["max_new"], sample=s))
    return found


def batch_of(made: list[Generation], requests: list[Request]) -> Batch:
    ids = [one.segment.ids for one in made]
    at = np.cumsum([0, *map(len, ids)])
    context_at = np.cumsum([0, *(len(r.context) for r in requests)])
    every = np.ones(at[-1], bool)
    return Batch(
        context=np.concatenate([r.context for r in requests]),
        context_at=context_at,
        ids=np.concatenate(ids),
        at=at,
        mask=every,
        counted=every,
        counted_rows=np.ones(len(ids), bool),
        advantage=np.ones(at[-1], np.float32),
        origin=np.zeros(at[-1], np.int8),
        temperature=np.ones(len(ids), np.float32),
        problem=Names.of(r.problem.id for r in requests),
        request=Names.of(r.id for r in requests),
        group=Names.of(r.group for r in requests),
    )


def main(asked: dict) -> dict[str, int]:
    torch.set_num_threads(asked["threads"])
    config = PolicyConfig(**asked["shape"])
    base = now()
    model = Transformer(config)
    model.initialise(torch.Generator().manual_seed(0))
    if asked.get("lora"):
        attach(model, Lora(rank=asked["lora"]), key=Key(0))
    kind = NativeEngine if asked["native"] else TorchEngine
    settings = {"end_ids": frozenset(), "memory_bytes": asked["cache_bytes"], "precision": "fp32"}
    settings["checkpointing"] = {None: "auto", True: "on", False: "off"}[asked.get("again")]
    engine = kind(model, optimiser=AdamW(), **settings)
    del model
    found = {"base": base}
    with processor_of(engine):
        requests = requests_of(asked)
        made = engine.generate(requests, Key(0))
        found["sampling"] = peak()
        batch = batch_of(made, requests)
        for _ in range(2):
            for chunk in engine.chunks(batch, tokens=asked["micro_tokens"]):
                out = engine.forward(chunk, Want())
                (out.logp * chunk.streams["advantage"]).sum().backward()
                engine.backward(chunk, out)
            engine.step(lr=1e-6, clip=1.0)
        found["learning"] = peak()
    return found


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
