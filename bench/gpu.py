"""Everything that a GPU can show, in at most eight minutes and without network, one stage after the other.

    make gpu                                    # or: python -m bench.gpu --minutes 6 [--out FILE]
    python -m bench.gpu --stage trl kernels     # some stages alone
    python -m bench.gpu --dry-run-on-cpu        # the same script at toy size: says nothing about speed

checks    log-probabilities, gradients and sampling beside the processor's, and a training run
models    speed and memory of random models of 0.1, 0.5 and 1.5 billion parameters, next to the card's limits
trl       TRL's trainer on the same work, with `generate` and with transformers' continuous batching, where installed
profile   where a step's time goes: sampling, scoring, learning, the optimiser, and the host for which the card waits
kernels   each Triton kernel beside torch's operations

FILE.json and FILE.md are replaced after each number, so a run that is cut short keeps what it measured. A stage that
fails is told with its error, the next one goes on, and the exit code is 1, as where a check fails. A missed goal is
told. Needs torch with CUDA, numpy, safetensors, tokenizers and jinja2; nothing of this repository has to be installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.gpu_device import FULL, MODELS, REHEARSAL, TOY, Ceiling, Sizes, empty, machine
from bench.gpu_record import Record

NEEDED = ("torch", "numpy", "safetensors", "tokenizers", "jinja2")
EXIT_SETUP = 78
MINUTES = 6.0
GRACE = 110.0  # seconds for what was begun in time; then the process ends with what is on disk
PROFILED = ("0.5B", "1.5B", "toy")


@dataclass(frozen=True)
class Bench:
    """What every stage is given: the device, how much is done on it, and where results go."""

    device: str
    toy: bool
    models: dict[str, tuple[int, ...]]
    sizes: Sizes
    ceiling: Ceiling
    record: Record


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run-on-cpu", action="store_true", help="toy size on the processor")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="start nothing new after this; default 6")
    parser.add_argument("--stage", nargs="+", choices=list(STAGES), default=list(STAGES), help="default all, in order")
    parser.add_argument("--out", type=Path, default=Path("gpu"), help="writes FILE.md and FILE.json anew; default gpu")
    arguments = parser.parse_args(argv)
    began = time.monotonic()
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        return refuse(f"these packages are missing: {', '.join(missing)}. pip install {' '.join(missing)}")
    import torch

    toy = arguments.dry_run_on_cpu
    if not toy and not torch.cuda.is_available():
        built = torch.version.cuda
        why = (
            f"torch is built for CUDA {built} and sees none: look at nvidia-smi"
            if built
            else "this torch is a CPU build"
        )
        return refuse(f"there is no GPU ({why}). --dry-run-on-cpu runs the same script at toy size.")
    device = "cpu" if toy else "cuda"
    stages = tuple(name for name in STAGES if name in arguments.stage)
    ceiling = Ceiling.of(device, size=512 if toy else 8192)
    record = Record(arguments.out, machine=machine(device) | ceiling.facts, toy=toy, stages=stages)
    bench = Bench(device, toy, TOY if toy else MODELS, REHEARSAL if toy else FULL, ceiling, record)
    left = began + 60 * arguments.minutes + GRACE - time.monotonic()
    last = threading.Timer(left, cut_short, [record])
    last.daemon = True
    last.start()
    try:
        fine = run(bench, stages, began=began, minutes=arguments.minutes)
    finally:
        last.cancel()
    print(record.page)
    return 0 if fine and all(check["passed"] for check in record.data["checks"]) else 1


def refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return EXIT_SETUP


def run(bench: Bench, stages: Sequence[str], *, began: float, minutes: float) -> bool:
    """The stages in their order, whether or not one raises; says whether none did. Each may begin something new until
    its share of the minutes and those before it are over: what one leaves, the next has.
    """
    whole, part, fine = sum(STAGES[name][1] for name in stages), 0.0, True
    for name in stages:
        work, share = STAGES[name]
        part += share
        until, start = began + 60 * minutes * part / whole, time.monotonic()
        if start > until:
            bench.record.mark(name, state="not begun: the time was up")
            continue
        bench.record.mark(name, state="running")
        try:
            empty(bench.device)
            state: dict[str, Any] = {"state": "done", "note": work(bench, until)}
        except Exception as error:
            traceback.print_exc()
            state, fine = {"state": "failed", "note": f"{type(error).__name__}: {error}"[:500]}, False
        bench.record.mark(name, **state, seconds=time.monotonic() - start)
        print(f"{name}: {state['state']}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return fine


def cut_short(record: Record, leave: Callable[[int], object] = os._exit) -> None:
    """Ends a run that hangs: what was measured is on disk, and the page says in which stage it ended."""
    for name, stage in record.data["stages"].items():
        if stage["state"] == "running":
            record.mark(name, state="failed", note="it was still running when the run had to end")
    leave(1)


def checks(bench: Bench, until: float) -> str:
    from bench import gpu_checks

    small = gpu_checks.qwen(64, 2, 4, 2, 128, 199) if bench.toy else gpu_checks.qwen(512, 8, 8, 2, 1536, 8000)
    size = {"groups": 2, "samples": 2, "max_new": 6} if bench.toy else {"groups": 8, "samples": 8, "max_new": 64}
    for check in gpu_checks.parity(bench.device, shape=small, **size):
        bench.record.add("checks", asdict(check))
    if time.monotonic() > until:
        return "no training run: the time was up"
    run = {"hidden": 32, "imitate": 50, "reinforce": 2, "prompts": 16}
    if not bench.toy:
        run = {"hidden": 128, "imitate": 60, "reinforce": 10, "prompts": 128}
    for check in gpu_checks.training(bench.device, **run):
        bench.record.add("checks", asdict(check))
    return ""


def models(bench: Bench, until: float) -> str:
    for name in bench.models:
        _model(bench, name, until)
    return ""


def _model(bench: Bench, name: str, until: float) -> None:
    from bench.gpu_models import measured

    row = measured(name, bench.models[name], bench.device, bench.sizes, until, bench.ceiling)
    bench.record.add("rows", asdict(row) | {"step_s": row.step_s})


def trl(bench: Bench, until: float) -> str:
    """Ours is measured too where stage `models` was left out."""
    from bench import gpu_beside_trl as others
    from bench.gpu_checks import qwen

    least = 1.0 if bench.toy else others.LEAST
    for name in sorted(bench.models, key=others.ORDER.index):
        shape = qwen(*bench.models[name])  # type: ignore[arg-type]
        for configuration in others.CONFIGURATIONS:
            row = others.beside(name, shape, configuration, bench.device, bench.sizes, until=until, least=least)
            bench.record.add("trl", asdict(row))
            if row.step_s is not None and bench.record.row("rows", model=name) is None:
                _model(bench, name, until)
    return ""


def profile(bench: Bench, until: float) -> str:
    from bench import gpu_profile

    late = []
    for name in (name for name in bench.models if name in PROFILED):
        if time.monotonic() > until:
            late.append(name)
            continue
        phases = gpu_profile.profile(bench.models[name], bench.device, gpu_profile.shortened(bench.sizes))
        bench.record.add("profile", gpu_profile.row_of(name, phases))
    return f"not {', '.join(late)}: the time was up" if late else ""


def kernels(bench: Bench, until: float) -> str:
    from bench.gpu_kernel_cases import CASES
    from bench.gpu_kernels import rows

    failed = []
    for row in rows(CASES, bench.device, toy=bench.toy, until=until, ceiling=bench.ceiling):
        bench.record.add("kernels", asdict(row))
        failed += [row.name] if row.failed else []
    if failed:
        raise RuntimeError(f"these kernels failed: {', '.join(failed)}")
    return ""


# Name -> the stage, which says what it left out, and its share of the minutes.
STAGES: dict[str, tuple[Callable[[Bench, float], str], float]] = {
    "checks": (checks, 0.15),
    "models": (models, 0.27),
    "trl": (trl, 0.35),
    "profile": (profile, 0.12),
    "kernels": (kernels, 0.11),
}


if __name__ == "__main__":
    sys.exit(main())
