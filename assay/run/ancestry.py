"""What a model was trained on: the runs that it came from, and the rows of files that they knew."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError, DataError
from assay.host import terminal
from assay.record.folder import RunFolder
from assay.run import data_needs
from assay.run.configure import from_data
from assay.run.experiment import Experiment
from assay.source import Pool
from assay.tasks.data.task import content, is_data

EXAM = "test"


@dataclass(frozen=True)
class Origin:
    """A run, and what it was asked to do."""

    path: Path
    folder: RunFolder
    experiment: Experiment

    @property
    def system(self) -> str:
        """The system message of its prompts; runs that are older than the setting have it with their rows."""
        return self.experiment.chat.system or next(
            (said for said in map(data_needs.system_of, data_needs.files(self.experiment.pool)) if said), ""
        )


def origin(model: str) -> Origin | None:
    """The run that a model is, or in which it lies as a checkpoint; None of a base, the Hub, or any other folder."""
    place = Path(model)
    if not place.exists():
        return None
    place = place.resolve()
    path = next((folder for folder in (place, *place.parents) if (folder / "run.json").is_file()), None)
    if path is None:
        return None
    folder = RunFolder.read_only(path)
    return Origin(path, folder, from_data(Experiment, folder.experiment))


def lineage(model: str) -> list[Origin]:
    """The run of a model, that of the model which it began with, and so on."""
    found: list[Origin] = []
    while (run := origin(model)) is not None and run.path not in [known.path for known in found]:
        found.append(run)
        model = run.experiment.model
    return found


def known_to(run: Origin) -> frozenset[str]:
    """What the rows of files say that a run trained on or chose its best checkpoint by.

    A run keeps it; of one that is older its files are read, and where they are gone that is told.
    """
    if (kept := run.folder.learnt()) is not None:
        return kept
    try:
        data_needs.require_unchanged(run.experiment.pool, run.folder.document["identity"])
        return frozenset(data_needs.learnt(run.experiment.pool))
    except AssayError as error:
        terminal.say(f"warning: what {run.path.name} was trained on is not known, and may be asked: {error}")
        return frozenset()


def unknown_to(model: str, pool: Pool) -> Pool:
    """The pool without the rows of files that the runs behind a model knew, told to a person."""
    rows = [row for share in pool.shares if is_data(share.task) for row in pool.rows_of(share, EXAM)]
    asked = {row.id: content(row) for row in rows}
    left_out: dict[str, str] = {}
    for run in lineage(model) if asked else []:
        known = known_to(run)
        left_out |= {row: run.path.name for row, said in asked.items() if said in known}
    if not left_out:
        return pool
    runs = ", ".join(sorted(set(left_out.values())))
    if len(left_out) == len(asked):
        raise DataError(
            f"all {len(asked)} rows were trained on, or watched while training, by {runs}: they would examine nothing. "
            "Give rows that it has not seen; without --data a run is asked its own test rows."
        )
    terminal.say(
        f"{len(left_out)} of {len(asked)} rows were trained on, or watched while training, by {runs}: only the other "
        f"{len(asked) - len(left_out)} are asked"
    )
    return dataclasses.replace(pool, left_out=tuple(sorted({*pool.left_out, *left_out})))
