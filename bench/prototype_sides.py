"""One side of `bench.prototype`: a process that does a phase of a step whenever a line on its input names the phase.

    python -m bench.prototype_sides core S1 2 2048 auto       # shape, threads, tokens in a chunk of the learner, format
    python -m bench.prototype_sides prototype S1 2 2048 bf16  # in a folder with the prototype's files and seg.so

The phases of a round come in this order: `decode` (answers of full length), `ended` (answers that may end by a token),
`train` (both passes over the answers of `decode`), `update` (the optimiser, and the weights in the order of products).
Each answer is a line of JSON: the answers' tokens, the seconds by the clock, and those of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Phase = Callable[[int], int]  # does its work for the round of this number; answers how many tokens it was about
END = 1  # the token that ends answers in the phase `ended`


def core(name: str, threads: int, tokens: int, precision: str) -> dict[str, Phase]:
    """The phases of the compiled core, through the engine's own interface."""
    import torch

    from assay.engine.interface import Want
    from assay.rng import Key
    from bench.micro_engine import SHAPES, batch_of, engine_of, requests_of

    torch.set_num_threads(threads)
    engine = engine_of(SHAPES[name], "native", precision)
    requests = requests_of(SHAPES[name])
    made: list[Any] = []

    def generate(round: int, ends: frozenset[int]) -> list[Any]:
        engine.end_ids = ends
        return [g.segment.ids for g in engine.generate(requests, Key(round))]

    def decode(round: int) -> int:
        made[:] = generate(round, frozenset())
        return sum(map(len, made))

    def ended(round: int) -> int:
        return sum(map(len, generate(round, frozenset({END}))))

    def train(round: int) -> int:
        batch = batch_of(requests, made)
        for chunk in engine.chunks(batch, tokens=tokens):
            outputs = engine.forward(chunk, Want())
            (-(outputs.logp * chunk.streams["advantage"])).sum().backward()
            engine.backward(chunk, outputs)
        return sum(map(len, made))

    def update(round: int) -> int:
        engine.step(lr=1e-5, clip=1.0)
        return sum(map(len, made))

    return {"decode": decode, "ended": ended, "train": train, "update": update}


def prototype(name: str, threads: int, tokens: int, precision: str) -> dict[str, Phase]:
    """The phases of the prototype, with the settings of its own script; it chunks by itself and knows one format."""
    sys.path.insert(0, "")
    import lib3  # pyright: ignore[reportMissingImports]  (the prototype's, in the folder where this runs)
    import torch

    shape = lib3.SH[name]
    count, prompt, answer, samples = shape["NP"], shape["P"], shape["G"], shape["n"]
    slots, chunk = {"S1": (16, 256), "S2": (16, 128), "S3": (64, 512)}[name]
    torch.manual_seed(0)
    engine = lib3.E3(lib3.M(shape), (prompt + answer + 15) // 16 * 16)
    prompts = torch.randint(4, 60, (count, prompt), dtype=torch.int32)
    lengths = torch.full((count,), prompt, dtype=torch.int32)
    made: list[Any] = []

    def generate(round: int, end: int) -> list[Any]:
        settings = {"eos": end, "slots": slots, "seed": round, "nth": threads}
        return list(engine.gen(prompts, lengths, samples, answer, **settings))

    def decode(round: int) -> int:
        made[:] = generate(round, -1)
        return int(made[2].sum())

    def ended(round: int) -> int:
        return int(generate(round, END)[2].sum())

    def train(round: int) -> int:
        ids, _, written = made
        packed, targets, starts, parents, counted, _ = lib3.pack_seg(prompts, lengths, ids, written, samples)
        weights = torch.zeros(len(packed))
        weights[counted] = torch.randn(int(counted.sum())) / counted.sum()
        engine.train(packed, targets, starts, parents, weights, Mc=chunk, nth=threads)
        return int(written.sum())

    def update(round: int) -> int:
        engine.opt(1e-5, nth=threads)
        return int(made[2].sum())

    return {"decode": decode, "ended": ended, "train": train, "update": update}


def main() -> None:
    side, name, threads, tokens, precision = sys.argv[1:]
    phases = {"core": core, "prototype": prototype}[side](name, int(threads), int(tokens), precision)
    for number, line in enumerate(sys.stdin):
        clock, processor = time.perf_counter(), time.process_time()
        count = phases[line.strip()](number)
        took = {"seconds": time.perf_counter() - clock, "processor": time.process_time() - processor}
        sys.stdout.write(json.dumps({"tokens": count, **took}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
