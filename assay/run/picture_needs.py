"""What a run with pictures needs: a model that sees, an engine that shows it pictures, and a file of its pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError, StorageError
from assay.host.files import parse_json
from assay.policy.messages import pictures_in
from assay.run.experiment import Experiment
from assay.run.named_model import family_of
from assay.source import Pool
from assay.tasks import short, task

if TYPE_CHECKING:
    from assay.policy.pictures import Pictures

FILE = "pictures.jsonl"


def showing(pool: Pool) -> list[str]:
    """The tasks of a pool whose problems show pictures."""
    names = [share.task for share in pool.shares]
    return [short(name) for name in names if task(name).wordings.picture is not None or _rows_show(name)]


def _rows_show(name: str) -> bool:
    found = task(name)
    return found.generator.rows is not None and any(
        next(pictures_in(problem.prompt), None) is not None for problem in found.rows_of("train")
    )


def require_sight(experiment: Experiment) -> None:
    """Refuses tasks with pictures for a model or an engine that does not see, before a model is loaded."""
    shown = showing(experiment.pool)
    if not shown:
        return
    machine, named = experiment.machine, f"task '{shown[0]}' shows pictures"
    if machine.engine != "auto":
        raise ConfigError(
            f"{named}, and machine.engine is {machine.engine}: only the engine on transformers, which `auto` takes for "
            "a model that sees, shows pictures to a model. The engines of our own read token ids alone."
        )
    if machine.samplers or machine.learners > 1:
        what = "machine.samplers: servers" if machine.samplers else "machine.learners: learners of several processes"
        raise ConfigError(f"{named}, and {what} are sent token ids, without pixels. Set it to its default.")
    if (family := family_of(experiment.model)) is not None and not sees(family):
        raise ConfigError(
            f"{named}, and the model {experiment.model} of the family {family} reads text alone. Take the base grids, "
            "or a model of the family llava."
        )


def sees(family: str) -> bool:
    """Whether models of this family see pictures."""
    from assay.policy.foreign import SEEING

    return family in SEEING


def keep(pictures: Pictures, folder: Path) -> None:
    """Writes each picture that is shown from now on to the run's file, once, by its ids and its source; pictures that
    stand there are known again. So contexts that are kept for later steps can be read after a resume.
    """
    path = folder / FILE
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    try:
        records = [parse_json(line) for line in whole.splitlines()]
        pictures.sources.update({bytes.fromhex(record["picture"]): record["source"] for record in records})
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} is damaged: {error}. Restore it, or start a new run.") from error
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(len(whole) + 1 if whole else 0)  # without a record that a crash left half-written

    def told(name: bytes, source: str) -> None:
        line = json.dumps({"picture": name.hex(), "source": source}, ensure_ascii=False)
        with path.open("ab") as file:
            file.write(line.encode() + b"\n")

    written = {record["picture"] for record in records}
    for name, source in pictures.sources.items():
        if name.hex() not in written:
            told(name, source)
    pictures.told = told
