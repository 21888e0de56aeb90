"""The scale of a recipe: the numbers that do not belong to its mechanism, and the models that it needs. This module
does not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Scale:
    """The numbers of a run that depend on model, machine and data.

    Scale(num_prompts=16, group_size=64, max_new=1024, learning_rate=1e-6, num_steps=500)
    --scale.num_prompts 16 --scale.group_size 64 --scale.learning_rate 1e-6
    """

    num_prompts: int  # number of prompts whose groups a step trains on
    group_size: int  # number of answers to each prompt
    max_new: int  # the generation limit: the most tokens that an answer may have
    learning_rate: float
    num_steps: int  # number of steps of the run; a step collects one batch of rollouts and trains on it
    max_replies: int = 0  # the most tokens of replies of a world in an answer; 0: they count towards max_new
    longest_reply: int = 0  # the most tokens of one reply, which is cut behind them and says so; 0: no limit
    num_tokens: int = 0  # the run ends earlier, once it has generated so many tokens; 0: it does all its steps
    oversample: int = 1  # each round draws this many times num_prompts
    num_minibatches: int = 1  # number of mini-batches of a batch of rollouts, each an optimiser step
    num_epochs: int = 1  # number of passes over a batch of rollouts
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
        """Number of optimiser steps on a batch of rollouts."""
        return self.num_minibatches * self.num_epochs

    @property
    def longest(self) -> int:
        """The most tokens of an answer with the replies in it."""
        return self.max_new + self.max_replies

    def over(self, step: int, tokens: int) -> bool:
        """Whether a run is over that has done so many steps and spent so many tokens."""
        return step >= self.num_steps or 0 < self.num_tokens <= tokens


Output = Literal["tokens", "value", "both"]
"""The output of a model: tokens, one number a token, as a critic gives, or both."""


@dataclass(frozen=True)
class Model:
    """A model of a recipe: a named set of parameters, such as the policy, a reference policy or a critic.

    models={"policy": Model(), "critic": Model(output="value"), "reference": Model(trained=False)}
    --models.reference.start policy
    """

    start: Literal["base", "policy"] = "base"  # policy: copies the policy's weights when a stage begins
    trained: bool = True
    learns_first: bool = False  # takes its optimiser steps in `forwards` before its outputs are used, not after
    output: Output = "tokens"  # value: one number a token, as of a critic, and no text
    follows: str | None = None  # the model whose weights `follow` of `remember` copies or averages into this one

    @property
    def valued(self) -> bool:
        """Whether it has a value head."""
        return self.output != "tokens"

    @property
    def saved(self) -> bool:
        """Whether a checkpoint contains the weights. All other weights are loaded again from the base model."""
        return self.trained or self.follows is not None or self.start == "policy"


def behind(steps: int) -> dict[str, Model]:
    """The policy, and a chain of followers. The last one, `behaviour`, lags exactly `steps` steps behind the policy."""
    names = ["policy", *(f"behaviour-{step}" for step in range(steps)), "behaviour"]
    chain = zip(names[1:], names[:-1], strict=True)
    return {"policy": Model()} | {name: Model(trained=False, follows=leader) for name, leader in chain}
