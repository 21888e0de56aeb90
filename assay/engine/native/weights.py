"""A parameter set as the core reads it: the matrices that it multiplies by, and the tensors that gather gradients.

The core knows nothing of norms' weights before a product, of layers that share an input, or of what an adapter does to
a token: all are folded into one matrix, (W + s B A) * w. So a network with an adapter samples and scores as fast as a
plain one, and its bits are those of the merged weights. The core gathers the gradients by such a matrix, or by A * w
and s B of its adapter; here they become those of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from assay.engine.native.library import Core, give_back
from assay.engine.torch.linear import unfold
from assay.engine.torch.lowrank import LowRank, gradient_of
from assay.engine.torch.network import rotations
from assay.policy.adapted import Adapted
from assay.policy.transformer import Transformer

TABLE = (
    9  # a layer's entries in the core's tables: weight and bias of its four matrices, and the norms of queries and keys
)
ALONE = 1 << 22  # numbers in the layers' matrices up to which one thread prepares them sooner than several


@dataclass(eq=False)
class _Stack:
    """Linear layers that read the same input, with the weight of the norm before them if there is one."""

    parts: list[Any]
    norm: Any | None = None
    low: LowRank | None = None
    grad: Tensor | None = None
    bias_grad: Tensor | None = None
    low_grads: tuple[Tensor, Tensor] | None = None  # by A * w and by s B

    def matrix(self) -> Tensor:
        """The weight [out, in] that the core multiplies by."""
        weights = [p.merged() if isinstance(p, Adapted) else p.weight.detach() for p in self.parts]
        weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        if self.norm is not None:
            weight = weight * self.norm.weight.detach()
        return weight.contiguous()

    def take(self) -> None:
        """Takes the adapters as they are now."""
        self.low = LowRank.of(self.parts, torch.float32)

    def bias(self) -> Tensor | None:
        """The bias [out] that the core adds."""
        return None if self.parts[0].bias is None else torch.cat([part.bias.detach() for part in self.parts])

    def adapter(self) -> tuple[Tensor, Tensor] | None:
        """A * w [rank, in] and s B [out, rank] of the adapters: each layer has its own columns of B and rows of A."""
        if self.low is None:
            return None
        down = self.low.down if self.norm is None else self.low.down * self.norm.weight.detach()
        up = torch.zeros(sum(len(part.weight) for part in self.parts), len(down))
        for part in self.low.parts:
            up[part.rows, part.inner] = part.up
        return down.contiguous(), up

    def gathering(self) -> tuple[Tensor, Tensor | None]:
        """The tensors that the gradients of `matrix` are added to."""
        first = self.parts[0]
        if self.norm is None:
            return gradient_of(first.weight), None if first.bias is None else gradient_of(first.bias)
        rows = sum(len(part.weight) for part in self.parts)
        self.grad = torch.zeros(rows, first.weight.shape[1])
        self.bias_grad = None if first.bias is None else torch.zeros(rows)
        return self.grad, self.bias_grad

    def gathering_low(self) -> tuple[Tensor, Tensor] | None:
        """The tensors that the gradients of `adapter` are added to."""
        if self.low is not None:
            rows, (rank, columns) = sum(len(part.weight) for part in self.parts), self.low.down.shape
            self.low_grads = torch.zeros(rank, columns), torch.zeros(rows, rank)
        return self.low_grads

    def hand_out(self) -> None:
        """Adds the gathered gradients to those of the parameters."""
        if self.grad is not None:
            unfold(self.norm, self.parts, self.grad, self.bias_grad)
        if self.low is not None and self.low_grads is not None:
            down, up = self.low_grads
            if self.norm is not None:
                down.mul_(self.norm.weight.detach())
            for part in self.low.parts:
                gradient_of(part.module.lora_A.weight).add_(down[part.inner])
                gradient_of(part.module.lora_B.weight).add_(up[part.rows, part.inner], alpha=part.module.scale)
        self.grad = self.bias_grad = self.low_grads = None


class Weights:
    """The parameters of a model in the core, which copies them after each step.

    Example:
        weights = Weights(model, core, vocab=model.config.vocab, positions=4096)
        weights.take()  # after each change of the parameters
        weights.gather(), core.backward(work, gradients), weights.hand_out()
    """

    def __init__(self, model: Transformer, core: Core, *, vocab: int, positions: int) -> None:
        self.model, self.core, self.vocab = model, core, vocab
        device = model.model.embed_tokens.weight.device
        cos, sin = rotations(model, positions, torch.float32, device)
        half = model.config.head_dim // 2
        self.turns = [cos[:, 0, :half].contiguous(), sin[:, 0, half:].contiguous()]
        self.layers: list[tuple[Any, list[_Stack]]] = []
        for module in model.model.layers:
            block: Any = module
            attention, mlp = block.self_attn, block.mlp
            stacks = [
                _Stack([attention.q_proj, attention.k_proj, attention.v_proj], block.input_layernorm),
                _Stack([attention.o_proj]),
                _Stack([mlp.gate_proj, mlp.up_proj], block.post_attention_layernorm),
                _Stack([mlp.down_proj]),
            ]
            self.layers.append((attention, stacks))
        self.gathered: list[Tensor | None] | None = None
        self.read: list[Tensor | None] = []  # kept, because the core points to them
        self.numbers = sum(part.weight.numel() for stack in self.stacks for part in stack.parts)

    @property
    def stacks(self) -> list[_Stack]:
        return [stack for _, stacks in self.layers for stack in stacks]

    @torch.no_grad()
    def take(self) -> None:
        """Give the core the parameters as they are now. It copies matrices, and reads others in place.

        The matrices that the core multiplies by are made one after another, and each is dropped when the core has
        copied it. Several threads do this if that is worth it.
        """
        self.read, self.gathered = self.table(), None
        self.core.take_weights(self.read)

        def pack(number: int, stack: _Stack) -> None:
            with torch.no_grad():
                self.core.pack(number, stack.matrix())

        stacks = self.stacks
        for stack in stacks:  # tensors that stay come first: the next matrix then fits in the place of a dropped one
            stack.take()
        if self.core.threads == 1 or self.numbers <= ALONE:
            for number, stack in enumerate(stacks):
                pack(number, stack)
        else:
            with _one_thread_each(), ThreadPoolExecutor(self.core.threads) as pool:
                list(pool.map(pack, range(len(stacks)), stacks))
        if self.model.lora is not None:
            self.core.take_adapters([stack.adapter() for stack in stacks])
        give_back()

    @torch.no_grad()
    def table(self) -> list[Tensor | None]:
        """All weights in the core's order, without the layers' matrices."""
        c, decoder = self.model.config, self.model.model
        table: list[Tensor | None] = []
        for attention, stacks in self.layers:
            for stack in stacks:
                table += None, stack.bias()
            turned = None
            if c.qk_norm:
                q, k = attention.q_norm.weight, attention.k_norm.weight
                turned = torch.cat([q.detach().expand(c.heads, -1), k.detach().expand(c.kv_heads, -1)])
            table.append(turned)
        rest = (self.model.lm_head.weight[: self.vocab], decoder.embed_tokens.weight, decoder.norm.weight)
        return [*table, *(tensor.detach().contiguous() for tensor in rest), *self.turns]

    def gather(self) -> None:
        """Give the core the tensors to add gradients to, at the first backward pass of a step."""
        if self.gathered is not None:
            return
        if self.model.lora is not None:
            pairs = [stack.gathering_low() for stack in self.stacks]
            self.gathered = [tensor for pair in pairs for tensor in pair or (None, None)]
            self.core.take_adapter_gradients(self.gathered)
            return
        c, decoder = self.model.config, self.model.model
        self.gathered = []
        for _, stacks in self.layers:
            for stack in stacks:
                self.gathered += stack.gathering()
            self.gathered.append(torch.zeros(c.heads + c.kv_heads, c.head_dim) if c.qk_norm else None)
        rest = (self.model.lm_head.weight, decoder.embed_tokens.weight, decoder.norm.weight)
        self.gathered += [gradient_of(parameter) for parameter in rest]
        self.core.take_gradients(self.gathered)

    @torch.no_grad()
    def hand_out(self) -> None:
        """Turn the gradients that a step's chunks have gathered into those of the parameters."""
        gathered, self.gathered = self.gathered, None
        if gathered is None:
            return
        c = self.model.config
        for stack in self.stacks:
            stack.hand_out()
        if c.qk_norm and self.model.lora is None:
            for (attention, _), grad in zip(self.layers, gathered[TABLE - 1 :: TABLE]):
                assert grad is not None
                gradient_of(attention.q_norm.weight).add_(grad[: c.heads].sum(0))
                gradient_of(attention.k_norm.weight).add_(grad[c.heads :].sum(0))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Inside the block, torch computes an operation in the thread that asks for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
