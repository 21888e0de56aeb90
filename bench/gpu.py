"""Everything that a GPU can show, in under ten minutes and without network: parity, a training run, speed and memory.

    make gpu                                  # or: python -m bench.gpu [--out FILE] [--minutes 9]
    python -m bench.gpu --dry-run-on-cpu      # the same script at toy size: says nothing about speed

Needs torch with CUDA, numpy, safetensors, tokenizers and jinja2; nothing of this repository has to be installed. Where
trl, transformers and datasets are there too, TRL's trainer does the same steps after ours.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

if TYPE_CHECKING:
    from bench.gpu_checks import Check

ROOT = Path(__file__).parents[1]
NEEDED = ("torch", "numpy", "safetensors", "tokenizers", "jinja2")
MODELS = {  # hidden, layers, heads, key-value heads, gated unit, vocabulary
    "0.1B": (512, 12, 8, 2, 2048, 151_936),
    "0.5B": (896, 24, 14, 2, 4864, 151_936),
    "1.5B": (1536, 28, 12, 2, 8960, 151_936),
}
TOY = {"toy": (32, 2, 4, 2, 64, 199)}
TRL = ("trl", "transformers", "datasets")
GOALS = {"0.1B": (0.45, 0.35), "0.5B": (0.65, 0.40), "1.5B": (0.66, 0.45)}  # shares of the floors, by estimate
EXIT_SETUP = 78
WARM_UP, ROUNDS = 1, 3
TRL_SECONDS = 150  # for the steps of one model, its imports with them


@dataclass(frozen=True)
class Sizes:
    """How much is done: on a GPU, or as a rehearsal."""

    groups: int
    samples: int
    prompt: int
    answer: int
    micro_tokens: int


FULL = Sizes(groups=64, samples=8, prompt=128, answer=384, micro_tokens=16_384)
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
    sample_share: float | None = None  # of the tokens a second that reading weights, keys and values would allow
    learn_share: float | None = None  # of the products a second that this device reaches, at 6N a token
    trl_step_s: float | None = None
    trl_peak_gib: float | None = None
    trl: str = ""  # why there are none of TRL
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
    ceiling = Ceiling.of(device, size=512 if toy else 8192)
    models, sizes = (TOY, REHEARSAL) if toy else (MODELS, FULL)
    rows = []
    for name, numbers in models.items():
        rows.append(bench(name, numbers, device, sizes, until, ceiling))
        print(f"{name}: {rows[-1]}", file=sys.stderr, flush=True)
    for at, row in enumerate(rows):
        if not row.skipped:
            shape = checks.qwen(*models[row.model])  # type: ignore[arg-type]
            rows[at] = dataclasses.replace(row, **against_trl(shape, device, sizes, until))
            print(f"{row.model}, TRL: {rows[at].trl or rows[at].trl_step_s}", file=sys.stderr, flush=True)
    return {
        "machine": machine(device) | ceiling.facts,
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


@dataclass(frozen=True)
class Ceiling:
    """What this device reaches: products in operations a second, reading and writing in bytes a second."""

    products: float
    memory: float

    @classmethod
    def of(cls, device: str, *, size: int, rounds: int = 5) -> Ceiling:
        import torch

        kind = torch.bfloat16 if device == "cuda" else torch.float32
        a = torch.ones(size, size, dtype=kind, device=device)
        b, out = torch.ones_like(a), torch.empty_like(a)
        times: dict[str, list[float]] = {"products": [], "memory": []}
        for _ in range(rounds):
            for name, work in (("products", lambda: torch.mm(a, b, out=out)), ("memory", lambda: out.copy_(a))):
                began = now(device)
                work()
                times[name].append(now(device) - began)
        return cls(2 * size**3 / min(times["products"]), 2 * a.nbytes / min(times["memory"]))

    @property
    def facts(self) -> dict[str, str]:
        return {"products": f"{self.products / 1e12:.3g} TFLOP/s", "memory": f"{self.memory / 1e12:.3g} TB/s"}


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


def against_trl(shape: Any, device: str, sizes: Sizes, until: float) -> dict[str, Any]:
    """The fields of a row about TRL; micro-batches are of as many answers as ours hold, with their prompts."""
    from assay.engine.footprint import CONTEXT
    from assay.policy.hf_config import config_to_hf

    if missing := [name for name in TRL if importlib.util.find_spec(name) is None]:
        return {"trl": f"{', '.join(missing)} not installed"}
    left = min(TRL_SECONDS, until - time.monotonic())
    if left < 1:
        return {"trl": "the time was up"}
    rows, each = sizes.groups * sizes.samples, sizes.prompt + sizes.answer
    parts = next(n for n in range(1, rows + 1) if rows % n == 0 and rows // n * each <= max(sizes.micro_tokens, each))
    with tempfile.TemporaryDirectory() as folder:
        out, told = Path(folder) / "out.json", Path(folder) / "job.json"
        job = asdict(sizes) | {"device": device, "steps": WARM_UP + ROUNDS, "parts": parts, "out": str(out)}
        told.write_text(json.dumps(job | {"config": config_to_hf(shape)}))
        command = [sys.executable, "-m", "bench.gpu_trl", str(told)]
        try:
            reply = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            return {"trl": f"took more than {left:.0f} s"}
        if reply.returncode:
            return {"trl": (reply.stderr.strip().splitlines() or ["it failed"])[-1][:120]}
        found = json.loads(out.read_text())
    peak = (found["peak"] + CONTEXT) / 2**30 if device == "cuda" else None
    return {"trl_step_s": sorted(found["seconds"][WARM_UP:])[ROUNDS // 2], "trl_peak_gib": peak}


def bench(name: str, numbers: Sequence[int], device: str, sizes: Sizes, until: float, ceiling: Ceiling) -> Row:
    """Random weights: sampling and one update, the median of some rounds; skipped where it cannot fit or time is up."""
    from assay.engine.footprint import Work, budget, gib
    from assay.host.space import room_of
    from assay.policy.config import parameters
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
    speeds = (sampled / seconds, learnt)
    of_sampling, of_learning = shares(shape, sizes, planned.rows, ceiling, speeds, work.compute)
    return Row(
        name,
        parameters(shape),
        tokens_per_s=sampled / seconds,
        sample_s=seconds,
        learn_s=learnt,
        peak_gib=peak / 2**30,
        planned_gib=need / 2**30,
        sample_share=of_sampling,
        learn_share=of_learning,
    )


def _rounds(shape: Any, device: str, sizes: Sizes, cache: int) -> tuple[int, float, float, int]:
    """Tokens sampled in a round, median seconds of sampling and of an update, and the peak of memory."""
    sample, learn = workload(shape, device, sizes, cache)
    times: list[tuple[float, float]] = []
    tokens = 0
    for number in range(WARM_UP + ROUNDS):
        began = now(device)
        made = sample(number)
        sampled = now(device)
        tokens = learn(made)
        times.append((sampled - began, now(device) - sampled))
    middle = [sorted(column)[ROUNDS // 2] for column in zip(*times[WARM_UP:])]
    return tokens, middle[0], middle[1], _peak(device)


def workload(
    shape: Any, device: str, sizes: Sizes, cache: int
) -> tuple[Callable[[int], list[Any]], Callable[[list[Any]], int]]:
    """Random weights that can sample a round by its number, and learn from what was sampled (the tokens of it)."""
    import torch

    from assay.engine.optimiser import AdamW
    from assay.engine.torch.engine import TorchEngine
    from assay.objective import Clip, Objective
    from assay.objective.improve import improve
    from assay.policy.transformer import Transformer
    from assay.rng import Key
    from assay.scale import Scale
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

    def sample(number: int) -> list[Any]:
        return engine.generate(requests, Key(number))

    def learn(made: list[Any]) -> int:
        batch = batch_of(requests, made)
        improve(engine, batch, objective=objective, scale=scale, key=Key(0), micro_tokens=sizes.micro_tokens)
        return len(batch.ids)

    return sample, learn


def now(device: str) -> float:
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


def _peak(device: str) -> int:
    if device == "cuda":
        import torch

        from assay.engine.footprint import CONTEXT

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
        "| model | sampled tokens/s | s a step | sampling | learning | peak GiB | planned GiB | of its floor: sampling "
        "| learning | TRL: s a step | peak GiB | ratio |",
        "|" + "-|" * 12,
    ]
    lines += [_line(row) for row in found["rows"]]
    lines += [
        "",
        "Floor of sampling: weights once a step and every row's keys and values at the mean context, by the speed",
        "of a copy. Floor of learning: 6N operations a token at the speed of a large product. After the slash:",
        "what was hoped for.",
    ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    head = f"| {row['model']} ({row['parameters'] / 1e6:,.0f}M) | "
    if row["skipped"]:
        return head + " | ".join([row["skipped"], *[""] * 10]) + " |"
    names = ("tokens_per_s", "step_s", "sample_s", "learn_s", "peak_gib", "planned_gib")
    cells = [f"{row[name]:,.4g}" for name in names]
    hoped = GOALS.get(row["model"], (None, None))
    for name, goal in zip(("sample_share", "learn_share"), hoped):
        cells.append(f"{row[name]:.2f}" + ("" if goal is None else f" / {goal:.2f}"))
    if row["trl_step_s"] is None:
        cells += [row["trl"], "", ""]
    else:
        peak = "" if row["trl_peak_gib"] is None else f"{row['trl_peak_gib']:.4g}"
        cells += [f"{row['trl_step_s']:.4g}", peak, f"{row['trl_step_s'] / row['step_s']:.1f}"]
    return head + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
