"""Collectors in which another set writes: a policy of some steps ago, or the one with which the stage began."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.models import Models
from assay.part import Collecting
from assay.types import Episode, Request

if TYPE_CHECKING:
    from assay.collect import Collect
    from assay.memory import Memory


def lagged(collect: Collect, *, model: str, role: str) -> Collect:
    """`collect` with the role played by the follower."""

    def collect_behind(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        if models.roles[role] not in models.leaders(model):
            raise ConfigError(
                f"collect.model: '{model}' does not follow '{models.roles[role]}', which plays {role}. Give the recipe "
                f"a model of this name with follows='{models.roles[role]}' and trained=False."
            )
        return collect(dataclasses.replace(models, roles={**models.roles, role: model}), requests, memory)

    return collect_behind


@dataclass(frozen=True)
class Lagged(Collecting):
    """A set that follows the policy, or another follower, writes in its stead. What asynchronous systems do, without
    their chance.
    """

    model: str = "behaviour"  # the set that writes, by its name in the recipe's models
    role: str = "policy"
    does = lagged


def frozen(collect: Collect, *, model: str, role: str) -> Collect:
    """`collect` with the role played by this set."""

    def collect_frozen(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        spec = models.specs.get(model)
        if model not in models or spec is None or spec.trained:
            raise ConfigError(
                f"collect.model: '{model}' is no frozen set. Give the recipe a model of this name with trained=False."
            )
        return collect(dataclasses.replace(models, roles={**models.roles, role: model}), requests, memory)

    return collect_frozen


@dataclass(frozen=True)
class Frozen(Collecting):
    """A set that never learns writes in the policy's stead: all answers of a stage are of one policy.

    With a model of start=policy each stage is a round: what is learnt from is what the round before it could do.
    """

    model: str = "reference"
    role: str = "policy"
    does = frozen
