"""Softmax attention over packed rows and its backward pass, by two matrix products for each piece of queries.

    P = softmax(scale Q K' + mask),  O = P V
    dV = P' dO,  dS = P * (dO V' - rowsum(P * dO V')),  dQ = scale dS K,  dK = scale dS' Q

The gradients of a context's keys are sums over the rows that share the context. Where a GPU kernel does all of this at
once (`varlen`), the plan is a `Sequences`, and that kernel is called.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.engine.footprint import KEEP_SCORES
from assay.engine.torch import varlen
from assay.engine.torch.packing import AttentionPlan, Piece
from assay.engine.torch.varlen import Seen, Sequences


@dataclass(frozen=True, eq=False)
class Attended:
    """Kept for the backward pass: flat queries, keys and values, and the probabilities if they are few enough."""

    q: Tensor
    k: Tensor
    v: Tensor
    p: list[Tensor]


@dataclass(frozen=True)
class _Views:
    """One piece of the flat buffers: queries [rows * kv, group * queries, d], keys [rows * kv, keys, d]."""

    kv: int
    group: int
    d: int

    @classmethod
    def of(cls, plan: AttentionPlan, d: int) -> _Views:
        return cls(plan.kv_heads, plan.heads // plan.kv_heads, d)

    def queries(self, flat: Tensor, piece: Piece) -> Tensor:
        batch, height = piece.rows * self.kv, self.group * piece.queries
        return flat[piece.q_at : piece.q_at + batch * height].view(batch, height, self.d)

    def keys(self, flat: Tensor, piece: Piece) -> Tensor:
        batch = piece.rows * self.kv
        return flat[piece.k_at : piece.k_at + batch * piece.width].view(batch, piece.width, self.d)[:, : piece.keys]


def _probabilities(piece: Piece, q: Tensor, k: Tensor, heads: int) -> Tensor:
    scores = torch.baddbmm(q.new_empty(()), q, k.transpose(1, 2), beta=0, alpha=q.shape[-1] ** -0.5)
    scores.view(piece.rows, heads, piece.queries, piece.keys).add_(piece.mask)
    return torch.softmax(scores, -1)


def attend(
    qk: Tensor,
    qkv: Tensor,
    plan: AttentionPlan | Sequences,
    *,
    keep: bool,
    known: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Attended | Seen | None]:
    """The attention output [N, heads * d] and, with `keep`, the activations for the backward pass.

    `qk` are the rotated queries and keys [N, heads + kv_heads, d]; the values are the last heads of `qkv`. `known` are
    rotated keys and values [H, kv_heads, d] of H cached tokens, which the plan numbers after the N tokens.
    """
    if isinstance(plan, Sequences):
        assert known is None
        return varlen.attend(qk, qkv, plan, keep=keep)
    n, _, d = qk.shape
    views = _Views.of(plan, d)
    q = qk.view(-1, d).index_select(0, plan.queries)
    if known is None:
        k = qk.view(-1, d).index_select(0, plan.keys)
        v = qkv.view(-1, d).index_select(0, plan.values)
    else:
        k, v = _joined(qk[:, plan.heads :], qkv[:, plan.heads + plan.kv_heads :], known, plan)
    o = torch.empty_like(q)
    store = keep and plan.scores <= KEEP_SCORES
    kept: list[Tensor] = []
    for piece in plan.pieces:
        p = _probabilities(piece, views.queries(q, piece), views.keys(k, piece), plan.heads)
        torch.bmm(p, views.keys(v, piece), out=views.queries(o, piece))
        if store:
            kept.append(p)
    outputs = plan.outputs[: n * plan.heads]
    return o.index_select(0, outputs).view(n, plan.heads * d), Attended(q, k, v, kept) if keep else None


def _joined(keys: Tensor, values: Tensor, known: tuple[Tensor, Tensor], plan: AttentionPlan) -> tuple[Tensor, Tensor]:
    """The flat keys and values of a plan over these tokens and the cached tokens `known`."""
    token, head = plan.keys // (plan.heads + plan.kv_heads), plan.keys % (plan.heads + plan.kv_heads) - plan.heads
    place, d = token * plan.kv_heads + head, keys.shape[-1]
    k, v = (torch.cat(parts).view(-1, d).index_select(0, place) for parts in zip((keys, values), known))
    return k, v


def attend_backward(grad: Tensor, held: Attended | Seen, plan: AttentionPlan | Sequences) -> tuple[Tensor, Tensor]:
    """The gradients by the rotated queries and keys [N, heads + kv_heads, d] and by the values [N, kv_heads, d].

    Padding adds nothing: a padded query gets a gradient of zero, and a padded key has probability zero.
    """
    if isinstance(held, Seen):
        assert isinstance(plan, Sequences)
        return varlen.attend_backward(grad, held, plan)
    assert isinstance(plan, AttentionPlan)
    q, k, v, kept = held.q, held.k, held.v, held.p
    n, d = len(grad), q.shape[-1]
    scale = d**-0.5
    views = _Views.of(plan, d)
    flat_do = grad.view(-1, d).index_select(0, plan.queries_in_heads)
    if len(plan.padding):
        flat_do.index_fill_(0, plan.padding, 0.0)
    flat = q.new_empty(len(q) + len(k), d)
    flat_dq, flat_dk = flat[: len(q)], flat[len(q) :].zero_()
    flat_dv = torch.zeros_like(v)
    for i, piece in enumerate(plan.pieces):
        pq, pk, do = views.queries(q, piece), views.keys(k, piece), views.queries(flat_do, piece)
        p = kept[i] if kept else _probabilities(piece, pq, pk, plan.heads)
        views.keys(flat_dv, piece).baddbmm_(p.transpose(1, 2), do)
        dp = torch.bmm(do, views.keys(v, piece).transpose(1, 2))
        ds = torch.ops.aten._softmax_backward_data(dp, p, -1, p.dtype)
        dq = views.queries(flat_dq, piece)
        torch.baddbmm(dq, ds, pk, beta=0, alpha=scale, out=dq)
        views.keys(flat_dk, piece).baddbmm_(ds.transpose(1, 2), pq, alpha=scale)
    dqk, dv = flat.index_select(0, plan.both), flat_dv.index_select(0, plan.own)
    if len(plan.copies):
        dqk.index_add_(0, plan.copied_keys, flat_dk.index_select(0, plan.copies))
        dv.index_add_(0, plan.copied_values, flat_dv.index_select(0, plan.copies))
    return dqk.view(n, plan.heads + plan.kv_heads, d), dv.view(n, plan.kv_heads, d)
