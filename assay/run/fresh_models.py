"""Models with random weights, for the kinds of policy that need no base: `pointer`, or `pointer:WIDTHxLAYERS`.

Such a model is made at its first use, from its name alone, and stands in the cache beside the bases.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from assay.host.cache import cache_folder, locked
from assay.policy.kinds import KINDS
from assay.rng import Key, digest

VERSION = 1  # of the weights that a name stands for


def is_fresh(model: str) -> bool:
    """Whether a model is the name of a kind, with a shape or without, and of no folder."""
    kind = KINDS.get(model.partition(":")[0])
    return kind is not None and kind.fresh is not None and not Path(model).exists()


def names() -> list[str]:
    """The kinds that have such models."""
    return [name for name, kind in KINDS.items() if kind.fresh is not None]


def made(model: str) -> Path:
    """The folder of this model."""
    name, _, shape = model.partition(":")
    kind = KINDS[name]
    assert kind.fresh is not None
    shape = shape or kind.usual
    target = cache_folder() / "bases" / f"{name}-{shape}-{digest('fresh', name, shape, VERSION)}"
    if target.exists():
        return target
    policy = kind.fresh(shape, key=Key("fresh", name, shape))
    with locked(target):
        if not target.exists():
            from assay.policy import save_policy

            scratch = target.with_name(f".{target.name}-{os.getpid()}")
            shutil.rmtree(scratch, ignore_errors=True)
            save_policy(policy, scratch)
            scratch.rename(target)
    return target
