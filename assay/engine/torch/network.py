"""The policy network as sampler and learner run it: packed weights, a forward pass, a backward pass written by hand.

It computes the same function as `Transformer.forward`, by fewer and larger products and fewer passes over memory:

- A norm's weight is folded into the projections after it, rms(x) * w @ W' = (x / rms) @ (W * w)', so activations are
  only divided. Gradients are gathered for W * w, and once a step they are turned into those of W and of w.
- Query, key and value are one product, gate and up another. The products themselves add the residuals.
- The products accumulate the gradients of weights over all chunks of a step.
- What lies between products is done by a set of kernels (`kernels.interface`): torch's operations, or fused ones.

Under an adapter the base never changes, so no norm is folded in: the layers' weights are views of the stacked weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine.embedding import embedded
from assay.engine.torch.attention import Attended, attend, attend_backward
from assay.engine.torch.kernels.interface import Gated, Kernels
from assay.engine.torch.kernels.plain import PLAIN
from assay.engine.torch.linear import Folded, Plain, accumulate, add_linear, onto
from assay.engine.torch.lowrank import gradient_of
from assay.engine.torch.packing import Packed
from assay.engine.torch.varlen import Seen, fits
from assay.policy.transformer import Transformer


@dataclass(eq=False)
class Layer:
    block: Any
    qkv: Folded
    qk_weight: Tensor | None  # [heads + kv_heads, d] weights of the norms of queries and keys
    out: Plain
    up: Folded
    down: Plain

    def onto(self, before: Layer) -> Layer:
        """This layer, in the memory that the layer had before."""
        if self.qk_weight is not None:
            self.qk_weight = onto(before.qk_weight, self.qk_weight)
        self.qkv.settle(before.qkv)
        self.out.settle(before.out)
        self.up.settle(before.up)
        self.down.settle(before.down)
        return self


@dataclass(eq=False)
class _Tape:
    """The activations of one layer that its backward pass needs."""

    h: Tensor  # x / rms before attention
    r: Tensor  # 1 / rms
    qk: tuple[Tensor, Tensor] | None  # normed queries and keys, and 1 / rms of each
    attended: Attended | Seen | None
    o: Tensor  # attention's output
    h2: Tensor  # x / rms before the gated unit
    r2: Tensor  # 1 / rms
    both: Tensor  # gate and up
    gated: Gated  # silu(gate) and silu(gate) * up, or None: they are computed again


@dataclass(eq=False)
class Activations:
    """Everything of a forward pass that its backward pass needs."""

    packed: Packed
    cos: Tensor
    sin: Tensor
    layers: list[_Tape | Tensor]  # a tensor is a layer's input, from which the layer's tape is computed again
    x: Tensor  # x / rms of the last norm
    r: Tensor  # 1 / rms


def rotations(model: Transformer, count: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines [count, 1, d] of the model's rotary positions, read off by rotating a basis vector."""
    d = model.config.head_dim
    basis = torch.zeros(count, 1, d, dtype=dtype, device=device)
    basis[..., : d // 2] = 1.0
    turned = model.rotary(torch.arange(count, device=device), dtype)(basis)
    cos, sin = turned[..., : d // 2], turned[..., d // 2 :]
    return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)


class Network:
    """One version of the weights in the compute format, with the forward and the backward pass over packed tokens.
    Rows of the output layer from `vocab` on are no tokens and are left out.
    """

    layers: list[Layer]
    embedding: Tensor
    final: Tensor
    head: Tensor

    def __init__(
        self, model: Transformer, dtype: torch.dtype, *, vocab: int | None = None, kernels: Kernels = PLAIN
    ) -> None:
        self.model, self.config, self.dtype, self.kernels = model, model.config, dtype, kernels
        self.vocab = vocab or self.config.vocab
        self.device = model.model.embed_tokens.weight.device
        self.flash = fits(self.device, dtype, self.config.head_dim)
        self._tables: tuple[Tensor, Tensor] | None = None
        if self.config.rope.stretches and model.rotary.length is None:
            model.rotary.fit(self.config.context)  # sampler and learner use one set of angles for rows of every length
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Pack the current parameters, in the memory of those that were packed before: recorded steps read it there."""
        before, packed = getattr(self, "layers", None), list[Layer]()
        for number, module in enumerate(self.model.model.layers):
            layer = self._pack(module)
            packed.append(layer if before is None else layer.onto(before[number]))
        self.layers = packed
        decoder = self.model.model
        for name, weight in (
            ("embedding", decoder.embed_tokens.weight),
            ("final", decoder.norm.weight),
            ("head", self.model.lm_head.weight[: self.vocab]),
        ):
            setattr(self, name, onto(getattr(self, name, None), weight.detach().to(self.dtype)))

    def _pack(self, block: Any) -> Layer:
        c, fold, add = self.config, self.model.lora is None, self.kernels.add_product
        attention, mlp = block.self_attn, block.mlp
        qkv = [attention.q_proj, attention.k_proj, attention.v_proj]
        weight = None
        if c.qk_norm:
            q, k = attention.q_norm.weight, attention.k_norm.weight
            weight = torch.cat([q.expand(c.heads, -1), k.expand(c.kv_heads, -1)]).to(self.dtype)
        return Layer(
            block=block,
            qkv=Folded.of(block.input_layernorm, qkv, self.dtype, fold=fold, add=add),
            qk_weight=weight,
            out=Plain.of(attention.o_proj, self.dtype, add=add),
            up=Folded.of(block.post_attention_layernorm, [mlp.gate_proj, mlp.up_proj], self.dtype, fold=fold, add=add),
            down=Plain.of(mlp.down_proj, self.dtype, add=add),
        )

    def tables(self, count: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines of at least `count` positions, kept from call to call."""
        if self._tables is None or len(self._tables[0]) < count:
            self._tables = rotations(self.model, max(count, 256), self.dtype, self.device)
        return self._tables

    @torch.no_grad()
    def forward(
        self,
        packed: Packed,
        *,
        keep: bool = False,
        again: bool = False,
        cache: list[tuple[Tensor, Tensor]] | None = None,
        known: Iterable[tuple[Tensor, Tensor] | None] = itertools.repeat(None),
    ) -> tuple[Tensor, Activations | None]:
        """Hidden states [N, D] after the last norm and, with `keep`, the activations for the backward pass.

        `cache` receives the rotated keys and the values of each layer; `known` are those of cached prefixes
        (`packing.Onward`). With `again`, only each layer's input is kept; its other activations are computed again.
        """
        cos, sin = self.tables(packed.longest)
        cos, sin = cos[packed.positions], sin[packed.positions]
        x = embedded(packed.ids, partial(F.embedding, weight=self.embedding), packed.blend_ids, packed.blend_share)
        tapes: list[_Tape | Tensor] = []
        for layer, held in zip(self.layers, known):
            before = x
            x, tape = self._layer(layer, x, cos, sin, packed, keep and not again, cache, held)
            if keep:
                tapes.append(before if tape is None else tape)
        h, r, x = self.kernels.norm(x, self.model.model.norm.eps, self.final)
        return x, Activations(packed, cos, sin, tapes, h, r) if keep else None

    def project(
        self, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None]:
        """(x / rms, 1 / rms, all heads, rotated queries and keys, normed
        queries and keys with their 1 / rms or None).
        """
        c = self.config
        h, r, _ = self.kernels.norm(x, layer.qkv.norm.eps)
        heads = layer.qkv.product(h).view(len(x), -1, c.head_dim)
        qk = heads[:, : c.heads + c.kv_heads]
        if layer.qk_weight is None:
            return h, r, heads, self.kernels.turn(qk, cos, sin), None
        eps = layer.block.self_attn.q_norm.eps
        turned, *normed = self.kernels.turn_normed(qk, eps, layer.qk_weight, cos, sin)
        return h, r, heads, turned, (normed[0], normed[1])

    def _layer(
        self,
        layer: Layer,
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        packed: Packed,
        keep: bool,
        cache: list[tuple[Tensor, Tensor]] | None = None,
        known: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, _Tape | None]:
        c = self.config
        h, r, heads, qk, normed = self.project(layer, x, cos, sin)
        if cache is not None:
            cache.append((qk[:, c.heads :], heads[:, c.heads + c.kv_heads :]))
        o, attended = attend(qk, heads, packed.plan, keep=keep, known=known)
        x = add_linear(x, o, layer.out)
        h2, r2, _ = self.kernels.norm(x, layer.up.norm.eps)
        both = layer.up.product(h2)
        act, gated = self.kernels.gate(both)
        x = add_linear(x, act, layer.down)
        return x, _Tape(h, r, normed, attended, o, h2, r2, both, gated) if keep else None

    @torch.no_grad()
    def backward(self, kept: Activations, grad: Tensor) -> None:
        """Add to the parameters' gradients, given the loss's gradient [N, D] by the hidden states."""
        norm = self.model.model.norm
        if norm.weight.requires_grad:
            accumulate(norm.weight, (grad * kept.x).sum(0))
        dx = self.kernels.norm_backward(None, grad, kept.x, kept.r, self.final)
        for layer in reversed(self.layers):
            tape = kept.layers.pop()
            if isinstance(tape, Tensor):
                _, tape = self._layer(layer, tape, kept.cos, kept.sin, kept.packed, True)
            assert tape is not None
            dx = self._layer_backward(layer, tape, dx, kept)
        embedding = self.model.model.embed_tokens.weight
        if embedding.requires_grad and kept.packed.blend_ids is None:
            gradient_of(embedding).index_add_(0, kept.packed.ids, dx.to(embedding.dtype))

    def _layer_backward(self, layer: Layer, tape: _Tape, dx: Tensor, kept: Activations) -> Tensor:
        kernels = self.kernels
        dact = layer.down.backward(dx, kernels.gate_again(tape.both, tape.gated))
        dboth = kernels.gate_backward(dact, tape.both, tape.gated)
        dx = kernels.norm_backward(dx, layer.up.backward(dboth, tape.h2), tape.h2, tape.r2)
        assert tape.attended is not None
        dqk, dv = attend_backward(layer.out.backward(dx, tape.o), tape.attended, kept.packed.plan)
        dqk = kernels.turn_backward(dqk, kept.cos, kept.sin)
        if layer.qk_weight is not None and tape.qk is not None:
            dqk = self._qk_norm_backward(layer, dqk, *tape.qk)
        dheads = torch.cat([dqk, dv], 1).view(len(dx), -1)
        return kernels.norm_backward(dx, layer.qkv.backward(dheads, tape.h), tape.h, tape.r)

    def _qk_norm_backward(self, layer: Layer, grad: Tensor, x: Tensor, r: Tensor) -> Tensor:
        assert layer.qk_weight is not None
        attention = layer.block.self_attn
        if attention.q_norm.weight.requires_grad:
            by_weight, heads = (grad * x).sum(0), self.config.heads
            accumulate(attention.q_norm.weight, by_weight[:heads].sum(0))
            accumulate(attention.k_norm.weight, by_weight[heads:].sum(0))
        return self.kernels.norm_backward(None, grad, x, r, layer.qk_weight)

    @torch.no_grad()
    def hand_out(self) -> None:
        """Turn the gradients that were gathered for folded weights into gradients of the parameters."""
        for layer in self.layers:
            layer.qkv.hand_out()
            layer.up.hand_out()
