"""Attention over packed rows by the flash kernel for sequences of different lengths, on GPUs in bf16.

Each distinct context is a sequence, and so is each row. A row's queries are its own tokens; its keys are those of the
stem of its context, those of its context, and then its own. The kernel aligns its causal mask with the last key, so it
is the mask of the row run alone. Keys and values of a context are copied for each row that shares it, those of a stem
for each context and row behind it, and the gradients of the copies are summed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine.layout import Layout, offsets, ranges

WIDEST_HEAD = 256
ROUND_HEAD = 8  # the kernel reads heads in pieces of so many numbers


@dataclass(frozen=True, eq=False)
class Sequences:
    """S sequences over N packed tokens. The queries are the N tokens in their
    order; a token may be a key several times.
    """

    heads: int
    keys: Tensor  # int64[K] the token of each key
    q_at: Tensor  # int32[S + 1] where each sequence's queries begin
    k_at: Tensor  # int32[S + 1] where each sequence's keys begin
    longest_q: int
    longest_k: int

    @classmethod
    def of(cls, layout: Layout, *, heads: int, device: torch.device) -> Sequences:
        size = np.diff(layout.context_at)
        own = layout.length > 0  # a row with one response token has no inputs of its own
        start, length, which = layout.start[own], layout.length[own], layout.context_of[: len(layout.start)][own]
        at, (stem, stem_size), nothing = layout.context_at[:-1], layout.stem_places, np.zeros_like(size)
        begins = np.concatenate([[stem, nothing, at], [stem[which], at[which], start]], 1)
        counts = np.concatenate([[stem_size, nothing, size], [stem_size[which], size[which], length]], 1)
        queries, seen = np.concatenate([size, length]), counts.sum(0)

        def tensor(array: np.ndarray, kind: type) -> Tensor:
            return torch.from_numpy(array.astype(kind)).to(device)

        return cls(
            heads=heads,
            keys=tensor(ranges(begins.T.ravel(), counts.T.ravel()), np.int64),
            q_at=tensor(offsets(queries), np.int32),
            k_at=tensor(offsets(seen), np.int32),
            longest_q=int(queries.max(initial=0)),
            longest_k=int(seen.max(initial=0)),
        )


@dataclass(frozen=True, eq=False)
class Seen:
    """Kept for the backward pass."""

    q: Tensor  # [N, heads, d]
    k: Tensor  # [K, kv_heads, d]
    v: Tensor
    o: Tensor  # [N, heads, d] the output
    lse: Tensor  # log-sum-exp of each query's scores
    state: tuple[Tensor, Tensor]  # the kernel's dropout state, which it asks for although there is no dropout


def fits(device: torch.device, dtype: torch.dtype, head_dim: int) -> bool:
    """Whether the kernel exists on this device, for this number format and head size."""
    shaped = head_dim <= WIDEST_HEAD and head_dim % ROUND_HEAD == 0
    if device.type != "cuda" or dtype != torch.bfloat16 or not shaped:
        return False
    return torch.backends.cuda.is_flash_attention_available() and torch.cuda.get_device_capability(device) >= (8, 0)


def attend(qk: Tensor, qkv: Tensor, plan: Sequences, *, keep: bool) -> tuple[Tensor, Seen | None]:
    """As `attention.attend`."""
    q, turned = qk[:, : plan.heads], qk.shape[1]
    k = qk[:, plan.heads :].index_select(0, plan.keys)
    v = qkv[:, turned:].index_select(0, plan.keys)
    o, lse, state = forward_kernel(q, k, v, plan)
    return o.reshape(len(qk), -1), Seen(q, k, v, o, lse, state) if keep else None


def attend_backward(grad: Tensor, held: Seen, plan: Sequences) -> tuple[Tensor, Tensor]:
    """As `attention.attend_backward`. Gradients of the copies of a context are summed in fp32 at least."""
    dq, dk, dv = backward_kernel(grad.view(held.o.shape), held, plan)
    wide = torch.promote_types(grad.dtype, torch.float32)
    shape = (len(grad), *dk.shape[1:])
    by_token = [dk.new_zeros(shape, dtype=wide).index_add_(0, plan.keys, x.to(wide)) for x in (dk, dv)]
    dk, dv = (x.to(grad.dtype) for x in by_token)
    return torch.cat([dq, dk], 1), dv


def forward_kernel(q: Tensor, k: Tensor, v: Tensor, plan: Sequences) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """(the output, the log-sum-exp of each query's scores, the state of a dropout that is off)."""
    lengths = (plan.q_at, plan.k_at, plan.longest_q, plan.longest_k)
    o, lse, seed, unused, _ = torch.ops.aten._flash_attention_forward(
        q, k, v, *lengths, 0.0, True, False, scale=q.shape[-1] ** -0.5
    )
    return o, lse, (seed, unused)


def backward_kernel(grad: Tensor, held: Seen, plan: Sequences) -> tuple[Tensor, Tensor, Tensor]:
    lengths = (plan.q_at, plan.k_at, plan.longest_q, plan.longest_k)
    return torch.ops.aten._flash_attention_backward(
        grad, held.q, held.k, held.v, held.o, held.lse, *lengths, 0.0, True, *held.state, scale=held.q.shape[-1] ** -0.5
    )
