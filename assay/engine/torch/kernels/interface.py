"""The functions of which a set of kernels is made. A network calls nothing else between its products, so that one text
of it runs with torch's own operations and with fused kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from assay.engine.filtering import Draw
from assay.engine.head import Coefficients, Readout

KernelWish = Literal["auto", "torch"]
"""The setting `machine.kernels`: `auto` takes Triton's kernels where they run, `torch` takes none of them."""

Gated = tuple[Tensor, Tensor] | None
"""silu(gate) and its product with up, where a set keeps them for the backward pass; None: they are computed again."""


class Norm(Protocol):
    def __call__(self, x: Tensor, eps: float, gain: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """(r x, r, r x gain) for r = 1 / sqrt(mean(x^2) + eps) over the last dimension, which stays in r with size 1.

        Without a gain the third is the first.
        """
        ...


class NormBackward(Protocol):
    def __call__(
        self, residual: Tensor | None, grad: Tensor, h: Tensor, r: Tensor, gain: Tensor | None = None
    ) -> Tensor:
        """residual + r (g - h mean(g h)) for h = r x and g = grad * gain. `grad` and `residual` may be overwritten."""
        ...


class Turn(Protocol):
    def __call__(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x * cos + swap(x) * sin for x [N, heads, d], where swap exchanges the halves of the last dimension.

        `cos` and `sin` are [N, 1, d], and `sin` has the signs.
        """
        ...


class TurnNormed(Protocol):
    def __call__(
        self, x: Tensor, eps: float, weight: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(r x weight turned, r x, r) for x [N, heads, d] and the weights [heads, d] of the norms of its heads."""
        ...


class Gating(Protocol):
    def __call__(self, both: Tensor) -> tuple[Tensor, Gated]:
        """(silu(gate) * up, what is kept of it) for `both` [N, 2 F]: gates in the first half, up in the second."""
        ...


class GatingAgain(Protocol):
    def __call__(self, both: Tensor, gated: Gated) -> Tensor:
        """silu(gate) * up for the backward pass: what was kept, or computed again."""
        ...


class GatingBackward(Protocol):
    def __call__(self, grad: Tensor, both: Tensor, gated: Gated) -> Tensor:
        """The gradient by `both`, given that by silu(gate) * up, whose memory may be overwritten."""
        ...


class Read(Protocol):
    def __call__(
        self,
        hidden: Tensor,
        weight: Tensor | None,
        ids: Tensor,
        tau: Tensor,
        *,
        entropy: bool = False,
        top_ids: Tensor | None = None,
        mean_logp: bool = False,
        likeliest: int = 0,
        keep: bool = False,
    ) -> Readout:
        """As `assay.engine.head.read`."""
        ...


class Pull(Protocol):
    def __call__(
        self,
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
        """As `assay.engine.head.pull`, given what `read` of the same set read."""
        ...


class AddProduct(Protocol):
    def __call__(self, total: Tensor, a: Tensor, b: Tensor) -> None:
        """total += a' b, accumulated in the number format of `total`."""
        ...


class AttendShared(Protocol):
    def __call__(
        self,
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
        """Attention [n, heads * d] of one query for each row, over its prompt in a store and what it wrote behind it:
        see `decoding.attend_shared`.
        """
        ...


@dataclass(frozen=True)
class Kernels:
    """A set of kernels. Functions of one line belong together: one reads what another has kept.

    h, r, _ = kernels.norm(x, eps)
    dx = kernels.norm_backward(None, grad, h, r)
    """

    norm: Norm
    norm_backward: NormBackward
    turn: Turn
    turn_backward: Turn  # the gradient by x, given that by what was turned
    turn_normed: TurnNormed
    gate: Gating
    gate_again: GatingAgain
    gate_backward: GatingBackward
    read: Read
    pull: Pull
    add_product: AddProduct
    draw: Draw
    attend_shared: AttendShared | None  # None: decoding takes torch's products, over a copy of the prompt for each row


FAMILIES: dict[str, tuple[str, ...]] = {
    "norms": ("norm", "norm_backward"),
    "rotations": ("turn", "turn_backward", "turn_normed"),
    "gates": ("gate", "gate_again", "gate_backward"),
    "output layer": ("read", "pull"),
    "gradients of weights": ("add_product",),
    "draws": ("draw",),
    "decoding": ("attend_shared",),
}
"""The functions that are taken from a set together, or not at all."""
