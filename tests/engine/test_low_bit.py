"""Moments of eight bits: near the moments of 32, a quarter of their memory, saved and taken up bit for bit."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import pytest
import torch
from engine_cases import batch_of, engine_of, rows_of
from rounding import units
from small_runs import Shell, make_model, steps_of, train_line
from test_engine_learner import learn_again

from assay.engine import low_bit
from assay.engine.footprint import Work, budget
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW, Optimiser
from assay.errors import ConfigError, StorageError
from assay.known import recipe
from assay.policy.config import parameters
from assay.run.configure import from_data, override
from assay.run.experiment import Experiment, Machine, check
from assay.source import Pool, Share

there = pytest.mark.skipif(importlib.util.find_spec("bitsandbytes") is None, reason="bitsandbytes is not installed")
VALUES = AdamW(betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, bits=8)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


LENGTHS = [5, 1, 9, 3, 7, 2, 12, 1, 4]


def matrix_and_norm(values: AdamW) -> tuple[Optimiser, dict[str, torch.nn.Parameter]]:
    generator = torch.Generator().manual_seed(0)
    named = {
        "norm": torch.nn.Parameter(torch.ones(10)),
        "matrix": torch.nn.Parameter(torch.randn(33, 20, generator=generator)),  # two blocks and a half
    }
    return Optimiser(named, values), named


def steps(optimiser: Optimiser, named: dict[str, torch.nn.Parameter], count: int, seed: int = 1) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        for parameter in named.values():
            assert parameter.grad is not None
            parameter.grad.copy_(torch.randn(parameter.shape, generator=generator))
        optimiser.step(lr=0.01, clip=None)


@pytest.mark.slow
@there
def test_steps_are_those_of_adamw_within_what_codes_can_say() -> None:
    """A code is off by at most half the widest gap between codes, 0.9/64/2 of a block's largest number for the first
    moment and 0.9/128/2 for the second; a step by what that makes of m / sqrt(v)."""
    optimiser, named = matrix_and_norm(VALUES)
    exact = {name: p.detach().double().clone() for name, p in named.items()}
    mean, square = ({name: torch.zeros_like(p) for name, p in exact.items()} for _ in range(2))
    generator = torch.Generator().manual_seed(1)
    (b1, b2), lr = VALUES.betas, 0.01
    for step in range(1, 7):
        steps(optimiser, named, 1, seed=step)
        generator = torch.Generator().manual_seed(step)
        for name, p in exact.items():
            g = torch.randn(p.shape, generator=generator).double()
            mean[name] = b1 * mean[name] + (1 - b1) * g
            square[name] = b2 * square[name] + (1 - b2) * g.square()
            m, v = mean[name] / (1 - b1**step), square[name] / (1 - b2**step)
            p.mul_(1 - lr * (0.1 if p.ndim == 2 else 0.0)).sub_(lr * m / (v.sqrt() + 1e-6))
    torch.testing.assert_close(
        named["norm"].detach().double(), exact["norm"], atol=units(6 * 4, exact["norm"]), rtol=0
    )  # six steps
    off = (named["matrix"].detach().double() - exact["matrix"]).abs()
    assert 1e-6 < float(off.mean()) < 0.05 * 6 * lr
    state = optimiser.view()
    codes, scales = state["exp_avg/matrix"], state["exp_avg_scale/matrix"]
    assert codes.dtype == torch.uint8 and codes.shape == (33, 20) and scales.shape == (3,)
    assert optimiser.own.coded is not None
    said = optimiser.own.coded.maps[0][codes.long()].flatten() * scales.repeat_interleave(256)[:660]
    bound = 6 * 0.9 / 64 / 2 * scales.repeat_interleave(256)[:660]  # of six roundings
    assert ((said - mean["matrix"].flatten()).abs() <= bound).all()


@pytest.mark.slow
@there
def test_a_quarter_of_the_memory_and_what_is_planned() -> None:
    engine = engine_of("grouped", hidden=128, head_dim=32, ffn=256, optimiser=VALUES)
    assert engine.optimiser is not None and engine.optimiser.own.coded is not None
    coded = engine.optimiser.own.coded
    held = sum(x.nbytes for x in (*coded.codes, *coded.scales, *engine.optimiser.own.vectors.values()))
    work = Work(answers=8, group=8, prompt=8, max_new=8, micro_tokens=64, cache_bytes=1 << 20, optimiser_bits=8)
    name = "optimiser, two moments"
    planned = {i.name: i.bytes for i in budget(engine.model.config, work).items}[name]
    wide = dataclasses.replace(work, optimiser_bits=32)
    assert {i.name: i.bytes for i in budget(engine.model.config, wide).items}[name] == 8 * parameters(
        engine.model.config
    )
    assert held == pytest.approx(planned, rel=0.1) and held < 0.3 * 8 * parameters(engine.model.config)


def advance(engine: LocalEngine, count: int) -> None:
    batch = batch_of(*rows_of(LENGTHS))
    for _ in range(count):
        learn_again(engine, batch, tokens=25)
        engine.step(lr=1e-2, clip=1.0)


@pytest.mark.slow
@there
def test_a_state_goes_on_bit_for_bit() -> None:
    engine = engine_of("qwen3", optimiser=VALUES)
    advance(engine, 2)
    saved = engine.state()
    advance(engine, 2)
    other = engine_of("qwen3", seed=9, optimiser=VALUES)
    advance(other, 1)
    other.load(saved)
    advance(other, 2)
    want, got = engine.state(), other.state()
    assert want.keys() == got.keys() and any(name.startswith("optimiser/exp_avg_sq_scale/") for name in want)
    assert all(torch.equal(want[k], got[k]) for k in want if k != "version")


@there
@pytest.mark.slow
def test_pieces_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for piece in (1 << 22, 256):
        monkeypatch.setattr(low_bit, "PIECE", piece)
        optimiser, named = matrix_and_norm(VALUES)
        steps(optimiser, named, 3)
        found.append(named["matrix"].detach().clone())
    assert torch.equal(*found)


@pytest.mark.slow
@there
@pytest.mark.parametrize("bits", [8, 32])
def test_moments_of_another_width_are_refused(bits: int) -> None:
    saved, other = (
        matrix_and_norm(dataclasses.replace(VALUES, bits=40 - bits)),
        matrix_and_norm(dataclasses.replace(VALUES, bits=bits)),
    )
    steps(*saved, 1)
    with pytest.raises(StorageError, match=r"machine\.optimiser_bits must be that|no fitting 'exp_avg_scale/"):
        other[0].load(saved[0].view())


def of(bits: object) -> Experiment:
    made = Experiment(recipe("grpo"), "none", Pool((Share("countdown", (3,)),)))
    return override(made, "machine.optimiser_bits", bits)


def test_bits_are_read_from_the_command_line_and_from_a_run() -> None:
    assert of("8").machine.optimiser_bits == of(8).machine.optimiser_bits == 8
    assert from_data(Machine, {"optimiser_bits": 8}).optimiser_bits == 8
    for wrong in ("4", 4, "eight"):
        with pytest.raises(ConfigError, match=r"machine\.optimiser_bits is one of 32, 8, not"):
            of(wrong)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check(of(32))
    with pytest.raises(ConfigError, match=r"needs the package bitsandbytes: `pip install 'assay-rl\[low-bit\]'`"):
        check(of(8))


@there
@pytest.mark.slow
def test_a_run_with_eight_bits_is_saved_and_goes_on(tmp_path: Path, shell: Shell) -> None:
    model = make_model(tmp_path / "model")
    line = train_line(model, tmp_path / "run", "--machine.optimiser-bits", "8", "--steps", "2")
    assert shell(*line).code == 0
    assert shell("resume", str(tmp_path / "run"), "--steps", "3").code == 0
    assert steps_of(tmp_path / "run") == [1, 2, 3]
