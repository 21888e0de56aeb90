"""Where a step's time goes on a GPU: by phase, what the device did, for how long, and for how long it waited.

    python -m bench.gpu_profile --out FILE              # a minute a model; writes FILE.md as it goes
    python -m bench.gpu_profile --dry-run-on-cpu

A round of `bench.gpu` with random weights is recorded by torch's profiler, after one that is not: sampling, then
learning. *Busy* is the time in which at least one kernel ran; what is left of the wall time the device waited for the
host. Recording slows the host, so the wall time without it stands beside.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import gpu

ANSWER = 128  # tokens; an event is kept for every kernel, and three times as many fill the memory of the host
SHOWN = 24  # kernels a phase


@dataclass(frozen=True)
class Phase:
    """What was seen of one phase: seconds, and for each kernel how often it ran and for how long."""

    name: str
    wall: float  # without the profiler
    recorded: float  # with it
    busy: float
    kernels: list[tuple[str, int, float]]
    host: list[tuple[str, int, float]]

    def text(self) -> str:
        launched = sum(count for _, count, _ in self.kernels)
        lines = [
            f"### {self.name}",
            "",
            f"{self.wall:.3f} s, recorded {self.recorded:.3f} s; busy {self.busy:.3f} s in {launched:,} kernels.",
            "",
            "| kernel | times | s | of busy |",
            "|-|-|-|-|",
        ]
        total = max(self.busy, 1e-9)
        lines += [f"| {named} | {count:,} | {s:.4f} | {s / total:.3f} |" for named, count, s in self.kernels[:SHOWN]]
        lines += ["", "| host | times | s of its own |", "|-|-|-|"]
        lines += [f"| {named} | {count:,} | {s:.4f} |" for named, count, s in self.host[: SHOWN // 2]]
        return "\n".join(lines) + "\n"


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of the union of intervals (begin, end)."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run-on-cpu", action="store_true", help="toy size on the processor")
    parser.add_argument("--models", nargs="*", default=["0.5B", "1.5B"], choices=list(gpu.MODELS))
    parser.add_argument("--out", type=Path, default=Path("gpu-profile"), help="writes FILE.md; default gpu-profile")
    arguments = parser.parse_args(argv)
    device = "cpu" if arguments.dry_run_on_cpu else "cuda"
    models = gpu.TOY if arguments.dry_run_on_cpu else {name: gpu.MODELS[name] for name in arguments.models}
    full = dataclasses.replace(gpu.FULL, answer=ANSWER)
    facts = ", ".join(f"{name} {value}" for name, value in gpu.machine(device).items())
    text = f"# Where a step's time goes\n\n{facts}; answers of {full.answer} tokens, else as `bench.gpu`.\n"
    for name, numbers in models.items():
        text += f"\n## {name}\n"
        for phase in profile(numbers, device, gpu.REHEARSAL if arguments.dry_run_on_cpu else full):
            text += "\n" + phase.text()
        arguments.out.with_suffix(".md").write_text(text)
    print(text)
    return 0


def profile(numbers: Sequence[int], device: str, sizes: gpu.Sizes) -> list[Phase]:
    from bench.gpu_checks import qwen

    sample, learn = gpu.workload(qwen(*numbers), device, sizes, 8 << 30)  # type: ignore[arg-type]
    learn(sample(0))
    made = sample(1)
    return [
        _recorded("sampling", device, lambda: sample(1)),
        _recorded("learning", device, lambda: learn(made)),
    ]


def _recorded(name: str, device: str, work: Callable[[], Any]) -> Phase:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recording

    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    wall = _seconds(device, work)
    with recording(activities=kinds, acc_events=True) as seen:
        recorded = _seconds(device, work)
    kernels: dict[str, list[float]] = defaultdict(list)
    spans = []
    for event in seen.events() or ():
        if event.device_type.name == "CUDA":
            spans.append((event.time_range.start, event.time_range.end))
            kernels[event.name[:150]].append(event.time_range.elapsed_us() / 1e6)
    host = [(one.key, one.count, one.self_cpu_time_total / 1e6) for one in seen.key_averages()]
    return Phase(
        name,
        wall,
        recorded,
        covered(spans) / 1e6,
        sorted(((key, len(each), sum(each)) for key, each in kernels.items()), key=lambda row: -row[2]),
        sorted(host, key=lambda row: -row[2]),
    )


def _seconds(device: str, work: Callable[[], Any]) -> float:
    began = gpu.now(device)
    work()
    return gpu.now(device) - began


if __name__ == "__main__":
    sys.exit(main())
