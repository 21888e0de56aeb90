"""Collectors in which another model generates the answers: a lagging copy of the policy, or a frozen one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.models import Models
from assay.part import Collecting
from assay.types import Episode, Request

if TYPE_CHECKING:
    from assay.collect import Collect
    from assay.memory import Memory


def lagged(collect: Collect, *, model: str, role: str) -> Collect:
    """`collect` with a follower of the policy playing the role."""

    def collect_behind(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        if models.roles[role] not in models.leaders(model):
            raise ConfigError(
                f"collect.model: '{model}' does not follow '{models.roles[role]}', which plays {role}. Give the recipe "
                f"a model of this name with follows='{models.roles[role]}' and trained=False."
            )
        return collect(dataclasses.replace(models, roles={**models.roles, role: model}), requests, memory)

    return collect_behind


class Lagged(Collecting):
    """A model that lags behind the policy generates the answers, as in asynchronous training, but reproducibly.

    The recipe has a model of this name that `follows` the policy, or follows another follower, and `remember` has a
    `follow` that moves this model.

        collect=(Lagged(model="behaviour"),)
        --mechanism.collect lagged --mechanism.collect.0.model behaviour
    """

    model: str = "behaviour"  # the model that generates, by its name in the recipe's `models`
    role: str = "policy"  # the role that the model plays
    does = lagged


def frozen(collect: Collect, *, model: str, role: str) -> Collect:
    """`collect` with a frozen model playing the role."""

    def collect_frozen(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        spec = models.specs.get(model)
        if model not in models or spec is None or spec.trained:
            raise ConfigError(
                f"collect.model: '{model}' is no frozen model. Give the recipe a model of this name with trained=False."
            )
        return collect(dataclasses.replace(models, roles={**models.roles, role: model}), requests, memory)

    return collect_frozen


class Frozen(Collecting):
    """A frozen model generates the answers, so that all answers of a stage come from one distribution.

    A model with start="policy" copies the policy when a stage begins: then each stage learns from the answers of the
    policy that the stage before it left.

        collect=(Frozen(model="reference"),)
        --mechanism.collect frozen --mechanism.collect.0.model reference
    """

    model: str = "reference"  # the name in the recipe's `models`
    role: str = "policy"  # the role that the model plays
    does = frozen
