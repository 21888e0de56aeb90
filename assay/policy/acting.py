"""Policies over observations: they read numbers and choose one of a few actions. Here is what all of them share: their
shape, their network as engines see it, and the codec that stands where language models have a tokenizer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from assay.errors import ConfigError, DataError
from assay.policy.codec import Wordless
from assay.policy.network import PlainNetwork
from assay.types import Ids

STEPS = 1 << 30  # the most steps of an answer: nothing in such a network depends on it


@dataclass(frozen=True)
class ActingConfig:
    """The shape of a policy over observations.

    ActingConfig("assay-mlp", observed=4, actions=2, layers=(64, 64))  # mlp:64x64:4x2
    """

    family: str  # `model_type` of its config.json
    observed: int  # numbers of an observation
    actions: int  # discrete actions: 0 .. actions - 1
    layers: tuple[int, ...] = ()  # widths of its hidden layers

    def __post_init__(self) -> None:
        for name, value in (
            ("observed", self.observed),
            ("actions", self.actions),
            *(("layers", n) for n in self.layers),
        ):
            if type(value) is not int or not 1 <= value <= 1 << 16:
                raise ConfigError(f"{name} of a policy over observations must be from 1 to 65,536, not {value!r}.")

    @property
    def hidden(self) -> int:
        """The numbers that its output layer reads."""
        return self.layers[-1] if self.layers else self.observed

    @property
    def vocab(self) -> int:
        return self.actions

    @property
    def context(self) -> int:
        return STEPS


def config_of(raw: Mapping[str, Any]) -> ActingConfig:
    """The shape that a `config.json` states."""
    missing = [name for name in ("model_type", "observed", "actions") if name not in raw]
    layers = raw.get("layers", [])
    if missing or not isinstance(layers, list):
        what = f"lacks {', '.join(missing)}" if missing else f"has layers {layers!r}, which are no list"
        raise ConfigError(f"the config.json of a policy over observations {what}.")
    return ActingConfig(raw["model_type"], raw["observed"], raw["actions"], tuple(layers))


class Acting(PlainNetwork):
    """The network of a policy over observations: `features` that an output layer turns into a logit for each action."""

    config: ActingConfig
    head: nn.Linear  # [actions, hidden]

    @abstractmethod
    def features(self, seen: Tensor) -> Tensor:
        """[M, observed] -> [M, hidden]"""

    @property
    def output(self) -> nn.Module:
        return self.head


@dataclass(frozen=True)
class ActionCodec(Wordless):
    """The codec of a policy that reads observations and no words: an answer is written as the numbers of its actions.

    codec = ActionCodec(actions=2, observed=4)
    codec.decode([0, 1, 1]), codec.encode("0 1 1")  # "0 1 1", [0, 1, 1]
    """

    whose = "a policy over observations"

    actions: int
    observed: int

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset()

    @property
    def vocab(self) -> int:
        return self.actions

    @property
    def identity(self) -> bytes:
        return f"actions {self.observed} {self.actions}".encode()

    def render(self, prompt: Any) -> Ids:
        """Nothing: what is to be read is observed at each step."""
        return np.zeros(0, np.int32)

    def encode(self, text: str) -> Ids:
        words = text.split()
        if not all(word.isdecimal() and len(word) < 6 and int(word) < self.actions for word in words):
            raise DataError(
                f"actions are numbers from 0 to {self.actions - 1}, such as `0 1 1`, and not {text[:60]!r}."
            )
        return np.array([int(word) for word in words], np.int32)

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(str(int(number)) for number in ids)
