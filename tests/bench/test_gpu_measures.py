"""What stages of `make gpu` measure: TRL's steps, who waits for whom, and kernels beside torch."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import gpu_beside_trl, gpu_checks, gpu_device, gpu_kernels, gpu_profile

# Beside TRL


def beside(monkeypatch: pytest.MonkeyPatch, code: str, seconds: float = 60) -> gpu_beside_trl.TrlRow:
    """The row of a program in place of TRL's, which is given the job."""
    head = "import json, sys, time\njob = json.load(open(sys.argv[1]))\n"
    head += (
        "def told(*seconds, tokens=6): json.dump(dict(seconds=seconds, peak=0, tokens=tokens), open(job['out'], 'w'))\n"
    )
    monkeypatch.setattr(gpu_beside_trl, "PROGRAM", (sys.executable, "-S", "-c", head + code))
    monkeypatch.setattr(gpu_beside_trl, "NEEDED", ("torch",))
    shape, sizes, until = gpu_checks.qwen(*gpu_device.TOY["toy"]), gpu_device.REHEARSAL, time.monotonic() + seconds
    return gpu_beside_trl.beside("toy", shape, "paged", "cpu", sizes, until=until, least=0.1)


def test_a_row_of_trl_is_the_median_behind_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    row = beside(monkeypatch, "assert job['generation'] == 'paged' and job['parts'] == 1\ntold(9, 2, 4)")
    assert (row.step_s, row.steps, row.tokens, row.why) == (3.0, 2, 6, "")


def test_trl_that_fails_or_writes_less_is_a_row_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = beside(monkeypatch, "raise SystemExit('this TRL has no continuous batching')")
    assert failed.step_s is None and failed.why == "this TRL has no continuous batching"
    short = beside(monkeypatch, "told(9, 2, tokens=5)")
    assert short.step_s is None and short.why == "answers have 5 tokens in place of 6"
    warm = beside(monkeypatch, "told(9)")
    assert warm.step_s is None and warm.why == "no step was measured"


def test_trl_that_is_cut_short_keeps_the_steps_that_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    row = beside(monkeypatch, "told(9, 2)\ntime.sleep(60)", seconds=1)
    assert (row.step_s, row.steps) == (2.0, 1) and re.fullmatch(r"took more than \d s", row.why)
    assert beside(monkeypatch, "", seconds=0).why == "the time was up"


def test_parts_of_an_update_hold_as_many_tokens_as_ours() -> None:
    """512 answers of 512 tokens in micro-batches of 16,384: 32 answers each."""
    assert gpu_beside_trl.parts(gpu_device.FULL) == 16
    assert gpu_beside_trl.parts(gpu_device.Sizes(groups=1, samples=3, prompt=5, answer=5, micro_tokens=20)) == 3


# Where the time goes


def test_the_time_in_which_something_ran_counts_no_moment_twice() -> None:
    assert gpu_profile.covered([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (6.0, 6.5)]) == 5.0
    assert gpu_profile.covered([]) == 0.0


def test_who_waited_for_whom_is_read_from_calls_and_kernels() -> None:
    spans = [
        gpu_profile.Span("cudaStreamSynchronize", 1.0, 3.0, device=False),
        gpu_profile.Span("cudaMemcpyAsync", 2.5, 3.5, device=False),
        gpu_profile.Span("cudaDeviceSynchronize", 8.0, 9.0, device=False),
        gpu_profile.Span("cudaLaunchKernel", 4.0, 6.0, device=False),
        gpu_profile.Span("aten::mm", 0.0, 9.0, device=False),
        gpu_profile.Span("Memcpy DtoH", 0.0, 0.5, device=True),
        gpu_profile.Span("gemm", 1.0, 4.0, device=True),
    ]
    assert gpu_profile.waits_of(spans, 10.0) == gpu_profile.Waits(host=3.5, device=6.5)


def test_the_hosts_share_is_that_of_all_phases() -> None:
    """Of 2 + 3 s the device was busy for 1.5 and 3.1, which is rounded: 0.5 of 5 s."""
    waits, kernels = gpu_profile.Waits(0.1, 0.2), [("gemm", 2, 1.5)]
    phases = [
        gpu_profile.TimedPhase("sampling", 2.0, 2.2, 1.5, waits, kernels, []),
        gpu_profile.TimedPhase("learning", 3.0, 3.3, 3.1, waits, kernels, []),
    ]
    row = gpu_profile.row_of("0.5B", phases)
    assert row["host_share"] == pytest.approx(0.1) and row["phases"][1]["host_s"] == 0.0
    assert row["phases"][0]["host_waits_s"] == 0.1 and row["phases"][0]["kernels"] == [["gemm", 2, 1.5]]


@pytest.mark.slow
def test_a_profile_alone_is_told_by_phase(tmp_path: Path) -> None:
    assert gpu_profile.main(["--dry-run-on-cpu", "--out", str(tmp_path / "profile")]) == 0
    text = (tmp_path / "profile.md").read_text()
    phases = [text.index(f"### {name}") for name in ("sampling", "scoring", "learning", "optimiser")]
    assert phases == sorted(phases) and "| aten::mm |" in text


# Kernels


def case(name: str, ours: Callable[..., Any], torchs: Callable[..., Any], **work: Any) -> gpu_kernels.Case:
    return gpu_kernels.Case(name, lambda shape, device: (torch.ones(4, 2),), ours, torchs, **work)


def rows(*cases: gpu_kernels.Case, until: float = float("inf")) -> list[gpu_kernels.KernelRow]:
    ceiling = gpu_device.Ceiling(products=1e12, memory=1e9)
    return list(gpu_kernels.rows(cases, "cpu", toy=True, until=until, ceiling=ceiling))


def test_a_kernel_is_compared_on_copies_of_its_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both results are of ones, although each call doubles what it is given: 2 and 2.5 are a fifth of 2.5 apart."""
    monkeypatch.setattr(gpu_kernels, "missing", lambda device: "")
    monkeypatch.setattr(gpu_kernels, "seconds_of", lambda work, device, repeats: [work(), 32e-6][1])
    (row,) = rows(case("double", lambda x: x.mul_(2), lambda x: (x.mul_(2.5), 7), bytes_moved=lambda x: 8 * len(x)))
    assert row.difference == pytest.approx(0.2) and row.inputs == "4x2 float32"
    assert row.share == pytest.approx(32 / 1e9 / 32e-6) and row.bytes_moved == 32 and row.operations is None


def test_kernels_that_are_missing_or_fail_are_rows_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_kernels, "missing", lambda device: "")
    absent = case("absent", gpu_kernels.kernel("nobody_has_this", "f"), torch.neg)
    failing = case("failing", lambda x: x.view(3), torch.neg)
    fine = case("fine", torch.neg, torch.neg, operations=len)
    rows_of = rows(absent, failing, fine)
    assert re.fullmatch(r"assay\.engine\.torch\.kernels(\.nobody_has_this)? is not there", rows_of[0].why)
    assert rows_of[1].failed and rows_of[1].why.startswith("RuntimeError: ") and not rows_of[0].failed
    assert rows_of[2].difference == 0.0 and rows_of[2].operations == 4
    assert rows(fine, until=0.0)[0].why == "the time was up"
    monkeypatch.undo()
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert rows(fine)[0].why in ("no triton here", "no GPU here, and no TRITON_INTERPRET=1")


def test_the_share_of_a_kernel_is_that_of_the_limit_it_meets_first() -> None:
    """A thousandth of a second of reading, half of it of products, in two thousandths."""
    ceiling = gpu_device.Ceiling(products=1e12, memory=1e9)
    assert gpu_kernels.share_of(2e-3, 1_000_000, 500_000_000, ceiling) == pytest.approx(0.5)
    assert gpu_kernels.share_of(2e-3, None, 500_000_000, ceiling) == pytest.approx(0.25)
