"""Networks as ranks run them: modules with autograd, whose weights FSDP2 gathers layer by layer and lets go again.

Both networks give the same numbers for packed rows as the engines of one process do. The root reads the log-probs too,
because only inside its `forward` is the weight of the output layer whole.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from assay.engine.embedding import embedded
from assay.engine.footprint import TAPE_BYTES, tape_bytes
from assay.engine.head import Coefficients, Readout
from assay.engine.interface import Want
from assay.engine.layout import Layout
from assay.engine.torch.attention import Attended, attend, attend_backward
from assay.engine.torch.kernels.interface import Kernels
from assay.engine.torch.kernels.plain import PLAIN
from assay.engine.torch.packing import pack
from assay.engine.torch.value_engine import HEAD
from assay.engine.torch.varlen import Seen, fits
from assay.engine.transformers.padded import pad
from assay.policy.foreign import Foreign
from assay.policy.rope import Rotary
from assay.policy.transformer import Transformer

Numbers = dict[str, Tensor]
"""The results of a forward pass for each response token, by the names of the fields of `Outputs`."""


@dataclass(frozen=True, eq=False)
class Ask:
    """The numbers that are asked for of the response tokens of a layout."""

    ids: Tensor  # int64[M]
    tau: Tensor  # [M]
    want: Want
    top_ids: Tensor | None = None  # int64[M, K]


class Read(torch.autograd.Function):
    """The output layer of a set of kernels as a function that autograd differentiates.

    `weight` is that of the output layer; without one, `hidden` are the logits.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor | None, ask: Ask, kernels: Kernels
    ) -> tuple[Tensor | None, ...]:
        want = ask.want
        out = kernels.read(
            hidden,
            weight,
            ask.ids,
            ask.tau,
            entropy=want.entropy,
            top_ids=ask.top_ids if want.top_ids else None,
            mean_logp=want.mean_logp,
            likeliest=want.likeliest,
            keep=any(ctx.needs_input_grad) and weight is not None,
        )
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(hidden, weight, out.logp, out.entropy, out.all_logp, out.lse)
        ctx.ask, ctx.kernels = ask, kernels
        numbers = [x for x in (out.mean_logp, out.likeliest, out.likeliest_logp) if x is not None]
        ctx.mark_non_differentiable(*numbers)
        return out.logp, out.entropy, out.top_logp, out.mean_logp, out.likeliest, out.likeliest_logp

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, weight, logp, entropy, all_logp, lse = ctx.saved_tensors
        by_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        about = {"top_ids": ctx.ask.top_ids, "readout": Readout(logp, entropy, None, None, None, None, all_logp, lse)}
        given = Coefficients(*grads[:3])
        by_hidden = ctx.kernels.pull(hidden, weight, ctx.ask.ids, ctx.ask.tau, given, by_weight, **about)
        return by_hidden, by_weight, None, None


FIELDS = ("logp", "entropy", "top_logp", "mean_logp", "likeliest", "likeliest_logp")


class Attend(torch.autograd.Function):
    """The attention of `assay.engine.torch.attention` as a function that autograd differentiates."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, plan: Any) -> Tensor:
        qk = torch.cat([q, k], 1)
        o, held = attend(qk, torch.cat([qk, v], 1), plan, keep=any(ctx.needs_input_grad))
        ctx.plan, ctx.heads, ctx.seen = plan, q.shape[1], isinstance(held, Seen)
        if isinstance(held, Seen):
            ctx.save_for_backward(held.q, held.k, held.v, held.o, held.lse, *held.state)
        elif held is not None:
            ctx.save_for_backward(held.q, held.k, held.v, *held.p)
        return o.view(q.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, *rest = ctx.saved_tensors
        held = Seen(q, k, v, rest[0], rest[1], (rest[2], rest[3])) if ctx.seen else Attended(q, k, v, rest)
        dqk, dv = attend_backward(grads[0].flatten(1), held, ctx.plan)
        return dqk[:, : ctx.heads], dqk[:, ctx.heads :], dv, None


class PackedNetwork(nn.Module):
    """Our own transformer over packed rows; with a value head, it gives values in place of log-probs."""

    def __init__(
        self, net: Transformer, *, vocab: int, compute: torch.dtype, checkpointing: str, kernels: Kernels = PLAIN
    ) -> None:
        super().__init__()
        self.net, self.vocab, self.compute, self.checkpointing = net, vocab, compute, checkpointing
        self.kernels = kernels
        net.fit(net.config.context)

    @property
    def layers(self) -> Sequence[nn.Module]:
        return list(self.net.model.layers)

    def inputs(self, layout: Layout, device: torch.device) -> Any:
        c = self.net.config
        flash = fits(device, self.compute, c.head_dim)
        return pack(layout, heads=c.heads, kv_heads=c.kv_heads, device=device, flash=flash)

    def forward(self, packed: Any, ask: Ask) -> Numbers:
        net = self.net
        with nullcontext() if packed.blend_ids is None else torch.no_grad():
            x = embedded(packed.ids, net.model.embed_tokens, packed.blend_ids, packed.blend_share)
        turn = net.rotary(packed.positions, x.dtype)
        again = torch.is_grad_enabled() and self._again(len(packed.ids), x.element_size())
        for block in net.model.layers:
            seen = partial(_attend, packed.plan)
            x = checkpoint(block, x, turn, seen, use_reentrant=False) if again else block(x, turn, seen)
        states = net.model.norm(x).index_select(0, packed.predict)
        if ask.want.value:
            head = net.get_submodule(HEAD)
            return {"value": head(states.to(ask.tau.dtype)).squeeze(-1)}
        weight = net.lm_head.weight[: self.vocab]
        return _named(Read.apply(states, weight, ask, self.kernels))

    def _again(self, tokens: int, itemsize: int) -> bool:
        """Whether a layer's activations are computed again in the backward pass, as `TorchEngine` decides it."""
        if self.checkpointing == "auto":
            return tape_bytes(self.net.config, tokens, itemsize) > TAPE_BYTES
        return self.checkpointing == "on"


def _attend(plan: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return Attend.apply(q, k, v, plan)  # type: ignore[return-value]


class PaddedNetwork(nn.Module):
    """A network of `transformers` over rows padded to a rectangle."""

    def __init__(self, net: Foreign, *, vocab: int, compute: torch.dtype) -> None:
        super().__init__()
        self.net, self.vocab, self.compute = net.eval(), vocab, compute
        self.takes = frozenset(inspect.signature(net.inner.forward).parameters)

    @property
    def layers(self) -> Sequence[nn.Module]:
        """The decoder's layers: the list of modules that has most of the parameters."""
        lists = [module for module in self.net.modules() if isinstance(module, nn.ModuleList)]
        return list(max(lists, key=lambda found: sum(p.numel() for p in found.parameters()), default=nn.ModuleList()))

    def inputs(self, layout: Layout, device: torch.device) -> Any:
        return pad(layout, device=device)

    def forward(self, padded: Any, ask: Ask) -> Numbers:
        ids, more = padded.ids, {"attention_mask": padded.mask, "position_ids": padded.positions, "use_cache": False}
        if padded.blend_ids is not None:
            with torch.no_grad():
                table = self.net.inner.get_input_embeddings()
                more["inputs_embeds"] = embedded(padded.ids, table, padded.blend_ids, padded.blend_share)
            ids = None
        given = {name: value for name, value in more.items() if name in self.takes}
        logits = self.net.inner(input_ids=ids, **given).logits[..., : self.vocab]
        return _named(Read.apply(logits.flatten(0, 1).index_select(0, padded.predict), None, ask, PLAIN))


def _named(found: Any) -> Numbers:
    return {name: tensor for name, tensor in zip(FIELDS, found, strict=True) if tensor is not None}


def shard(
    root: PackedNetwork | PaddedNetwork, mesh: DeviceMesh, device: torch.device, *, wide: torch.dtype
) -> PackedNetwork | PaddedNetwork:
    """Gives this rank its share of each parameter of a network on the meta device, in zeros, unit by unit: a layer is
    the most that is ever whole. Gradients of ranks are summed, because coefficients have a loss's denominators already.
    """
    lower = root.compute if root.compute != wide else None
    policy = MixedPrecisionPolicy(param_dtype=lower, reduce_dtype=wide, cast_forward_inputs=False)
    head = dict(root.net.named_children()).get(HEAD)
    for unit in (*root.layers, *([head] if head is not None else []), root):
        _materialise(unit, device, wide)
        fully_shard(unit, mesh=mesh, mp_policy=MixedPrecisionPolicy() if unit is head else policy)
    for module in root.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)
    return root


def _materialise(unit: nn.Module, device: torch.device, wide: torch.dtype) -> None:
    """Zeros in place of the unit's parameters on the meta device. A tied parameter stays one parameter."""
    made: dict[int, nn.Parameter] = {}
    for module in unit.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or not parameter.is_meta:
                continue
            if id(parameter) not in made:
                zeros = torch.zeros(parameter.shape, dtype=wide, device=device)
                made[id(parameter)] = nn.Parameter(zeros, requires_grad=parameter.requires_grad)
            module._parameters[name] = made[id(parameter)]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                floats = buffer.is_floating_point() and not isinstance(module, Rotary)  # positions need fp32 as it is
                module._buffers[name] = buffer.to(device, wide if floats else None)
