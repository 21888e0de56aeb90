"""The set of kernels in torch's own operations. It runs on every device, in every number format."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine import head
from assay.engine.head import Coefficients, Readout
from assay.engine.torch.kernels.interface import Gated, Kernels


def inverse_rms(x: Tensor, eps: float) -> Tensor:
    """1 / sqrt(mean(x^2) + eps) over the last dimension, which stays with size 1."""
    wide = torch.promote_types(x.dtype, torch.float32)
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=wide)
    return norm.square_().div_(x.shape[-1]).add_(eps).rsqrt_()


def scale_rows(x: Tensor, r: Tensor) -> Tensor:
    return x * r.to(x.dtype)


def norm(x: Tensor, eps: float, gain: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    r = inverse_rms(x, eps)
    h = scale_rows(x, r)
    return h, r, h if gain is None else h * gain


def norm_backward(residual: Tensor | None, grad: Tensor, h: Tensor, r: Tensor, gain: Tensor | None = None) -> Tensor:
    if gain is not None:
        grad = grad * gain
    mean = torch.linalg.vecdot(grad, h).div_(h.shape[-1]).neg_().unsqueeze(-1)
    grad.addcmul_(h, mean)
    if residual is None:
        return grad.mul_(r)
    return residual.addcmul_(grad, r.to(grad.dtype))


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    result = x * cos
    result[..., :half].addcmul_(x[..., half:], sin[..., :half])
    result[..., half:].addcmul_(x[..., :half], sin[..., half:])
    return result


def turn_backward(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return turn(x, cos, -sin)


def turn_normed(x: Tensor, eps: float, weight: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    h, r, scaled = norm(x, eps, weight)
    return turn(scaled, cos, sin), h, r


def gate(both: Tensor) -> tuple[Tensor, Gated]:
    half = both.shape[-1] // 2
    gated = F.silu(both[:, :half])
    act = gated * both[:, half:]
    return act, (gated, act)


def gate_again(both: Tensor, gated: Gated) -> Tensor:
    return gate(both)[0] if gated is None else gated[1]


def gate_backward(grad: Tensor, both: Tensor, gated: Gated) -> Tensor:
    half = both.shape[-1] // 2
    gated = gate(both)[1] if gated is None else gated
    assert gated is not None
    result = torch.empty_like(both)
    torch.mul(grad, gated[0], out=result[:, half:])
    result[:, :half] = torch.ops.aten.silu_backward(grad.mul_(both[:, half:]), both[:, :half])
    return result


def pull(
    hidden: Tensor,
    weight: Tensor | None,
    ids: Tensor,
    tau: Tensor,
    coefficients: Coefficients,
    weight_grad: Tensor | None,
    *,
    readout: Readout,
    top_ids: Tensor | None = None,
) -> Tensor:
    about = {"top_ids": top_ids, "all_logp": readout.all_logp}
    return head.pull(hidden, weight, ids, tau, coefficients, weight_grad, **about)


PLAIN = Kernels(
    norm=norm,
    norm_backward=norm_backward,
    turn=turn,
    turn_backward=turn_backward,
    turn_normed=turn_normed,
    gate=gate,
    gate_again=gate_again,
    gate_backward=gate_backward,
    read=head.read,
    pull=pull,
)
