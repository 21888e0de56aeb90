"""Models with random weights, for the kinds of policy that need no base: `pointer`, or `pointer:WIDTHxLAYERS`. The size
of some follows from the world in which they act: `mlp:64x64` stands for `mlp:64x64:4x2` on env:CartPole-v1.

Such a model is made at its first use, from its name alone, and stands in the cache beside the bases.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.host.cache import cache_folder, locked
from assay.policy.kinds import KINDS
from assay.rng import Key, digest
from assay.source import Pool
from assay.tasks import TASKS, task
from assay.tasks.abilities import OwnPolicy
from assay.worlds import Numbers

VERSION = 1  # of the weights that a name stands for


def is_fresh(model: str) -> bool:
    """Whether a model is the name of a kind, with a shape or without, and of no folder."""
    kind = KINDS.get(model.partition(":")[0])
    return kind is not None and kind.fresh is not None and not Path(model).exists()


def names() -> list[str]:
    """The kinds that have such models."""
    return [name for name, kind in KINDS.items() if kind.fresh is not None]


def describe(model: str) -> dict[str, Any]:
    """What `assay list bases` and `assay show` print of such a model."""
    name, shape, folder = _placed(model)
    return {
        "name": model,
        "summary": f"{KINDS[name].about}; random weights of the shape {shape}",
        "tasks": [one.name for one in TASKS.values() if (own := one.ability(OwnPolicy)) and own.kind == name],
        "hash": folder.name.rpartition("-")[2],
        "built": folder.exists(),
        "path": str(folder),
    }


def _placed(model: str) -> tuple[str, str, Path]:
    """(its kind, its shape, its folder)"""
    name, _, shape = model.partition(":")
    shape = shape or KINDS[name].usual
    return name, shape, cache_folder() / "bases" / f"{name}-{shape}-{digest('fresh', name, shape, VERSION)}"


def fitted(model: str, pool: Pool) -> str:
    """The name with the sizes that a task in a world of numbers gives it; any other name as it is."""
    name, _, shape = model.partition(":")
    if not is_fresh(model) or (fit := KINDS[name].fitted) is None or (numbers := numbers_of(pool)) is None:
        return model
    return f"{name}:{fit(shape or KINDS[name].usual, numbers.observed, numbers.actions)}"


def numbers_of(pool: Pool) -> Numbers | None:
    """What the world of a pool's tasks shows and takes, if it is one of numbers. Tasks of different ones are
    refused.
    """
    worlds = {share.task: world.numbers if (world := task(share.task).world) else None for share in pool.shares}
    if len(set(worlds.values())) > 1:
        said = ", ".join(f"{name}: {_words(numbers)}" for name, numbers in worlds.items())
        raise ConfigError(f"no policy reads the worlds of all these tasks: {said}. Train on one of them.")
    return next(iter(worlds.values()), None)


def _words(numbers: Numbers | None) -> str:
    return "words" if numbers is None else f"{numbers.observed} numbers and {numbers.actions} actions"


def made(model: str) -> Path:
    """The folder of this model."""
    name, shape, target = _placed(model)
    if target.exists():
        return target
    fresh = KINDS[name].fresh
    assert fresh is not None
    policy = fresh(shape, key=Key("fresh", name, shape))
    with locked(target):
        if not target.exists():
            from assay.policy import save_policy

            scratch = target.with_name(f".{target.name}-{os.getpid()}")
            shutil.rmtree(scratch, ignore_errors=True)
            save_policy(policy, scratch)
            scratch.rename(target)
    return target
