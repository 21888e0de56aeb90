"""The scale of a recipe: its numbers apart from its mechanism, and the parameter sets that it needs. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Scale:
    """The numbers of a set-up."""

    num_prompts: int  # prompts whose groups are trained on in a step
    group_size: int  # answers to each
    max_new: int  # generation limit in tokens, a constant of the run
    learning_rate: float
    num_steps: int
    oversample: int = 1  # prompts drawn a round, in multiples of num_prompts
    num_minibatches: int = 1  # optimiser steps a rollout batch is cut into
    num_epochs: int = 1  # passes over it
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    warmup_steps: int = 0  # optimiser steps
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    clip_norm: float | None = 1.0

    @property
    def num_updates(self) -> int:
        return self.num_minibatches * self.num_epochs


@dataclass(frozen=True)
class Model:
    """A named parameter set. Partners step inside `forwards`; learn-first ones do so before their scores are used."""

    start: Literal["base", "policy"] = "base"  # whose weights it has when a stage begins: its own, or the policy's then
    trained: bool = True
    learns_first: bool = False
    output: Literal["tokens", "value"] = "tokens"  # value: one number a token in place of a distribution, a critic
    follows: str | None = None  # a set without optimiser whose weights `remember` takes from this one: lagged, averaged

    @property
    def saved(self) -> bool:
        """Whether its weights are state of the run; others come back from where they came from."""
        return self.trained or self.follows is not None or self.start == "policy"


def behind(steps: int) -> dict[str, Model]:
    """The policy, and a chain of followers whose last, `behaviour`, is exactly so many steps behind it."""
    names = ["policy", *(f"behaviour-{step}" for step in range(steps)), "behaviour"]
    chain = zip(names[1:], names[:-1], strict=True)
    return {"policy": Model()} | {name: Model(trained=False, follows=leader) for name, leader in chain}
