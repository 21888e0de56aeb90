"""What every network of a policy offers, whatever it computes: the engines, checkpoints and adapters ask no more."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor, nn

from assay.policy.lora import Lora


class Shape(Protocol):
    """What can be said of the shape of every network: config.json of its folder says more."""

    @property
    def family(self) -> str: ...  # `model_type` of its config.json
    @property
    def vocab(self) -> int: ...  # rows of the output layer: actions are 0 .. vocab - 1
    @property
    def context(self) -> int: ...  # the most that prompt and answer may have together


class Network(nn.Module):
    """A network with the names of its weights in files. `kind` says which of `assay.policy.kinds` it is of."""

    kind: ClassVar[str]
    config: Any  # a `Shape`, as its kind describes one
    lora: Lora | None = None  # the adapter on the network (`assay.policy.adapted`)
    base_names: frozenset[str] = frozenset()  # with an adapter: the parameters of the base, which are not trained

    @property
    @abstractmethod
    def output(self) -> nn.Module:
        """The layer that gives the logits, on which no adapter is put."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """All tensors that a checkpoint holds, by their names in files; a tied weight has its first name alone."""

    @abstractmethod
    def file_name(self, name: str) -> str:
        """The name that a parameter has in checkpoint files."""

    @abstractmethod
    def described(self, dtype: str, ids: Mapping[str, Any]) -> dict[str, Any]:
        """`config.json` for weights of this number format; `ids` are the special tokens of its codec."""


class PlainNetwork(Network):
    """A network whose parameters have the same names in files, and whose config.json is its shape."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> Self:
        """Draws fresh weights."""

    def tensors(self) -> dict[str, Tensor]:
        return dict(self.named_parameters())

    def file_name(self, name: str) -> str:
        return name

    def described(self, dtype: str, ids: Mapping[str, Any]) -> dict[str, Any]:
        shape = dataclasses.asdict(self.config)
        shape.pop("family", None)
        about = {"model_type": self.config.family, "architectures": [type(self).__name__]}
        return {**about, "torch_dtype": dtype, **shape, **ids}
