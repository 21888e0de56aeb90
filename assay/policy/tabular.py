"""A table of logits, one row for each state: for worlds that show their state as a one among zeros."""

from __future__ import annotations

import re
from typing import Self

import torch
from torch import Tensor, nn

from assay.errors import ConfigError
from assay.policy.acting import Acting, ActingConfig

FAMILY = "assay-tabular"
_SHAPE = re.compile(r"(\d{1,5})x(\d{1,5})")


class Tabular(Acting):
    """logits = row of the state in the table."""

    kind = "tabular"

    def __init__(self, config: ActingConfig) -> None:
        super().__init__()
        self.config = config
        self.head = nn.Linear(config.observed, config.actions, bias=False)

    def features(self, seen: Tensor) -> Tensor:
        return seen

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> Self:
        """Zeros: all actions begin equally likely."""
        self.head.weight.zero_()
        return self


def shape_of(text: str) -> ActingConfig:
    """`5x2`: five states and two actions."""
    said = _SHAPE.fullmatch(text)
    if said is None:
        raise ConfigError(
            "the shape of a table is its states and actions, such as tabular:5x2; on a task `tabular` alone is "
            f"enough. It cannot be read from 'tabular:{text}'."
        )
    return ActingConfig(FAMILY, int(said[1]), int(said[2]))


def fitted(shape: str, observed: int, actions: int) -> str:
    """The shape of a table for a world, if none is given."""
    return shape or f"{observed}x{actions}"
