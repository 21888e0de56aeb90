"""A collector that is behind: answers of a policy of some steps ago, in the same order on every machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.models import Models
from assay.part import Part
from assay.types import Episode, Request

if TYPE_CHECKING:
    from assay.collect import Collect
    from assay.memory import Memory


@dataclass(frozen=True)
class Lagged(Part):
    """A set that follows the policy, or another follower, writes in its stead. What asynchronous systems do, without
    their chance.
    """

    model: str = "behaviour"
    role: str = "policy"


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
