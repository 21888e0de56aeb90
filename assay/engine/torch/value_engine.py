"""Networks with a value head, one number for each token: critics, which have it in place of the output layer, and
reward models that write before they judge, which have both.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from assay.engine.interface import Chunk, Outputs, Want
from assay.engine.layout import Layout
from assay.engine.local import LaidChunk
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.lowrank import gradient_of
from assay.engine.torch.network_engine import NetworkEngine
from assay.errors import UsageError

HEAD = "value_head"


@dataclass(frozen=True, eq=False)
class _Held:
    """The tensors of a forward pass that its backward pass needs: the hidden states under the value head, and those
    that the engine keeps itself.
    """

    states: Tensor
    kept: Any


def with_value_head(model: Any) -> Any:
    """The network with a value head, which is zero if it is new."""
    if HEAD not in dict(model.named_children()):
        head = nn.Linear(model.config.hidden, 1)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        model.add_module(HEAD, head)
    return model


if TYPE_CHECKING:
    _Base = NetworkEngine
else:
    _Base = object


class Values(_Base):
    """The value head over an engine's hidden states: V(state before each token) = w h + b. It starts at zero, so every
    value is 0 at first. Torch computes the head itself, also where other code computes the network.
    """

    def __init__(self, model: Any, **settings: Any) -> None:
        super().__init__(with_value_head(model), **settings)
        self._values: weakref.WeakKeyDictionary[Outputs, _Held] = weakref.WeakKeyDictionary()

    @property
    def value_head(self) -> nn.Linear:
        return self.model.get_submodule(HEAD)  # type: ignore[return-value]

    speaks: ClassVar[bool] = False  # it also has the distribution of tokens

    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        if self.speaks:
            return super()._score(layout, ids, tau, entropy)
        raise UsageError("a parameter set with a value head gives values, no log-probs: ask for Want(value=True)")

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, LaidChunk)
        if self.speaks and not want.value:
            return super().forward(chunk, want)
        if want != Want(value=True):
            raise UsageError(f"a parameter set with a value head gives values alone: ask Want(value=True), not {want}")
        learns = torch.is_grad_enabled() and self.optimiser is not None
        states, kept = self.states(chunk, keep=learns)
        with torch.no_grad():
            value = states.to(self.wide) @ self.value_head.weight[0] + self.value_head.bias
        outputs = Outputs(logp=torch.zeros_like(value), value=value.requires_grad_(True) if learns else value)
        if learns:
            self._values[outputs] = _Held(states, kept)
        return outputs

    @torch.no_grad()
    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        assert isinstance(chunk, LaidChunk)
        if self.speaks and outputs.value is None:
            return super().backward(chunk, outputs)
        held = self._values.pop(outputs, None)
        if held is None or outputs.value is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        if (grad := outputs.value.grad) is None:
            return None
        gradient_of(self.value_head.weight).add_((grad @ held.states.to(self.wide))[None])
        gradient_of(self.value_head.bias).add_(grad.sum())
        self.pull_states(chunk, held.kept, (grad[:, None] * self.value_head.weight).to(held.states.dtype))
        return None


class Speaking(Values):
    """The value head beside the output layer: one body gives values, or the distribution of tokens, and learns both.

    A pass asks for one of the two. Gradients of several passes add up until the next step.
    """

    speaks = True


class ValueEngine(Values, TorchEngine):
    """A critic on any torch device.

    Example:
        critic = ValueEngine(policy.network, end_ids=policy.end_ids)
        critic.forward(chunk, Want(value=True)).value  # [M]
    """


class SpeakingEngine(Speaking, TorchEngine):
    """Tokens and values on any torch device.

    Example:
        critic = SpeakingEngine(policy.network, end_ids=policy.end_ids)
        critic.generate(requests, key), critic.forward(chunk, Want(value=True)).value
    """
