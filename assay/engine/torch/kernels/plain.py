"""The set of kernels in torch's own operations. It runs on every device, in every number format."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine import head
from assay.engine.filtering import draw
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


def attend_shared(
    q: Tensor,
    store: tuple[Tensor, Tensor],
    prompt_length: Tensor,
    order: Tensor,
    tiles: Tensor,
    prompt_columns: int,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    columns: int,
    *,
    kv_heads: int,
) -> Tensor:
    """As `decoding.attend_shared`, by copies of each row's prompt: what a kernel is compared with. It is in no set, for
    without a kernel it is faster to have the copies in the rows' own caches.
    """
    n, heads, d = q.shape
    first, count, start, _ = tiles.unbind(1)
    numbered = torch.arange(n, device=q.device)
    inside = (numbered[:, None] >= first) & (numbered[:, None] < first + count)
    rows = order[:n].clamp(max=n - 1)  # what stands in no tile is no row
    begin = torch.zeros_like(numbered).index_add(0, rows, (inside * start).sum(1))
    column = torch.arange(prompt_columns, device=q.device)
    where = (begin[:, None] + column).clamp(max=len(store[0]) - 1)
    seen = torch.cat([column < prompt_length[:, None], torch.arange(columns, device=q.device) <= positions[:, None]], 1)
    own = (cache.view(-1, kv_heads, *cache.shape[1:])[:n, :, :columns] for cache in (keys, values))
    k, v = (torch.cat([held[where].transpose(1, 2), behind], 2) for held, behind in zip(store, own))
    scores = q.reshape(n, kv_heads, heads // kv_heads, d) @ k.transpose(2, 3) * d**-0.5
    mixed = torch.softmax(scores.masked_fill(~seen[:, None, None], -torch.inf), -1) @ v
    return mixed.reshape(n, heads * d)


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
    add_product=head.add_product,
    draw=draw,
    attend_shared=None,
)
