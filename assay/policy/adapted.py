"""Low-rank adapters on a network: trained matrices A and B beside the linear layers of a base that is never trained."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assay.errors import ConfigError, StorageError
from assay.policy.lora import Lora, check
from assay.policy.network import Network
from assay.rng import Key

Model = TypeVar("Model", bound=Network)
PEFT = "base_model.model."  # PEFT's prefix of the names of tensors


class Factor(nn.Module):
    """One of an adapter's two factors, A or B, as a linear layer: x W'."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.to(self.weight.dtype), self.weight)


class Adapted(nn.Module):
    """A linear layer with an adapter: W x + b + scale B A x. At first B is
    zero, and A is drawn uniformly as in PEFT.
    """

    def __init__(self, base: nn.Linear, lora: Lora, generator: torch.Generator) -> None:
        super().__init__()
        self.weight, self.bias, self.scale = base.weight, base.bias, lora.scale
        rows, columns = base.weight.shape
        kind = {"dtype": torch.promote_types(base.weight.dtype, torch.float32), "device": base.weight.device}
        bound = columns**-0.5
        drawn = torch.empty(lora.rank, columns).uniform_(-bound, bound, generator=generator)
        self.lora_A = Factor(drawn.to(**kind))
        self.lora_B = Factor(torch.zeros(rows, lora.rank, **kind))

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x, self.weight, self.bias)
        return y + (self.scale * self.lora_B(self.lora_A(x))).to(y.dtype)

    def merged(self) -> Tensor:
        """W + scale B A"""
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        product = self.lora_B.weight.to(wide) @ self.lora_A.weight.to(wide)
        return (self.weight.to(wide) + self.scale * product).to(self.weight.dtype)


def attach(model: Model, lora: Lora, *, key: Key) -> Model:
    """The same network with a fresh adapter on it, drawn from the key. From now on the base is not trained."""
    check(lora)
    if model.lora is not None:
        raise ConfigError("the model has an adapter already; merge it (`assay export --merge`) before it gets another.")
    linear = {n: m for n, m in model.named_modules() if isinstance(m, nn.Linear) and m is not model.output}
    leaves = sorted({name.rpartition(".")[2] for name in linear})
    for target in lora.targets:
        if not any(_is(name, target) for name in linear):
            raise ConfigError(
                f"lora.targets: the model has no linear layer '{target}'; it has {', '.join(leaves) or 'none'}."
            )
    chosen = [name for name in linear if not lora.targets or any(_is(name, t) for t in lora.targets)]
    if not chosen:
        raise ConfigError("the model has no linear layer that an adapter could be put on; train all its weights.")
    model.base_names = frozenset(name for name, _ in model.named_parameters())
    generator = torch.Generator().manual_seed(key.bits & (2**63 - 1))
    for name in chosen:
        home, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(home), leaf, Adapted(linear[name], lora, generator))
    model.lora = dataclasses.replace(lora, targets=tuple(sorted({name.rpartition(".")[2] for name in chosen})))
    if lora.targets:
        model.lora = dataclasses.replace(lora, targets=tuple(sorted(lora.targets)))
    return model


def _is(name: str, target: str) -> bool:
    return name == target or name.endswith(f".{target}")


def twin(model: Model) -> Model:
    """A copy that can be trained independently. With an adapter, both share the base, which is never trained."""
    shared = {id(p): p for name, p in model.named_parameters() if name in model.base_names}
    return copy.deepcopy(model, shared)  # type: ignore[arg-type]


def own(model: Network) -> dict[str, nn.Parameter]:
    """The trained parameters by their names in the network: all of them, or with an adapter all but the base's."""
    return {name: p for name, p in model.named_parameters() if name not in model.base_names}


def stored(model: Network) -> dict[str, Tensor]:
    """The tensors that a checkpoint holds, by their names in files: Hugging Face's, or PEFT's for an adapter."""
    if model.lora is None:
        return model.tensors()
    return {_peft(model.file_name(name)): parameter for name, parameter in own(model).items()}


def _peft(name: str) -> str:
    return PEFT + name if ".lora_" in name else name


def merged(model: Network) -> dict[str, Tensor]:
    """The weights with the adapter merged into them (a plain network that
    computes the same), by their names in files.
    """
    return {name: make() for name, make in mergeable(model).items()}


def mergeable(model: Network) -> dict[str, Callable[[], Tensor]]:
    """A function for each tensor of `merged` that makes it, so that they need not all be there at once."""
    changed = {f"{n}.weight": m for n, m in model.named_modules() if isinstance(m, Adapted)}
    renamed = {model.file_name(name): module.merged for name, module in changed.items()}
    plain = {name: tensor for name, tensor in model.tensors().items() if ".lora_" not in name}
    return {name: renamed.get(name, functools.partial(_itself, tensor)) for name, tensor in plain.items()}


def _itself(tensor: Tensor) -> Tensor:
    return tensor


@torch.no_grad()
def take(model: Network, weights: Mapping[str, Tensor], *, place: str) -> None:
    """Load an adapter's tensors. A missing or an unexpected tensor is an error."""
    slots = stored(model)
    problems = [f"{name} is missing" for name in slots if name not in weights]
    problems += [f"{name} is unexpected" for name in weights if name not in slots]
    problems += [
        f"{name} is {list(weights[name].shape)}, expected {list(slot.shape)}"
        for name, slot in slots.items()
        if name in weights and weights[name].shape != slot.shape
    ]
    problems += [f"{name} is not finite" for name in slots if name in weights and not weights[name].isfinite().all()]
    if problems:
        raise StorageError(
            f"the tensors of {place} do not fit its configuration and its base: {'; '.join(problems[:6])}"
            + (f" and {len(problems) - 6} more." if len(problems) > 6 else ".")
        )
    for name, slot in slots.items():
        slot.copy_(weights[name])
