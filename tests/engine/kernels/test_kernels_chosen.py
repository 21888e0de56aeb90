"""Which kernels are taken, and what is said of it: every reason for which torch's own operations take their place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from engine_cases import engine_of, model_of
from torch import Tensor

from assay.engine.filtering import Drawn
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.kernels import checks
from assay.engine.torch.kernels import choose as module
from assay.engine.torch.kernels.checks import Sizes
from assay.engine.torch.kernels.choose import KernelChoice, Surroundings, choose
from assay.engine.torch.kernels.interface import FAMILIES, Kernels
from assay.engine.torch.kernels.plain import PLAIN, attend_shared

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SIZES = Sizes(hidden=24, heads=4, kv_heads=2, head_dim=8, ffn=20)


def other(function: Any) -> Any:
    """The same function under another identity, as another set would have it."""
    return lambda *arguments, **named: function(*arguments, **named)


WHOLE = dataclasses.replace(PLAIN, attend_shared=attend_shared)
OTHERS = Kernels(**{field.name: other(getattr(WHOLE, field.name)) for field in dataclasses.fields(Kernels)})


def on_processor(family: str, kernels: Kernels, sizes: Sizes, device: torch.device, dtype: torch.dtype) -> str:
    """The checks, on the processor in place of the GPU that is not there."""
    assert device == GPU
    return checks.fault(family, kernels, sizes, CPU, dtype)


@pytest.fixture(autouse=True)
def _chosen_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(checks, "WORDS", 300)  # torch's own operations have no spans
    choose.cache_clear()
    yield
    choose.cache_clear()


def chosen(
    kernels: Kernels | Exception = OTHERS,
    *,
    wish: Any = "auto",
    device: torch.device = GPU,
    dtype: torch.dtype = torch.float32,
    capability: tuple[int, int] = (9, 0),
) -> KernelChoice:
    def load() -> tuple[Kernels, str]:
        if isinstance(kernels, Exception):
            raise kernels
        return kernels, "triton 3.6.0"

    return choose(wish, device, dtype, SIZES, Surroundings(load, lambda _: capability, on_processor))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 0), (10, 0), (12, 0)])
def test_kernels_that_compute_the_right_numbers_are_taken(dtype: torch.dtype, capability: tuple[int, int]) -> None:
    choice = chosen(dtype=dtype, capability=capability)
    assert choice.kernels == OTHERS and choice.fused
    assert choice.reason == f"triton 3.6.0: {', '.join(FAMILIES)}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"wish": "torch"}, "torch: it was asked for"),
        ({"device": CPU}, "torch: Triton's kernels are for NVIDIA's GPUs, and this device is cpu"),
        ({"device": torch.device("mps")}, "torch: Triton's kernels are for NVIDIA's GPUs, and this device is mps"),
        ({"dtype": torch.float64}, "torch: Triton's kernels compute in bf16 and fp32, not in float64"),
        (
            {"capability": (7, 5)},
            "torch: Triton's kernels need compute capability 8.0, and the GPU has 7.5",
        ),
        (
            {"kernels": ModuleNotFoundError("No module named 'triton'")},
            "torch: triton cannot be imported (No module named 'triton')",
        ),
    ],
)
def test_each_refusal_is_told(changes: dict[str, Any], reason: str) -> None:
    choice = chosen(**changes)
    assert choice.kernels is PLAIN and not choice.fused and choice.reason == reason


def test_a_torch_for_another_makers_gpus_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert chosen().reason == "torch: Triton's kernels are for NVIDIA's GPUs, and this torch is built for AMD's"


def slightly(value: Any) -> Any:
    """The numbers of a result, a thousandth too large."""
    if isinstance(value, Tensor):
        return value * 1.001 if value.is_floating_point() else value
    if isinstance(value, tuple):
        return tuple(map(slightly, value))
    if isinstance(value, Drawn):
        return dataclasses.replace(value, old=value.old * 1.001)
    return value if value is None else dataclasses.replace(value, logp=value.logp * 1.001)


def broken(function: Any) -> Any:
    def wrong(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        return arguments[0].mul_(1.001) if result is None else slightly(result)

    return wrong


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in FAMILIES.items() for name in names])
def test_a_kernel_whose_numbers_are_off_is_replaced_with_its_family_and_named(family: str, name: str) -> None:
    choice = chosen(dataclasses.replace(OTHERS, **{name: broken(getattr(WHOLE, name))}))
    assert f"torch for {family}, because " in choice.reason and " is off by " in choice.reason
    for each, names in FAMILIES.items():
        for member in names:
            expected = PLAIN if each == family else OTHERS
            assert getattr(choice.kernels, member) is getattr(expected, member)
    others = ", ".join(each for each in FAMILIES if each != family)
    assert choice.reason.startswith(f"triton 3.6.0: {others}; torch for {family}")


def test_a_kernel_that_gives_nan_is_off() -> None:
    choice = chosen(dataclasses.replace(OTHERS, gate_again=lambda both, gated: PLAIN.gate(both)[0] * torch.nan))
    assert "a gated unit, computed again is off by nan" in choice.reason


def test_a_kernel_that_does_not_compile_is_replaced_and_named() -> None:
    def refuse(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("out of resource: shared memory\nRequired: 300000")

    def silent(*arguments: Any) -> Any:
        raise AssertionError

    others = ", ".join(family for family in FAMILIES if family not in ("norms", "rotations"))
    choice = chosen(dataclasses.replace(OTHERS, norm=refuse, turn=silent))
    assert choice.reason == (
        f"triton 3.6.0: {others}; torch for norms, because RuntimeError: out of resource: shared memory; torch for "
        "rotations, because AssertionError"
    )
    assert choice.kernels.norm is PLAIN.norm and choice.kernels.turn is PLAIN.turn
    nothing = chosen(
        dataclasses.replace(
            OTHERS, **dict.fromkeys(("norm", "turn", "gate", "read", "add_product", "draw", "attend_shared"), refuse)
        )
    )
    assert not nothing.fused and nothing.reason.startswith("torch for norms, because RuntimeError")
    assert nothing.reason.endswith("shared memory (triton 3.6.0)")


def test_the_choice_is_made_once_for_networks_of_one_size() -> None:
    tried: list[str] = []

    def counted(family: str, *about: Any) -> str:
        tried.append(family)
        return ""

    about = Surroundings(lambda: (OTHERS, "triton 3.6.0"), lambda _: (9, 0), counted)
    for _ in range(3):
        choose("auto", GPU, torch.bfloat16, SIZES, about)
    assert tried == list(FAMILIES)
    choose("auto", GPU, torch.bfloat16, dataclasses.replace(SIZES, hidden=32), about)
    assert tried == 2 * list(FAMILIES)


def test_an_engine_says_what_it_chose_and_copies_choose_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of("qwen3")
    assert isinstance(engine, TorchEngine) and engine.network.kernels is PLAIN
    assert engine.kernels == "torch: Triton's kernels are for NVIDIA's GPUs, and this device is cpu"
    assert engine.place == "cpu torch"
    asked = TorchEngine(model_of(), end_ids=frozenset({0}), precision="fp32", kernels="torch")
    assert asked.kernels == asked.copy().kernels == "torch: it was asked for"
    taken = KernelChoice(OTHERS, "triton 3.6.0: all")
    monkeypatch.setattr("assay.engine.torch.engine.choose", lambda *about: taken)
    fused = TorchEngine(model_of(), end_ids=frozenset({0}), precision="fp32")
    assert fused.network.kernels is OTHERS and fused.kernels == taken.reason and fused.place == "cpu torch triton"
    assert module.HERE.capability is torch.cuda.get_device_capability
