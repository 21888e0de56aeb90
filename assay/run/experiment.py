"""Everything that decides a run, as one record: it is saved in the run folder and can be run again as it is."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from typing import Literal

from assay.errors import ConfigError
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.policy.lora import check as check_lora
from assay.recipe import Profile, Recipe
from assay.recipe import check as check_recipe
from assay.source import Pool, check_pool
from assay.tasks import task
from assay.verifiers.functions.naming import names, parse
from assay.verifiers.functions.process import SECONDS, check_timeout


@dataclass(frozen=True)
class Evaluation:
    """Held-out problems: a few while training, to pick the best checkpoint; more before and after, on another split."""

    every: int = 25  # steps; 0: only before and after
    num_problems: int = 128
    num_samples: int = 4
    final_problems: int = 256
    final_samples: int = 16
    temperature: float = 1.0


@dataclass(frozen=True)
class Machine:
    """Where and how the run computes. Does not change what is computed, except for rounding."""

    device: str = "auto"
    engine: Literal["auto", "native", "torch"] = "auto"  # native: the compiled core, on processors
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    threads: int = 0  # 0: all cores
    micro_tokens: int = 2048  # of a forward and backward: on a processor, what its caches hold
    cache_mb: int = 512  # keys and values of the rows in flight
    probe: int = 16  # answers looked at before the first step, for warnings; 0: none
    checkpointing: Literal["auto", "on", "off"] = "auto"  # of torch: layers are computed again to go back, not kept
    optimiser_bits: Literal[32, 8] = 32  # of each of the two moments of a weight; 8 needs the extra low-bit


@dataclass(frozen=True)
class Saving:
    """What a run leaves on disk."""

    every: int = 25  # steps between checkpoints
    keep: int = 2
    rollouts_every: int = 25  # steps between saved rollouts; 0: only the first and the last step's
    rollouts_max: int = 512  # episodes of a saved step


@dataclass(frozen=True)
class Tracking:
    """Where a run is told of beside its own folder. None of these can hold or stop it."""

    sinks: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()  # any or all; --track names them
    project: str = "assay"
    name: str = ""  # default: that of the run folder
    offline: bool = False  # wandb keeps the run on this machine until `wandb sync`


@dataclass(frozen=True)
class Experiment:
    """A run before it starts."""

    recipe: Recipe
    model: str  # a folder, a hub id, or the name of a base
    pool: Pool
    seed: int = 0
    profile: Profile = "laptop"
    evaluation: Evaluation = field(default_factory=Evaluation)
    machine: Machine = field(default_factory=Machine)
    saving: Saving = field(default_factory=Saving)
    rewards: tuple[str, ...] = ()  # reward functions, FILE.py:FUNCTION=WEIGHT; none: the checkers of the tasks
    right_from: float = 1.0  # the weighted sum of reward functions from which an answer counts as right
    reward_timeout: float = SECONDS  # that a call of a reward function may take, with all answers of a round
    tracking: Tracking = field(default_factory=Tracking)
    lora: Lora = field(default_factory=Lora)
    chat: Chat = field(default_factory=Chat)


def check_replies(experiment: Experiment) -> None:
    """Refuses parts that cannot be used where an environment answers back, on tasks that have one."""
    talking = [share.task for share in experiment.pool.shares if task(share.task).environment is not None]
    for part in (part for mechanism in experiment.recipe.mechanisms for part in mechanism.ask):
        if talking and not part.replies:
            raise ConfigError(
                f"{experiment.recipe.name}: {type(part).__name__} goes on with answers that stand already, and the "
                f"environment of '{talking[0]}' has a part in them. Take a task without an environment that replies."
            )


LEAST = {
    "evaluation.every": 0,
    "evaluation.num_problems": 1,
    "evaluation.num_samples": 1,
    "evaluation.final_problems": 1,
    "evaluation.final_samples": 1,
    "machine.threads": 0,
    "machine.micro_tokens": 1,
    "machine.cache_mb": 1,
    "machine.probe": 0,
    "saving.every": 1,
    "saving.keep": 2,  # the newest may turn out damaged
    "saving.rollouts_every": 0,
    "saving.rollouts_max": 0,
}


def check(experiment: Experiment) -> None:
    """Refuses what cannot work, before anything is loaded or written."""
    check_recipe(experiment.recipe)
    check_pool(experiment.pool)
    for mechanism in experiment.recipe.mechanisms:
        if problem := mechanism.source.unfit(experiment.pool):
            raise ConfigError(problem)
    check_replies(experiment)
    check_lora(experiment.lora)
    for place, least in LEAST.items():
        group, _, name = place.partition(".")
        if (value := getattr(getattr(experiment, group), name)) < least:
            raise ConfigError(f"{place} must be at least {least}, not {value}.")
    if experiment.machine.optimiser_bits == 8 and importlib.util.find_spec("bitsandbytes") is None:
        raise ConfigError(
            "machine.optimiser_bits 8 needs the package bitsandbytes: `pip install 'assay-rl[low-bit]'`, or take 32."
        )
    names([parse(reward) for reward in experiment.rewards])
    if not math.isfinite(experiment.right_from):
        raise ConfigError(f"right_from must be a number, not {experiment.right_from}.")
    check_timeout(experiment.reward_timeout)
    if not 0 <= (heat := experiment.evaluation.temperature) < math.inf:
        raise ConfigError(f"evaluation.temperature must be 0 (greedy) or more, not {heat}.")
