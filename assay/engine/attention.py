"""Softmax attention over packed rows, with its own backward: two matrix products a piece each way, no padding outside.

    P = softmax(scale Q K' + mask),  O = P V
    dV = P' dO,  dS = P * (dO V' - rowsum(P * dO V')),  dQ = scale dS K,  dK = scale dS' Q

Gradients of context keys, which rows share, are sums over the rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.engine.packing import AttentionPlan, Piece

KEEP_SCORES = 1 << 26  # beyond this many, probabilities are computed again in the backward pass


def attention(q: Tensor, k: Tensor, v: Tensor, plan: AttentionPlan) -> Tensor:
    """[N, heads, d] of the values that each packed token sees."""
    return _Attention.apply(q, k, v, plan)  # type: ignore[no-any-return]


def _probabilities(piece: Piece, q: Tensor, k: Tensor, scale: float, heads: int) -> Tensor:
    scores = torch.baddbmm(q.new_empty(()), q, k.transpose(1, 2), beta=0, alpha=scale)
    shaped = scores.view(piece.rows, heads, piece.queries, piece.keys)
    shaped.add_(piece.mask)
    return torch.softmax(scores, -1)


class _Flat:
    """Views of the flat buffers of queries and keys, a piece at a time."""

    def __init__(self, plan: AttentionPlan, d: int) -> None:
        self.kv, self.group, self.d = plan.kv_heads, plan.heads // plan.kv_heads, d

    def queries(self, flat: Tensor, piece: Piece) -> Tensor:
        batch = piece.rows * self.kv
        size = batch * self.group * piece.queries
        return flat[piece.q_at : piece.q_at + size].view(batch, self.group * piece.queries, self.d)

    def keys(self, flat: Tensor, piece: Piece) -> Tensor:
        batch = piece.rows * self.kv
        return flat[piece.k_at : piece.k_at + batch * piece.width].view(batch, piece.width, self.d)[:, : piece.keys]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, plan: AttentionPlan) -> Tensor:
        n, heads, d = q.shape
        scale = d**-0.5
        views = _Flat(plan, d)
        flat_q = q.reshape(n * heads, d).index_select(0, plan.q_index)
        flat_k = k.reshape(-1, d).index_select(0, plan.k_index)
        flat_v = v.reshape(-1, d).index_select(0, plan.k_index)
        flat_o = torch.empty_like(flat_q)
        keep = any(ctx.needs_input_grad[:3]) and plan.scores <= KEEP_SCORES
        kept: list[Tensor] = []
        for piece in plan.pieces:
            p = _probabilities(piece, views.queries(flat_q, piece), views.keys(flat_k, piece), scale, heads)
            torch.bmm(p, views.keys(flat_v, piece), out=views.queries(flat_o, piece))
            if keep:
                kept.append(p)
        if any(ctx.needs_input_grad[:3]):
            ctx.save_for_backward(flat_q, flat_k, flat_v, *kept)
            ctx.plan = plan
        return flat_o.index_select(0, plan.q_inverse).view(n, heads, d)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # type: ignore[override]
        plan: AttentionPlan = ctx.plan
        flat_q, flat_k, flat_v, *kept = ctx.saved_tensors
        n, heads, d = grad.shape
        scale = d**-0.5
        views = _Flat(plan, d)
        flat_do = grad.reshape(n * heads, d).index_select(0, plan.q_index)
        if len(plan.q_padding):
            flat_do.index_fill_(0, plan.q_padding, 0.0)
        flat_dq = torch.empty_like(flat_q)
        flat_dk = torch.zeros_like(flat_k)
        flat_dv = torch.zeros_like(flat_v)
        for i, piece in enumerate(plan.pieces):
            pq, pk, pv = views.queries(flat_q, piece), views.keys(flat_k, piece), views.keys(flat_v, piece)
            do = views.queries(flat_do, piece)
            p = kept[i] if kept else _probabilities(piece, pq, pk, scale, heads)
            views.keys(flat_dv, piece).baddbmm_(p.transpose(1, 2), do)
            dp = torch.bmm(do, pv.transpose(1, 2))
            ds = torch._softmax_backward_data(dp, p, -1, p.dtype)
            dq = views.queries(flat_dq, piece)
            torch.baddbmm(dq, ds, pk, beta=0, alpha=scale, out=dq)
            views.keys(flat_dk, piece).baddbmm_(ds.transpose(1, 2), pq, alpha=scale)
        dq = flat_dq.index_select(0, plan.q_inverse).view(n, heads, d)
        return dq, _gather_keys(flat_dk, plan, n), _gather_keys(flat_dv, plan, n), None


def _gather_keys(flat: Tensor, plan: AttentionPlan, n: int) -> Tensor:
    """Each token's own key gradient, plus those of its copies as a shared context.

    A padded query was given no gradient and a padded key has probability zero, so padding adds nothing.
    """
    own = flat.index_select(0, plan.k_inverse)
    if len(plan.shared_to):
        own.index_add_(0, plan.shared_to, flat.index_select(0, plan.shared_from))
    return own.view(n, plan.kv_heads, flat.shape[-1])
