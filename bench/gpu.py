"""Everything that a GPU can show, in under ten minutes and without network: parity, a training run, speed and memory.

    make gpu                                  # or: python -m bench.gpu [--out FILE] [--minutes 9]
    python -m bench.gpu --dry-run-on-cpu      # the same script at toy size: says nothing about speed

Needs torch with CUDA, numpy, safetensors, tokenizers and jinja2; nothing of this repository has to be installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

if TYPE_CHECKING:
    from bench.gpu_checks import Check

NEEDED = ("torch", "numpy", "safetensors", "tokenizers", "jinja2")
MODELS = {  # hidden, layers, heads, key-value heads, gated unit, vocabulary
    "0.1B": (512, 12, 8, 2, 2048, 151_936),
    "0.5B": (896, 24, 14, 2, 4864, 151_936),
    "1.5B": (1536, 28, 12, 2, 8960, 151_936),
}
TOY = {"toy": (32, 2, 4, 2, 64, 199)}
EXIT_SETUP = 78
WARM_UP, ROUNDS = 1, 3


@dataclass(frozen=True)
class Sizes:
    """How much is done: on a GPU, or as a rehearsal."""

    groups: int
    samples: int
    prompt: int
    answer: int
    micro_tokens: int


FULL = Sizes(groups=16, samples=8, prompt=128, answer=256, micro_tokens=16_384)
REHEARSAL = Sizes(groups=2, samples=2, prompt=5, answer=6, micro_tokens=256)


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
    skipped: str = ""

    @property
    def step_s(self) -> float | None:
        return None if self.sample_s is None or self.learn_s is None else self.sample_s + self.learn_s


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run-on-cpu", action="store_true", help="toy size on the processor")
    parser.add_argument("--minutes", type=float, default=9.0, help="start nothing new after this; default 9")
    parser.add_argument("--out", type=Path, default=Path("gpu"), help="writes FILE.md and FILE.json; default gpu")
    arguments = parser.parse_args(argv)
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        return refuse(f"these packages are missing: {', '.join(missing)}. pip install {' '.join(missing)}")
    import torch

    if not arguments.dry_run_on_cpu and not torch.cuda.is_available():
        built = torch.version.cuda
        why = (
            f"torch is built for CUDA {built} and sees none: look at nvidia-smi"
            if built
            else "this torch is a CPU build"
        )
        return refuse(f"there is no GPU ({why}). --dry-run-on-cpu runs the same script at toy size.")
    device = "cpu" if arguments.dry_run_on_cpu else "cuda"
    found = measure(device, toy=arguments.dry_run_on_cpu, until=time.monotonic() + 60 * arguments.minutes)
    text = report(found)
    arguments.out.with_suffix(".md").write_text(text)
    arguments.out.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    print(text)
    return 0 if all(check["passed"] for check in found["checks"]) else 1


def refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return EXIT_SETUP


def measure(device: str, *, toy: bool, until: float) -> dict[str, Any]:
    """All checks and rows as data."""
    from bench import gpu_checks as checks

    small = checks.qwen(64, 2, 4, 2, 128, 199) if toy else checks.qwen(512, 8, 8, 2, 1536, 8000)
    size = {"groups": 2, "samples": 2, "max_new": 6} if toy else {"groups": 8, "samples": 8, "max_new": 64}
    run = {"hidden": 32, "imitate": 50, "reinforce": 2, "prompts": 16}
    if not toy:
        run = {"hidden": 128, "imitate": 60, "reinforce": 10, "prompts": 128}
    seen: list[Check] = []
    for name, section in (
        ("parity", lambda: checks.parity(device, shape=small, **size)),
        ("training", lambda: checks.training(device, **run)),
    ):
        began = time.monotonic()
        seen += section()
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    rows = []
    for name, numbers in (TOY if toy else MODELS).items():
        rows.append(bench(name, numbers, device, REHEARSAL if toy else FULL, until))
        print(f"{name}: {rows[-1]}", file=sys.stderr, flush=True)
    return {
        "machine": machine(device),
        "toy": toy,
        "checks": [asdict(check) for check in seen],
        "rows": [asdict(row) | {"step_s": row.step_s} for row in rows],
    }


def machine(device: str) -> dict[str, str]:
    import torch

    facts = {"python": platform.python_version(), "torch": torch.__version__, "device": platform.processor() or "cpu"}
    if device == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        facts |= {
            "device": f"{torch.cuda.get_device_name(0)}, {total / 2**30:.0f} GiB",
            "cuda": str(torch.version.cuda),
        }
    return facts


def bench(name: str, numbers: Sequence[int], device: str, sizes: Sizes, until: float) -> Row:
    """Random weights: sampling and one update, the median of some rounds; skipped where it cannot fit or time is up."""
    from assay.engine.memory import Work, budget, gib, parameters
    from assay.resources import room_of
    from bench.gpu_checks import qwen

    shape = qwen(*numbers)  # type: ignore[arg-type]
    cuda = device == "cuda"
    work = Work(
        answers=sizes.groups * sizes.samples,
        group=sizes.samples,
        prompt=sizes.prompt,
        max_new=sizes.answer,
        micro_tokens=sizes.micro_tokens,
        cache_bytes=8 << 30,
        cuda=cuda,
        compute=2 if cuda else 4,
    )
    planned = budget(shape, work)
    need, room = max(planned.phases["sampling"], planned.phases["learning"]), room_of(device).bytes
    if need > room:
        return Row(name, parameters(shape), skipped=f"needs {gib(need)}, {gib(room)} are free")
    if time.monotonic() > until:
        return Row(name, parameters(shape), skipped="the time was up")
    try:
        sampled, seconds, learnt, peak = _rounds(shape, device, sizes, work.cache_bytes)
    finally:
        _empty(device)
    return Row(
        name,
        parameters(shape),
        tokens_per_s=sampled / seconds,
        sample_s=seconds,
        learn_s=learnt,
        peak_gib=peak / 2**30,
        planned_gib=need / 2**30,
    )


def _rounds(shape: Any, device: str, sizes: Sizes, cache: int) -> tuple[int, float, float, int]:
    """Tokens sampled in a round, median seconds of sampling and of an update, and the peak of memory."""
    import torch

    from assay.engine.optimiser import AdamW
    from assay.engine.torch_engine import TorchEngine
    from assay.objective import Clip, Objective
    from assay.objective.improve import improve
    from assay.policy.transformer import Transformer
    from assay.recipe import Scale
    from assay.rng import Key
    from bench.gpu_checks import batch_of, requests_of

    with torch.device(device):
        model = Transformer(shape).initialise(torch.Generator(device).manual_seed(0))
    settings = {"end_ids": frozenset(), "device": device, "memory_bytes": cache, "optimiser": AdamW()}
    engine = TorchEngine(model, precision="bf16" if device == "cuda" else "fp32", **settings)
    del model
    _empty(device)
    groups = {"groups": sizes.groups, "samples": sizes.samples, "prompt": sizes.prompt, "max_new": sizes.answer}
    requests = requests_of(shape, **groups)
    scale = Scale(sizes.groups, sizes.samples, sizes.answer, 1e-6, WARM_UP + ROUNDS)
    objective = Objective(gate=Clip(low=0.2, high=0.2))
    times: list[tuple[float, float]] = []
    tokens = 0
    for number in range(WARM_UP + ROUNDS):
        began = _now(device)
        made = engine.generate(requests, Key(number))
        sampled = _now(device)
        batch = batch_of(requests, made)
        improve(engine, batch, objective=objective, scale=scale, key=Key(0), micro_tokens=sizes.micro_tokens)
        times.append((sampled - began, _now(device) - sampled))
        tokens = len(batch.ids)
    middle = [sorted(column)[ROUNDS // 2] for column in zip(*times[WARM_UP:])]
    return tokens, middle[0], middle[1], _peak(device)


def _now(device: str) -> float:
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


def _peak(device: str) -> int:
    if device == "cuda":
        import torch

        from assay.engine.memory import CONTEXT

        return torch.cuda.max_memory_allocated() + CONTEXT
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _empty(device: str) -> None:
    if device == "cuda":
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def report(found: dict[str, Any]) -> str:
    """Two tables in Markdown."""
    facts = ", ".join(f"{name} {value}" for name, value in found["machine"].items())
    lines = ["# GPU", "", facts, ""]
    if found["toy"]:
        lines += ["A rehearsal on the processor at toy size: it says nothing about speed.", ""]
    lines += ["| check | value | bound | |", "|-|-|-|-|"]
    for check in found["checks"]:
        verdict = "ok" if check["passed"] else "**FAILED**"
        lines.append(f"| {check['name']} | {check['value']:.3g} | {check['bound']} | {verdict} |")
    lines += [
        "",
        "| model | sampled tokens/s | s a step | sampling | learning | peak GiB | planned GiB |",
        "|-|-|-|-|-|-|-|",
    ]
    names = ("tokens_per_s", "step_s", "sample_s", "learn_s", "peak_gib", "planned_gib")
    for row in found["rows"]:
        cells = [row["skipped"], *[""] * 5] if row["skipped"] else [f"{row[name]:,.4g}" for name in names]
        lines.append(f"| {row['model']} ({row['parameters'] / 1e6:,.0f}M) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
