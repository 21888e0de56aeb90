"""The kernels of decoding are compiled for GPUs that are not here, from the very arguments that their launches take.

Tensors without memory stand for real ones, so that the sizes are those of large models. Shared memory of a program
stays below what each of these GPUs has. `pytest -s` prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from assay.engine.torch.kernels import decoding, draws

Launch = tuple[Any, tuple[Any, ...], dict[str, Any]]
MOST_SHARED = 160 * 1024
NAMES = {
    torch.bfloat16: "*bf16",
    torch.float16: "*fp16",
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.int64: "*i64",
    torch.uint8: "*u8",
}
HEADS = ((14, 2), (16, 8), (8, 8))


def blank(*shape: int, kind: torch.dtype = torch.int64) -> Tensor:
    return torch.empty(shape, dtype=kind, device="meta")


def launches_of(module: Any, run: Callable[[], object]) -> list[Launch]:
    """(kernel, positional arguments, keywords) of each launch of the module's kernels, none of which runs."""
    taken: list[Launch] = []

    class Recorded:
        def __init__(self, kernel: Any) -> None:
            self.kernel = kernel

        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
            assert min(grid) > 0 and grid[0] < 2**31 and max(grid[1:], default=1) < 2**16
            return lambda *given, **named: taken.append((self.kernel, given, named))

    kernels = {name: thing for name, thing in vars(module).items() if isinstance(thing, triton.runtime.JITFunction)}
    with pytest.MonkeyPatch.context() as patch:
        for name, kernel in kernels.items():
            patch.setattr(module, name, Recorded(kernel))
        run()
    return taken


def source_of(launch: Launch) -> tuple[ASTSource, dict[str, Any]]:
    """What Triton compiles for these arguments, with the options of the launch."""
    kernel, given, named = launch
    values = {**dict(zip(kernel.arg_names, given)), **named}
    fixed = {param.name for param in kernel.params if param.is_constexpr}
    varying = {param.name for param in kernel.params if param.do_not_specialize}
    signature, constants, aligned = {}, {}, {}
    for at, name in enumerate(kernel.arg_names):
        value = values.pop(name)
        if name in fixed or value is None or (name not in varying and isinstance(value, int) and value == 1):
            signature[name], constants[at,] = "constexpr", value
        elif isinstance(value, Tensor):
            signature[name], aligned[at,] = NAMES[value.dtype], [["tt.divisibility", 16]]
        elif isinstance(value, float):
            signature[name] = "fp32"
        else:
            signature[name] = "i32" if abs(value) < 2**31 else "i64"
            if value % 16 == 0 and name not in varying:
                aligned[at,] = [["tt.divisibility", 16]]
    return ASTSource(kernel, signature, constants, aligned), values


def attention(heads: int, kv: int, d: int, kind: torch.dtype) -> list[Launch]:
    """All launches for 512 rows of up to 8192 columns, and of prompts of up to 4096 tokens."""
    n, q = 512, blank(512, heads + kv, d, kind=kind)[:, :heads]
    keys, store = blank(n * kv, 8192, d, kind=kind), blank(200_000, kv, d, kind=kind)
    tiles = (blank(n), blank(n), blank(128, 4), 4096)

    def run() -> None:
        decoding.attend_rows(q, keys, keys, blank(n), 8192, kv_heads=kv)
        decoding.attend_shared(q, (store, store), *tiles, keys, keys, blank(n), 2048, kv_heads=kv)

    return launches_of(decoding, run)


def drawing(vocab: int, kind: torch.dtype) -> list[Launch]:
    """All launches for 512 rows, plain ones and those with temperatures and greedy rows."""
    logits, u = blank(512, vocab, kind=kind), blank(512, kind=torch.float64)

    def run() -> None:
        draws.draw_rows(logits, u)
        draws.draw_rows(logits, u, blank(512, kind=torch.float32), blank(512, kind=torch.bool))

    return launches_of(draws, run)


def compiled(launches: list[Launch], capability: int) -> None:
    for launch in launches:
        source, options = source_of(launch)
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
        shared = made.metadata.shared
        print(f"sm_{capability} {source.fn.__name__}: {shared / 1024:.1f} KiB of shared memory")
        assert shared <= MOST_SHARED and made.asm["cubin"]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One for all cases: they share kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


@pytest.mark.deep
@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize(
    ("d", "kind"),
    [(64, torch.bfloat16), (80, torch.bfloat16), (128, torch.bfloat16), (64, torch.float32), (128, torch.float32)],
    ids=str,
)
def test_attention_compiles(d: int, kind: torch.dtype, capability: int) -> None:
    for heads, kv in HEADS:
        launches = attention(heads, kv, d, kind)
        assert len(launches) == 5
        compiled(launches, capability)


@pytest.mark.deep
@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("vocab", [151936, 50257])
def test_draws_compile(vocab: int, kind: torch.dtype, capability: int) -> None:
    launches = drawing(vocab, kind)
    assert len(launches) == 4
    compiled(launches, capability)
