"""Where a step's time goes on a GPU: by phase, what the device did, for how long, and who waited for whom.

    python -m bench.gpu_profile --out FILE              # a minute a model; writes FILE.md as it goes
    python -m bench.gpu_profile --dry-run-on-cpu

A round of `bench.gpu` with random weights is recorded by torch's profiler, after one that is not: sampling, scoring of
what was sampled, learning (forward and backward passes of an update) and the optimiser's step. *Busy* is the time in
which at least one kernel ran. What is left of the time without a recording is the *host's*: the device waited. The
recording slows the host, so the waits that it saw stand beside: the host's for the device are calls that return
when the device is ready, the one at the end of each phase among them, which the clock asks for.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.gpu_device import FULL, MODELS, REHEARSAL, TOY, Sizes, machine, now
from bench.gpu_models import Workload

ANSWER = 128  # tokens; an event is kept for every kernel, and three times as many fill the memory of the host
SHOWN = 24  # kernels a phase
WAITS = re.compile(r"(cuda|hip)((Stream|Device|Event)Synchronize|Memcpy)")  # calls of the host


@dataclass(frozen=True)
class Span:
    """An event of a recording: begin and end in seconds, and whether the device did it or the host."""

    name: str
    begin: float
    end: float
    device: bool


@dataclass(frozen=True)
class Waits:
    """Seconds of a recorded phase: the host waited for the device, and the device for the host."""

    host: float
    device: float


@dataclass(frozen=True)
class TimedPhase:
    """What was seen of one phase: seconds, and for each kernel how often it ran and for how long."""

    name: str
    wall: float  # without the profiler
    recorded: float  # with it
    busy: float
    waits: Waits
    kernels: list[tuple[str, int, float]]
    host: list[tuple[str, int, float]]

    @property
    def host_s(self) -> float:
        """Seconds in which the device had nothing to do, without the profiler."""
        return max(0.0, self.wall - self.busy)

    def text(self) -> str:
        launched = sum(count for _, count, _ in self.kernels)
        lines = [
            f"### {self.name}",
            "",
            f"{self.wall:.3f} s, recorded {self.recorded:.3f} s; busy {self.busy:.3f} s in {launched:,} kernels, host "
            f"{self.host_s:.3f} s. Recorded waits: the host's {self.waits.host:.3f} s, the device's "
            f"{self.waits.device:.3f} s.",
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


def waits_of(spans: Sequence[Span], recorded: float) -> Waits:
    """Of a phase that took so long while it was recorded. A copy that the host starts and does not wait for counts with
    the microseconds of its call.
    """
    host = covered((span.begin, span.end) for span in spans if not span.device and WAITS.match(span.name))
    busy = covered((span.begin, span.end) for span in spans if span.device)
    return Waits(host, max(0.0, recorded - busy))


def row_of(model: str, phases: Sequence[TimedPhase]) -> dict[str, Any]:
    """A step as data: seconds by phase, and the host's share of all."""
    total, host = sum(phase.wall for phase in phases), sum(phase.host_s for phase in phases)
    on_device = any(phase.kernels for phase in phases)
    return {
        "model": model,
        "host_share": host / total if on_device else None,
        "phases": [
            {
                "name": phase.name,
                "wall_s": phase.wall,
                "busy_s": phase.busy if on_device else None,
                "host_s": phase.host_s if on_device else None,
                "host_waits_s": phase.waits.host,
                "device_waits_s": phase.waits.device if on_device else None,
                "kernels": [list(kernel) for kernel in phase.kernels[:SHOWN]],
            }
            for phase in phases
        ],
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run-on-cpu", action="store_true", help="toy size on the processor")
    parser.add_argument("--models", nargs="*", default=["0.5B", "1.5B"], choices=list(MODELS))
    parser.add_argument("--out", type=Path, default=Path("gpu-profile"), help="writes FILE.md; default gpu-profile")
    arguments = parser.parse_args(argv)
    device = "cpu" if arguments.dry_run_on_cpu else "cuda"
    models = TOY if arguments.dry_run_on_cpu else {name: MODELS[name] for name in arguments.models}
    facts = ", ".join(f"{name} {value}" for name, value in machine(device).items())
    text = f"# Where a step's time goes\n\n{facts}; answers of {ANSWER} tokens, else as `bench.gpu`.\n"
    sizes = REHEARSAL if arguments.dry_run_on_cpu else shortened(FULL)
    page = arguments.out.with_name(f"{arguments.out.name}.md")
    for name, numbers in models.items():
        text += f"\n## {name}\n"
        for phase in profile(numbers, device, sizes):
            text += "\n" + phase.text()
            page.write_text(text)
    print(text)
    return 0


def shortened(sizes: Sizes) -> Sizes:
    """The same prompts with answers that a recording can hold."""
    return dataclasses.replace(sizes, answer=min(sizes.answer, ANSWER))


def profile(numbers: Sequence[int], device: str, sizes: Sizes) -> list[TimedPhase]:
    """The phases of a step. One whole step goes before, so that nothing is compiled or recorded in what is timed."""
    from bench.gpu_checks import qwen

    workload = Workload(qwen(*numbers), device, sizes)  # type: ignore[arg-type]
    workload.learn(workload.sample(0))
    made = workload.sample(1)
    workload.score(made)
    batch = workload.batch(made)
    return [
        _timed("sampling", device, lambda: workload.sample(1)),
        _timed("scoring", device, lambda: workload.score(made)),
        _timed("learning", device, lambda: workload.gather(batch)),
        _timed("optimiser", device, workload.step),
    ]


def _timed(name: str, device: str, work: Callable[[], Any]) -> TimedPhase:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recording

    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    wall = _seconds(device, work)
    with recording(activities=kinds, acc_events=True) as seen:
        recorded = _seconds(device, work)
    spans = [_span(event) for event in seen.events() or ()]
    kernels: dict[str, list[float]] = defaultdict(list)
    for span in spans:
        if span.device:
            kernels[span.name[:150]].append(span.end - span.begin)
    host = [(one.key, one.count, one.self_cpu_time_total / 1e6) for one in seen.key_averages()]
    return TimedPhase(
        name,
        wall,
        recorded,
        covered((span.begin, span.end) for span in spans if span.device),
        waits_of(spans, recorded),
        sorted(((key, len(each), sum(each)) for key, each in kernels.items()), key=lambda row: -row[2]),
        sorted(host, key=lambda row: -row[2]),
    )


def _span(event: Any) -> Span:
    times = event.time_range
    return Span(event.name, times.start / 1e6, times.end / 1e6, event.device_type.name == "CUDA")


def _seconds(device: str, work: Callable[[], Any]) -> float:
    began = now(device)
    work()
    return now(device) - began


if __name__ == "__main__":
    sys.exit(main())
