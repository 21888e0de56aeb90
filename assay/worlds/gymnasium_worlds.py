"""Environments of gymnasium as worlds of numbers. Everything random in an environment follows from the seed of its
reset, so that the same actions lead to the same state.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.errors import ConfigError, unknown
from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Numbers, Reply, Spec, World

Flat = Callable[[Any], np.ndarray]
"""(an observation as the environment gives it) -> float32[F]."""


@dataclass
class Environment:
    """An episode of an environment."""

    made: Any  # gymnasium.Env
    seed: int
    flat: Flat
    solved: float | None  # the return from which on it counts as solved
    earned: list[float] = field(default_factory=list)

    def open(self) -> Reply:
        seen, _ = self.made.reset(seed=self.seed)
        return Reply(Ask(seen=self.flat(seen)))

    def step(self, act: Act) -> Reply:
        seen, reward, ended, cut, about = self.made.step(act.action)
        self.earned.append(float(reward))
        rewards, costs = {act.seat: float(reward)}, {"cost": float(about["cost"])} if "cost" in about else {}
        if ended:
            return Reply(end="ended", rewards=rewards, costs=costs)
        return Reply(Ask(seen=self.flat(seen)), "limit" if cut else "", rewards, costs)

    def judge(self) -> Mapping[str, Verdict]:
        total = sum(self.earned)
        scores = {"return": total}
        right = self.solved is not None and total >= self.solved
        return {"policy": Verdict("ok" if right else "fail", "" if right else "wrong", scores=scores)}

    def save(self) -> None:
        """The same actions lead to the same state again."""

    def close(self) -> None:
        self.made.close()


@functools.cache
def environment(name: str) -> World:
    """The world of an environment that gymnasium knows by this name."""
    make = functools.partial(_registry(name).make, name, disable_env_checker=True)
    made = make()
    flat, observed = _observed(name, made.observation_space)
    numbers, solved = Numbers(observed, _actions(name, made.action_space)), made.spec.reward_threshold
    made.close()

    def start(spec: Spec, key: Key) -> Environment:
        return Environment(make(), int(spec["seed"]), flat, solved)

    return World(start, numbers=numbers)


def _registry(name: str) -> Any:
    """The module gymnasium, which knows the environment."""
    if importlib.util.find_spec("gymnasium") is None:
        raise ConfigError("env tasks need the package gymnasium: run `pip install 'assay-rl[control]'`.")
    import gymnasium  # pyright: ignore[reportMissingImports]

    if name not in gymnasium.registry:
        raise unknown("environment of gymnasium", name, gymnasium.registry, "gymnasium's pages")
    return gymnasium


def _observed(name: str, space: Any) -> tuple[Flat, int]:
    """How observations become numbers, and how many: those of a box as they are, a state as a one among zeros."""
    if (count := getattr(space, "n", None)) is not None:
        return lambda seen: np.eye(count, dtype=np.float32)[int(seen)], int(count)
    if getattr(space, "shape", None) and np.issubdtype(space.dtype, np.number):
        return lambda seen: np.asarray(seen, np.float32).reshape(-1), int(np.prod(space.shape))
    raise ConfigError(
        f"'{name}' shows {space}: a policy over observations reads a box of numbers, or one state of a few."
    )


def _actions(name: str, space: Any) -> int:
    if (count := getattr(space, "n", None)) is None or getattr(space, "start", 0) != 0:
        raise ConfigError(
            f"'{name}' takes actions from {space}, and policies here choose among a few: Discrete(n). Take an "
            "environment such as CartPole-v1, Acrobot-v1 or LunarLander-v3."
        )
    return int(count)
