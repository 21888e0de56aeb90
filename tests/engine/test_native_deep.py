"""The core under sanitizers, and its 64-bit ARM variant under an emulator. `make test-deep`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from engine_cases import assert_same, batch_of, exact_scores, model_of, naive
from missing_core import variants
from small_runs import ROOT

from assay.engine.interface import Span
from assay.engine.native import build
from assay.engine.native.engine import NativeEngine
from assay.engine.native.weights import TABLE
from assay.engine.optimiser import AdamW

pytestmark = pytest.mark.deep

TESTS = (
    "test_native",
    "test_native_again",
    "test_native_bf16",
    "test_native_lora",
    "test_stems",
    "test_values",
    "test_engine_learner",
    "test_engine_sampler",
    "test_kept",
    "test_kept_rounds",
    "test_loop_invariance",
)
COUNT, LENGTH = 3, 21


def test_no_address_is_wrong_and_nothing_is_undefined() -> None:
    """The tests of the engine on a build that stops at the first bad access or undefined operation."""
    preload = []
    for library in ("libasan.so", "libstdc++.so"):  # the second, so that the first finds what throws exceptions
        command = [build.compiler(), f"-print-file-name={library}"]
        preload.append(subprocess.run(command, capture_output=True, text=True).stdout.strip())
    environment = os.environ | {
        build.FLAGS: "-fsanitize=address,undefined -fno-sanitize-recover=all -g",
        "LD_PRELOAD": " ".join(preload),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
    }
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not forked"]
    line += [str(path) for name in TESTS for path in (ROOT / "tests").rglob(f"{name}.py")]
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("family", ["grouped", "qwen3", "biased"])
def test_the_arm_variant_gives_the_numbers_under_an_emulator(family: str, tmp_path: Path) -> None:
    compiler, emulator = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
    if not compiler or not emulator:
        pytest.skip("needs Debian's packages qemu-user and g++-aarch64-linux-gnu")
    program = tmp_path / "driver"
    flags = [f for f in build.COMMON if f not in ("-shared", "-fPIC")]
    subprocess.run([compiler, *flags, "-static", str(ROOT / "tests/core_driver.cpp"), "-o", str(program)], check=True)
    check([emulator, str(program)], family, tmp_path)


@pytest.mark.parametrize("variant", variants("fp32"))
def test_the_driver_itself_gives_the_numbers(variant: build.Variant, tmp_path: Path) -> None:
    program = tmp_path / "driver"
    flags = [f for f in (*build.COMMON, *variant.flags) if f not in ("-shared", "-fPIC")]
    source = str(ROOT / "tests/core_driver.cpp")
    subprocess.run([build.compiler(), *flags, source, "-o", str(program)], check=True)
    check([str(program)], "qwen3", tmp_path)


@pytest.mark.parametrize("family", ["grouped", "qwen3"])
def test_no_two_threads_touch_the_same_number_without_order(family: str, tmp_path: Path) -> None:
    """Sampling with more requests than slots, and both passes, on a build that stops at the first race."""
    program = tmp_path / "driver"
    flags = [f for f in (*build.COMMON, *build.chosen("fp32").flags) if f not in ("-shared", "-fPIC")]
    line = [build.compiler(), *flags, "-fsanitize=thread", "-g", str(ROOT / "tests/core_driver.cpp")]
    subprocess.run([*line, "-o", str(program)], check=True)
    check(["env", "TSAN_OPTIONS=halt_on_error=1 exitcode=66", str(program)], family, tmp_path)


def check(command: list[str], family: str, folder: Path) -> None:
    """For prompts with nothing in common, and with a stem."""
    for stem in (0, 20):
        check_behind(stem, command, family, folder)


def check_behind(stem: int, command: list[str], family: str, folder: Path) -> None:
    """Samples, scores and differentiates with the program; compares with the slow, obvious way in fp64."""
    engine = NativeEngine(model_of(family), end_ids=frozenset(), precision="fp32", optimiser=AdamW())
    random = np.random.default_rng(0)
    common = random.integers(0, 13, stem).astype(np.int32)
    prompts = [np.concatenate([common, random.integers(0, 13, n).astype(np.int32)]) for n in (1, 5, 17)]
    rows = COUNT * len(prompts)
    coefficients = random.normal(size=rows * LENGTH).astype(np.float32)
    with (folder / "in").open("wb") as file:

        def put(*arrays: np.ndarray, sized: bool = True) -> None:
            for array in arrays:
                if sized:
                    file.write(np.int32(array.size).tobytes())
                file.write(array.tobytes())

        c = engine.model.config
        sizes = [c.layers, c.hidden, c.heads, c.kv_heads, c.head_dim, c.ffn, c.vocab, c.context, c.qk_norm, 1]
        put(np.array(sizes, np.int32), np.array([c.norm_eps], np.float32), sized=False)
        table = engine.weights.table()
        for number, stack in enumerate(engine.weights.stacks):
            table[number // 4 * TABLE + number % 4 * 2] = stack.matrix().detach()
        put(*(np.zeros(0, np.float32) if w is None else w.detach().numpy() for w in table))
        put(np.array([COUNT, LENGTH, stem], np.int32), sized=False)
        put(np.concatenate(prompts), np.cumsum([0, *map(len, prompts)]).astype(np.int32))
        put(random.random(rows * LENGTH), coefficients, sized=False)
    subprocess.run([*command, str(folder / "in"), str(folder / "out")], check=True, timeout=600)
    words = np.fromfile(folder / "out", np.float32)
    ids, old, logp = words[: rows * LENGTH].view(np.int32), *np.split(words[rows * LENGTH : 3 * rows * LENGTH], 2)
    assert len(np.unique(ids)) > 5 and ((ids >= 0) & (ids < 13)).all()
    assert old.tobytes() == logp.tobytes(), "sampler and learner"
    contexts = [p for p in prompts for _ in range(COUNT)]
    batch = batch_of(contexts, list(ids.reshape(rows, LENGTH)), advantage=coefficients)
    spans = [Span(c, answer) for c, answer in zip(contexts, ids.reshape(rows, LENGTH))]
    exact_scores(engine.model, spans).require(logp=logp)
    engine.weights.gather()
    assert engine.weights.gathered is not None
    rest = words[3 * rows * LENGTH :]
    for place in engine.weights.gathered:
        if place is not None:
            value, rest = rest[: place.numel()], rest[place.numel() :]
            place.copy_(torch.from_numpy(value.copy()).view_as(place))
    assert len(rest) == 0
    if engine.model.config.tied:  # the driver keeps the two gradients of a tied matrix apart
        head = engine.model.lm_head.weight
        assert head.grad is not None
        head.grad.add_(torch.from_numpy(_head_of(words, engine, rows).copy()).view_as(head))
    engine.hand_out()
    got = {name: p.grad for name, p in engine.model.named_parameters() if p.grad is not None}
    assert_same(got, naive(engine, batch, spread=0.0))


def _head_of(words: np.ndarray, engine: NativeEngine, rows: int) -> np.ndarray:
    """The output layer's own gradient, which the embedding's has overwritten."""
    assert engine.weights.gathered is not None
    at = 3 * rows * LENGTH + sum(p.numel() for p in engine.weights.gathered[:-3] if p is not None)
    return words[at : at + engine.weights.gathered[-3].numel()]  # type: ignore[union-attr]
