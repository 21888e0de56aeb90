"""How fast the engine decodes and trains, as shares of the matrix-product ceiling of this machine.

    python -m bench.micro_engine [S1 S2 S3] [--engine native] [--lora 16] [--threads 2] [--repeats 3] [--json]

Work is counted as 2N (decoding) and 6N (training) operations a real token, N being the parameters; attention is left
out, so the shares are lower bounds. The best of the repeats is shown, of the ceiling too.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch

from assay.engine.choose import engine_for, processor_of
from assay.engine.interface import Want
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW
from assay.policy.adapted import attach
from assay.policy.config import PolicyConfig
from assay.policy.lora import Lora
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.streams import Names
from assay.types import Batch, Problem, Request


@dataclass(frozen=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    ffn: int
    prompts: int
    samples: int
    prompt: int
    answer: int
    kv_heads: int = 0  # as many as heads
    vocab: int = 64


SHAPES = {
    "S1": Shape(256, 4, 4, 768, 32, 8, 6, 64),
    "S2": Shape(160, 4, 5, 416, 128, 8, 16, 24),
    "S3": Shape(384, 6, 6, 1024, 16, 8, 16, 256),
    "long-prompt": Shape(384, 6, 6, 1024, 2, 16, 1000, 128),  # most of what a token reads is shared
    "S3-grouped": Shape(384, 6, 6, 1024, 16, 8, 16, 256, kv_heads=2),
    "0.5B": Shape(896, 24, 14, 4864, 2, 8, 32, 16, kv_heads=2, vocab=151_936),  # that of Qwen2.5-0.5B
    # where models grow too large for the core, if anywhere: short steps of 2048 tokens
    "30M": Shape(512, 8, 8, 1408, 4, 8, 32, 64, vocab=8_000),
    "60M": Shape(640, 10, 10, 1792, 4, 8, 32, 64, vocab=16_000),
    "110M": Shape(768, 12, 12, 2048, 4, 8, 32, 64, vocab=32_000),
    "250M": Shape(1024, 16, 16, 2816, 4, 8, 32, 64, kv_heads=4, vocab=50_000),
    "500M": Shape(896, 24, 14, 4864, 4, 8, 32, 64, kv_heads=2, vocab=151_936),
}


def config_of(shape: Shape) -> PolicyConfig:
    return PolicyConfig(
        family="qwen2",
        vocab=shape.vocab,
        hidden=shape.hidden,
        layers=shape.layers,
        heads=shape.heads,
        kv_heads=shape.kv_heads or shape.heads,
        head_dim=shape.hidden // shape.heads,
        ffn=shape.ffn,
        context=max(512, shape.prompt + shape.answer),
        attention_bias=True,
    )


def engine_of(shape: Shape, kind: str, precision: str, *, lora: int = 0) -> LocalEngine:
    model = Transformer(config_of(shape)).initialise(torch.Generator().manual_seed(0))
    if lora:
        attach(model, Lora(rank=lora), key=Key("bench"))
    engine = engine_for(kind, "cpu", precision).engine  # type: ignore[arg-type]
    return engine(model, end_ids=frozenset(), precision=precision, optimiser=AdamW())  # type: ignore[arg-type]


def requests_of(shape: Shape) -> list[Request]:
    random = np.random.default_rng(0)
    result: list[Request] = []
    for p in range(shape.prompts):
        problem = Problem("bench", str(p), {}, str(p))
        context = random.integers(0, shape.vocab, shape.prompt).astype(np.int32)
        result += [Request(problem, context, str(p), shape.answer, sample=s) for s in range(shape.samples)]
    return result


def batch_of(requests: list[Request], answers: list[np.ndarray]) -> Batch:
    rows, tokens = len(requests), sum(map(len, answers))
    return Batch(
        context=np.concatenate([r.context for r in requests]),
        context_at=np.cumsum([0, *(len(r.context) for r in requests)]),
        ids=np.concatenate(answers),
        at=np.cumsum([0, *map(len, answers)]),
        mask=np.ones(tokens, bool),
        counted=np.ones(tokens, bool),
        counted_rows=np.ones(rows, bool),
        advantage=np.random.default_rng(1).normal(size=tokens).astype(np.float32) / tokens,
        origin=np.zeros(tokens, np.int8),
        temperature=np.ones(rows, np.float32),
        problem=Names.of(r.problem.id for r in requests),
        request=Names.of(r.id for r in requests),
        group=Names.of(r.group for r in requests),
    )


def ceiling(dtype: torch.dtype) -> float:
    """Operations a second of a large square product: the best of several."""
    a = torch.randn(1024, 1024, dtype=dtype)
    best = float("inf")
    for _ in range(12):
        start = time.perf_counter()
        torch.mm(a, a)
        best = min(best, time.perf_counter() - start)
    return 2 * 1024**3 / best


def train(engine: LocalEngine, batch: Batch, tokens: int) -> None:
    for chunk in engine.chunks(batch, tokens=tokens):
        outputs = engine.forward(chunk, Want())
        (-(outputs.logp * chunk.streams["advantage"])).sum().backward()
        engine.backward(chunk, outputs)
    engine.step(lr=1e-5, clip=1.0)


def measure(name: str, *, repeats: int, tokens: int, kind: str, precision: str, lora: int = 0) -> dict[str, float]:
    """Tokens a second and shares of the ceiling."""
    shape = SHAPES[name]
    engine = engine_of(shape, kind, precision, lora=lora)
    peak = max(ceiling(engine.compute) for _ in range(repeats))
    with processor_of(engine):
        return measure_on(engine, shape, repeats=repeats, tokens=tokens, peak=peak)


def measure_on(engine: LocalEngine, shape: Shape, *, repeats: int, tokens: int, peak: float) -> dict[str, float]:
    requests = requests_of(shape)
    size = sum(p.numel() for p in engine.model.parameters())
    count = sum(r.max_new for r in requests)
    decode, learn = float("inf"), float("inf")
    for repeat in range(repeats):
        start = time.perf_counter()
        answers = [g.segment.ids for g in engine.generate(requests, Key(repeat))]
        decode = min(decode, time.perf_counter() - start)
        batch = batch_of(requests, answers)
        start = time.perf_counter()
        train(engine, batch, tokens)
        learn = min(learn, time.perf_counter() - start)
    return {
        "parameters": size,
        "ceiling_gflops": peak / 1e9,
        "decode_tokens_per_s": count / decode,
        "train_tokens_per_s": count / learn,
        "decode_share": 2 * size * count / decode / peak,
        "train_share": 6 * size * count / learn / peak,
        "step_share": 8 * size * count / (decode + learn) / peak,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=["S1", "S2", "S3"], choices=list(SHAPES))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=2048, help="inputs in a chunk of the learner")
    parser.add_argument("--engine", default="auto", choices=["auto", "native", "torch"])
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters; 0: all weights are trained")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.shapes:
        settings = {"tokens": options.tokens, "kind": options.engine, "precision": options.precision}
        settings["lora"] = options.lora
        result = measure(name, repeats=options.repeats, **settings)
        if options.json:
            line = json.dumps({"shape": name, "threads": options.threads, **result})
        else:
            line = f"{name}  " + "  ".join(f"{k} {v:,.2f}" if v < 10 else f"{k} {v:,.0f}" for k, v in result.items())
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
