"""The ancestry of a model: the runs that produced it, and the rows of data files that these runs trained on.

`assay eval` uses this to leave out rows that the model has seen.
"""

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
from assay.run.trust import require_trust
from assay.source import Pool
from assay.tasks.data import is_data
from assay.tasks.data.task import content

EXAM = "test"


@dataclass(frozen=True)
class ParentRun:
    """A run that produced a model: its folder, and the experiment that it was started with."""

    path: Path
    folder: RunFolder
    experiment: Experiment

    @property
    def system(self) -> str:
        """The system message of the run's prompts. Runs older than the setting `chat.system` keep it with the rows."""
        of_rows = map(data_needs.system_of, data_needs.files(self.experiment.pool))
        return self.experiment.chat.system or next((message for message in of_rows if message), "")


def origin(model: str) -> ParentRun | None:
    """The run of a model that is given by a run folder, or by a checkpoint in one; None for any other model."""
    place = Path(model)
    if not place.exists():
        return None
    place = place.resolve()
    path = next((folder for folder in (place, *place.parents) if (folder / "run.json").is_file()), None)
    if path is None:
        return None
    folder = RunFolder.read_only(path)
    return ParentRun(path, folder, from_data(Experiment, folder.experiment))


def lineage(model: str) -> list[ParentRun]:
    """The run that produced a model, then the run that produced its starting model, and so on."""
    runs: list[ParentRun] = []
    while (run := origin(model)) is not None and run.path not in [earlier.path for earlier in runs]:
        runs.append(run)
        model = run.experiment.model
    return runs


def known_to(run: ParentRun) -> frozenset[str]:
    """Digests of the rows of data files that a run trained on, or chose its best checkpoint by.

    A run folder holds these digests. For an older run without them the data files are read again; if they have changed
    or are gone, a warning is printed and the set is empty.
    """
    if (digests := run.folder.learnt()) is not None:
        return digests
    try:
        require_trust(run.folder, run.experiment, of=("pool",))
        data_needs.require_unchanged(run.experiment.pool, run.folder.document["identity"])
        return frozenset(data_needs.learnt(run.experiment.pool))
    except AssayError as error:
        terminal.say(
            f"warning: the rows that {run.path.name} was trained on are not known, so that some of them may be among "
            f"the rows asked now: {error}"
        )
        return frozenset()


def unknown_to(model: str, pool: Pool) -> Pool:
    """The pool without the rows of data files that the runs behind a model have seen. Prints how many are left out."""
    rows = [row for share in pool.shares if is_data(share.task) for row in pool.rows_of(share, EXAM)]
    asked = {row.id: content(row) for row in rows}  # id -> digest of the row
    left_out: dict[str, str] = {}  # id -> name of the run that has seen the row
    for run in lineage(model) if asked else []:
        seen = known_to(run)
        left_out |= {row: run.path.name for row, digest in asked.items() if digest in seen}
    if not left_out:
        return pool
    runs = ", ".join(sorted(set(left_out.values())))
    if len(left_out) == len(asked):
        raise DataError(
            f"all {len(asked)} rows were used by {runs}, to train on or to choose a checkpoint: scores on them would "
            "say nothing of new problems. Give rows that this model has not seen; without --data a run is evaluated on "
            "its own test rows."
        )
    terminal.say(
        f"{len(left_out)} of {len(asked)} rows were used by {runs}, to train on or to choose a checkpoint: the model "
        f"is evaluated on the other {len(asked) - len(left_out)} only"
    )
    return dataclasses.replace(pool, left_out=tuple(sorted({*pool.left_out, *left_out})))
