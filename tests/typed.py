"""What a test knows and a type does not say: that a value is there, and which engine or model it has before it."""

from __future__ import annotations

from typing import TypeVar

from assay.engine.interface import Engine
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.network_engine import NetworkEngine
from assay.policy.config import PolicyConfig
from assay.policy.foreign import Foreign
from assay.policy.policy import Policy
from assay.policy.tokenizer import Tokenizer
from assay.policy.transformer import Transformer

T = TypeVar("T")


def present(value: T | None) -> T:
    assert value is not None
    return value


def as_torch(engine: Engine) -> TorchEngine:
    assert isinstance(engine, TorchEngine)
    return engine


def as_network(engine: Engine) -> NetworkEngine:
    assert isinstance(engine, NetworkEngine)
    return engine


def as_ours(model: object) -> Transformer:
    """A model that is not one of `transformers`."""
    assert isinstance(model, Transformer)
    return model


def tokenizer_in(policy: Policy) -> Tokenizer:
    """The tokenizer of a language model."""
    assert isinstance(policy.codec, Tokenizer)
    return policy.codec


def as_foreign(model: object) -> Foreign:
    """A model of `transformers`."""
    assert isinstance(model, Foreign)
    return model


def as_our_config(config: object) -> PolicyConfig:
    assert isinstance(config, PolicyConfig)
    return config
