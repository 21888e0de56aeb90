"""Stage `trl` of `bench.gpu`: TRL's trainer on the same work and card, with each of its ways to generate.

Each configuration runs in a process of its own (`bench.gpu_trl`), which writes down every step when it ends. So a
configuration that fails or takes too long is a row with its reason, or with the steps that it did.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.gpu_device import WARM_UP, Sizes

ROOT = Path(__file__).parents[1]
NEEDED = ("trl", "transformers", "datasets")
PROGRAM = (sys.executable, "-m", "bench.gpu_trl")
Configuration = Literal["generate", "paged"]
CONFIGURATIONS: tuple[Configuration, ...] = ("generate", "paged")
ORDER = ("0.5B", "1.5B", "0.1B", "toy")  # what the time suffices for first
STEPS = WARM_UP + 2
SECONDS = 90.0  # for a configuration on one model, imports included
ENOUGH = 30.0  # seconds after which a configuration takes no further step, once one was measured
WHOLE = 0.9  # of the length that was asked for: shorter answers are other work
LEAST = 25.0  # seconds below which none is begun


@dataclass(frozen=True)
class TrlRow:
    """A configuration of TRL on one model: seconds of a step and peak memory, or why there are none."""

    model: str
    configuration: Configuration
    step_s: float | None = None
    peak_gib: float | None = None
    steps: int = 0  # that were measured
    tokens: float | None = None  # of an answer, in the mean
    why: str = ""


def beside(
    model: str, shape: Any, configuration: Configuration, device: str, sizes: Sizes, *, until: float, least: float
) -> TrlRow:
    """Micro-batches are of as many answers as ours hold, with their prompts."""
    from assay.policy.hf_config import config_to_hf

    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        return TrlRow(model, configuration, why=f"{', '.join(missing)} not installed")
    left = min(SECONDS, until - time.monotonic())
    if left < least:
        return TrlRow(model, configuration, why="the time was up")
    with tempfile.TemporaryDirectory() as folder:
        out, job = Path(folder) / "out.json", Path(folder) / "job.json"
        about = {"device": device, "steps": STEPS, "parts": parts(sizes), "out": str(out), "enough": ENOUGH}
        about |= {"generation": configuration, "config": config_to_hf(shape)}
        job.write_text(json.dumps(asdict(sizes) | about))
        why = _ran(job, left)
        told = json.loads(out.read_text()) if out.exists() else {"seconds": [], "peak": 0, "tokens": None}
    return row_of(model, configuration, told, why, device=device, answer=sizes.answer)


def parts(sizes: Sizes) -> int:
    """The fewest equal micro-batches of an update of which none has more tokens than ours have."""
    rows, each = sizes.answers, sizes.prompt + sizes.answer
    fits = max(sizes.micro_tokens, each)
    return next(n for n in range(1, rows + 1) if rows % n == 0 and rows // n * each <= fits)


def row_of(
    model: str, configuration: Configuration, told: dict[str, Any], why: str, *, device: str, answer: int
) -> TrlRow:
    """The median of the steps after the first; where it was cut short, of those that it did. Nothing is compared with
    answers that are much shorter than ours.
    """
    from assay.engine.footprint import CONTEXT

    steps = told["seconds"][WARM_UP:]
    if not steps:
        return TrlRow(model, configuration, why=why or "no step was measured")
    if told["tokens"] < WHOLE * answer:
        why = f"answers have {told['tokens']:.0f} tokens in place of {answer}"
        return TrlRow(model, configuration, tokens=told["tokens"], why=why)
    most = (told["peak"] + CONTEXT) / 2**30 if device == "cuda" else None
    return TrlRow(model, configuration, statistics.median(steps), most, len(steps), told["tokens"], why)


def _ran(job: Path, seconds: float) -> str:
    """Runs a job, and says why it did not end by itself."""
    command = [*PROGRAM, str(job)]
    try:
        reply = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"took more than {seconds:.0f} s"
    lines = reply.stderr.strip().splitlines() or [f"it ended with {reply.returncode} and said nothing"]
    return lines[-1][:160] if reply.returncode else ""
