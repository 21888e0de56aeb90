"""All that is checked of a run before the weights of its model are loaded. `--dry-run` does this and no more, and so
refuses what the run would refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.host.space import device_of
from assay.record.folder import Numbered, require_vacant
from assay.record.mlflow_runs import require_store
from assay.record.sinks import require as require_packages
from assay.run import attention_needs, data_needs, disk_needs, external_needs, kind_needs, open_rows, picture_needs
from assay.run.context_fit import check_lengths
from assay.run.experiment import Experiment, check
from assay.run.grader import Functions, Grader, check_functions, grader_of, require_services, try_functions
from assay.run.loading import outline_of, require_runnable
from assay.run.memory_plan import Plan, memory_of
from assay.run.samplers import require_samplers

if TYPE_CHECKING:
    from assay.policy import Policy


HIGHEST = 0.1  # a learning rate that may still be meant


@dataclass(frozen=True)
class Prepared:
    """A run that nothing speaks against, with the grader that it has opened, which must be closed.

    with prepare(experiment, Path("runs/first")).grader: ...
    """

    experiment: Experiment  # with answers as long as the context allows, and without rows that do not fit into it
    model: Policy  # its outline
    longest: int  # tokens of the longest prompt
    grader: Grader
    externals: Mapping[str, str]  # the services and programs that the run asks, each with its version
    memory: Plan | None  # None: not known before the model is loaded
    notes: Sequence[str]  # sentences about the data files and about lengths
    doubts: Sequence[str]  # and about what is hardly meant: reference answers, a learning rate


def require_fit(experiment: Experiment) -> None:
    """Refuses settings that contradict each other or the model."""
    check(experiment)
    kind_needs.require_served(experiment)
    picture_needs.require_sight(experiment)
    attention_needs.require_attention(experiment)


def prepare(experiment: Experiment, place: Path | Numbered, functions: Functions | None = None) -> Prepared:
    """Checks all that can be checked before the model is loaded. Too little memory is left to `require_memory`."""
    require_fit(experiment)
    if isinstance(place, Path):
        require_vacant(place)
    disk_needs.require_writable(place)
    require_packages(experiment.tracking.sinks)
    require_store(experiment.tracking)
    device_of(experiment.machine.device)
    grader = grader_of(experiment, functions)
    try:
        check_functions(grader, experiment.pool)
        externals = require_services(experiment.recipe)
        externals |= external_needs.require_externals(experiment.pool, rewards=experiment.rewards)
        notes = data_needs.notes(experiment.pool, experiment.chat)
        read = open_rows.reads_verdicts(experiment.recipe)
        doubts = [*_rate_doubts(experiment.recipe.scale.learning_rate)]
        doubts += data_needs.answer_warnings(experiment.pool, read) if not experiment.rewards else []
        model = outline_of(experiment)
        experiment, longest, lines = _with_model(experiment, model, place)
        try_functions(grader, experiment.pool, model.codec)
    except BaseException:
        grader.__exit__(None, None, None)
        raise
    memory = memory_of(experiment, model.config)
    return Prepared(experiment, model, longest, grader, externals, memory, [*notes, *lines], doubts)


def _rate_doubts(rate: float) -> Iterator[str]:
    if rate > HIGHEST:
        yield (
            f"warning: scale.learning-rate is {rate:g}. AdamW moves every weight by about that much in a step, which "
            "no model survives: pretrained models take 1e-7 to 1e-4, small ones and adapters up to 2e-2"
        )


def _with_model(experiment: Experiment, model: Policy, place: Path | Numbered) -> tuple[Experiment, int, list[str]]:
    """What `check_lengths` says, of a run that this model, its servers and the disk allow."""
    require_runnable(experiment, model)
    experiment, longest, lines = check_lengths(experiment, model)
    disk_needs.require_disk(experiment, model, place)
    require_samplers(experiment, model)
    return experiment, longest, lines
