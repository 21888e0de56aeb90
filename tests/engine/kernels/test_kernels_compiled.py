"""Every kernel of learning compiles for the GPUs that it is for, at the sizes of real models, without a GPU."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from ahead import calls_of, require_compiles

from assay.engine.head import Coefficients
from assay.engine.torch.kernels import gates, norms, output, rotations

MODELS = {  # (hidden, heads, kv heads, size of a head, feed-forward, vocabulary)
    "half a billion": (896, 14, 2, 64, 4864, 151936),
    "one and a half": (1536, 12, 2, 128, 8960, 151936),
    "multiples of no block": (99, 3, 1, 22, 301, 1003),
}
TOKENS = 16384
pytestmark = pytest.mark.deep


def empty(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_norms_compile(model: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, heads, kv, d, _, _ = MODELS[model]
    x, gain, r = (empty(*shape, dtype=dtype) for shape in ((TOKENS, hidden), (hidden,), (TOKENS, 1)))
    qk = empty(TOKENS, heads + 2 * kv, d, dtype=dtype)[:, : heads + kv]
    wide, each = empty(TOKENS, heads + kv, 1, dtype=torch.float32), empty(heads + kv, d, dtype=dtype)
    runs = [
        partial(norms.norm, x, 1e-6),
        partial(norms.norm, x, 1e-6, gain),
        partial(norms.norm_backward, x, x, x, r),
        partial(norms.norm_backward, None, x, x, r, gain),
        partial(norms.norm_backward, None, qk, qk, wide, each),
    ]
    for run in runs:
        require_compiles(calls_of(monkeypatch, norms, run))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_rotations_compile(model: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    _, heads, kv, d, _, _ = MODELS[model]
    qk = empty(TOKENS, heads + 2 * kv, d, dtype=dtype)[:, : heads + kv]
    angles = empty(TOKENS, 1, d, dtype=dtype), empty(TOKENS, 1, d, dtype=dtype)
    weight = empty(heads + kv, d, dtype=dtype)
    for run in (
        partial(rotations.turn, qk, *angles),
        partial(rotations.turn_backward, qk, *angles),
        partial(rotations.turn_normed, qk, 1e-6, weight, *angles),
    ):
        require_compiles(calls_of(monkeypatch, rotations, run))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_gates_compile(model: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    ffn = MODELS[model][4]
    both, grad = empty(TOKENS, 2 * ffn, dtype=dtype), empty(TOKENS, ffn, dtype=dtype)
    for run in (partial(gates.gate, both), partial(gates.gate_backward, grad, both, None)):
        require_compiles(calls_of(monkeypatch, gates, run))


@pytest.mark.parametrize(("entropy", "further"), [(False, 0), (True, 1), (True, 20)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_the_output_layer_compiles(
    model: str, dtype: torch.dtype, entropy: bool, further: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, vocab = MODELS[model][0], MODELS[model][5]
    hidden, weight = empty(TOKENS, size, dtype=dtype), empty(vocab, size, dtype=dtype)
    ids, tau = empty(TOKENS, dtype=torch.int64), empty(TOKENS, dtype=torch.float32)
    top = empty(TOKENS, further, dtype=torch.int64) if further else None
    about = {"entropy": entropy, "top_ids": top}
    require_compiles(calls_of(monkeypatch, output, lambda: output.read(hidden, weight, ids, tau, **about)))
    readout = output.Readout(tau, tau if entropy else None, None, None, None, None, None, tau)
    by_top = empty(TOKENS, further, dtype=torch.float32) if further else None
    given = Coefficients(tau, tau if entropy else None, by_top)
    part = empty(output.rows_at_once(vocab, dtype.itemsize), dtype=torch.int64)
    h, dz = (empty(len(part), width, dtype=dtype) for width in (size, vocab))
    of = (dz, h, weight, ids, tau, part, given, readout, top)
    require_compiles(calls_of(monkeypatch, output, lambda: output._logit_grad(*of)))
