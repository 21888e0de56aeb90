"""A multilayer perceptron over observations: hidden layers of tanh, a logit for each action."""

from __future__ import annotations

import math
import re
from typing import Self

import torch
from torch import Tensor, nn

from assay.errors import ConfigError
from assay.policy.acting import Acting, ActingConfig

FAMILY = "assay-mlp"
_LAYERS = r"\d{1,5}(?:x\d{1,5}){0,7}"
_SHAPE = re.compile(rf"({_LAYERS}):(\d{{1,5}})x(\d{{1,5}})")


class Mlp(Acting):
    """h <- tanh(W h + b) for each hidden layer, then a logit for each action."""

    kind = "mlp"

    def __init__(self, config: ActingConfig) -> None:
        super().__init__()
        self.config = config
        widths = [config.observed, *config.layers]
        self.body = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths[:-1], widths[1:], strict=True))
        self.head = nn.Linear(config.hidden, config.actions)

    @property
    def _hidden(self) -> list[nn.Linear]:
        return [layer for layer in self.body if isinstance(layer, nn.Linear)]

    def features(self, seen: Tensor) -> Tensor:
        for layer in self._hidden:
            seen = torch.tanh(layer(seen))
        return seen

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> Self:
        """Orthogonal matrices, with a gain of sqrt(2) in hidden layers and of 0.01 before the actions, so that all
        actions begin about equally likely; biases of zero.
        """
        for layer, gain in (*((layer, math.sqrt(2)) for layer in self._hidden), (self.head, 0.01)):
            nn.init.orthogonal_(layer.weight, gain, generator=generator)
            layer.bias.zero_()
        return self


def shape_of(text: str) -> ActingConfig:
    """`64x64:4x2`: two hidden layers of 64, for 4 numbers observed and 2 actions."""
    said = _SHAPE.fullmatch(text)
    if said is None:
        raise ConfigError(
            f"the shape of an mlp is its hidden layers, then the numbers observed and the actions, such as "
            f"mlp:64x64:4x2; on a task the layers are enough, mlp:64x64. It cannot be read from 'mlp:{text}'."
        )
    layers = tuple(map(int, said[1].split("x")))
    return ActingConfig(FAMILY, int(said[2]), int(said[3]), layers)


def fitted(shape: str, observed: int, actions: int) -> str:
    """The shape with the sizes of a world behind its layers; one that has sizes stays as it is."""
    return f"{shape}:{observed}x{actions}" if re.fullmatch(_LAYERS, shape) else shape
