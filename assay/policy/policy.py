"""A policy in memory: a network with its codec. One with random weights is made here; others are read from disk."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.errors import ConfigError
from assay.policy.codec import PolicyCodec
from assay.policy.config import PolicyConfig
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.policy.network import Network, Shape
from assay.policy.tokenizer import Tokenizer
from assay.policy.transformer import Transformer
from assay.rng import Key, digest_of


@dataclass(frozen=True)
class AdapterBase:
    """The base model of an adapter."""

    place: str  # its folder or Hub id
    fingerprint: str  # of its weights and tokenizer


@dataclass(frozen=True, eq=False)
class Policy:
    """A network with its codec (of a language model: its tokenizer) and its generation settings.

    Example:
        policy = load_policy("Qwen/Qwen3-0.6B")
        save_policy(policy, "my-model")
    """

    network: Network  # its kind says how it is run (`assay.policy.kinds`)
    codec: PolicyCodec  # a tokenizer, or what a kind has in its place; its end ids are those of all files together
    generation: Mapping[str, Any] = field(default_factory=dict)  # generation_config.json as it was read
    base: AdapterBase | None = None  # the adapter's base, where the network has an adapter

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.network.kind

    @property
    def config(self) -> Shape:
        return self.network.config

    @property
    def end_ids(self) -> frozenset[int]:
        return self.codec.end_ids

    @property
    def adapter(self) -> Lora | None:
        """The low-rank adapter on the network; None: all weights are its own."""
        return self.network.lora

    def weights(self) -> dict[str, Tensor]:
        """All tensors of the network by their names in it, an adapter's too."""
        return self.network.state_dict()

    def size(self, *, adapter: bool = True) -> int:
        """How many parameters it has, with those of its adapter or without."""
        counted = (p for name, p in self.network.named_parameters() if adapter or ".lora_" not in name)
        return sum(parameter.numel() for parameter in counted)

    def speaking(self, chat: Chat) -> Policy:
        """The same policy with these chat settings in every prompt."""
        return self if chat == self.codec.chat else dataclasses.replace(self, codec=self.codec.speaking(chat))

    def told(self, system: str) -> Policy:
        """The same policy with this system message in every prompt."""
        return self.speaking(dataclasses.replace(self.codec.chat, system=system))


def fresh_policy(config: PolicyConfig, tokenizer: Tokenizer, *, key: Key) -> Policy:
    """A policy with random weights, which depend on the key and the shape alone."""
    check_vocabulary(config, tokenizer)
    transformer = allocate(config, torch.device("cpu"), torch.float32)
    transformer.initialise(torch.Generator().manual_seed(key.bits & (2**63 - 1)))
    return Policy(transformer, tokenizer)


def fingerprint(policy: Policy) -> str:
    """A digest of the weights and the codec, by which a resumed run can
    tell whether its model is still the same.
    """
    return _fingerprint(policy, lambda name: True)


def base_fingerprint(policy: Policy) -> str:
    """The fingerprint of the model without its adapter."""
    return _fingerprint(policy, lambda name: ".lora_" not in name)


def _fingerprint(policy: Policy, wanted: Callable[[str], bool]) -> str:
    def parts() -> Iterator[Any]:
        yield policy.codec.identity
        for name, parameter in policy.network.state_dict().items():
            if wanted(name):
                yield name
                yield np.ascontiguousarray(parameter.detach().float().cpu().numpy()).tobytes()

    return digest_of(parts())


def allocate(config: PolicyConfig, device: torch.device, dtype: torch.dtype) -> Transformer:
    """A transformer whose weights are allocated but not set, which spares torch's own initialisation.

    `Module.to_empty` does the same, but its `empty_like` of tensors without memory imports torch's decompositions and
    sympy, which takes half a second of a run's start.
    """

    def allocated(tensor: Tensor) -> Tensor:
        kind = dtype if tensor.is_floating_point() else tensor.dtype
        return torch.empty(tensor.shape, dtype=kind, device=device)

    return laid(config)._apply(allocated).tie()


def laid(config: PolicyConfig) -> Transformer:
    """A transformer on torch's meta device: its tensors have shapes and no numbers, and none is tied to another."""
    with torch.device("meta"):
        return Transformer(config)


def check_vocabulary(config: Shape, tokenizer: Tokenizer) -> None:
    if tokenizer.vocab > config.vocab:
        raise ConfigError(
            f"the tokenizer has {tokenizer.vocab} tokens, the model embeds {config.vocab}: they do not belong together."
        )
