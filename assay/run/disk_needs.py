"""The room on the disk that a run needs for its checkpoints, which is known before it begins."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from assay.engine.footprint import WIDE, gib, moment_bytes
from assay.errors import ConfigError, StorageError
from assay.record.checkpoint import RESERVE, room_for
from assay.record.folder import Numbered
from assay.run.experiment import Experiment

if TYPE_CHECKING:
    from assay.policy import Policy


def require_writable(place: Path | Numbered) -> None:
    """Refuses a place for a run where this user may make no folder."""
    folder = existing(place)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageError(f"a run cannot be kept in {place}: {folder} may not be written to. Name another with --run.")


def require_disk(experiment: Experiment, model: Policy, place: Path | Numbered) -> None:
    """Refuses a run whose checkpoints cannot fit on the disk, however small its other files are."""
    size, folder = save_bytes(experiment, model), existing(place)
    saves = math.ceil(experiment.recipe.scale.num_steps / experiment.saving.every)
    kept = min(experiment.saving.keep, max(0, saves - 1))
    needed, free = kept * size + room_for(size, RESERVE), shutil.disk_usage(folder).free
    if needed > free:
        raise ConfigError(
            f"the checkpoints of this run need {gib(needed)} on the disk of {folder}, and {gib(free)} are free. One "
            f"takes {gib(size)}, for the weights that are trained and two moments of each; {kept} are kept while the "
            f"next is written, with a quarter of room, and {RESERVE >> 20} MiB stay free for the records. Free some, "
            "name a folder on another disk with --run, keep fewer (--saving.keep 1), or train an adapter (--lora 16)."
        )


def save_bytes(experiment: Experiment, model: Policy) -> int:
    """The bytes of the weights and of the moments in one checkpoint of a run that trains this model."""
    recipe = experiment.recipe
    size = WIDE * (model.size() if model.adapter is None else model.size() - model.size(adapter=False))
    trained = sum(one.trained for one in recipe.models.values())
    return trained * (size + 2 * moment_bytes(size, experiment.machine.optimiser_bits))


def existing(place: Path | Numbered) -> Path:
    """The folder that is there already, on whose disk the run will lie."""
    path = Path(place if isinstance(place, Path) else place.root).absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())
