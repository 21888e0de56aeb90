"""What a run says that ran out of memory although its plan had fitted: what was planned, and what would need less."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.engine.footprint import gib
from assay.host.space import Room
from assay.policy.config import PolicyConfig
from assay.run.experiment import Experiment
from assay.run.memory_plan import advice, plan_memory

if TYPE_CHECKING:
    from assay.policy import Policy
    from assay.record.folder import RunFolder

LESS = 0.8  # of what was planned is advised, as it is not known by how much the plan was too low


def ran_out(error: BaseException) -> bool:
    """Whether a device or this machine had no memory left."""
    import torch

    of_processor = isinstance(error, RuntimeError) and "DefaultCPUAllocator: can't allocate memory" in str(error)
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or of_processor


def exhausted(experiment: Experiment, policy: Policy, folder: RunFolder) -> str:
    """The reason for which the run stopped, and how it goes on."""
    from assay.host.space import device_of

    device, config = device_of(experiment.machine.device), policy.config
    where = "the GPU" if device.startswith("cuda") else "this machine"
    goes_on = "continues from the last checkpoint" if folder.store.steps() else "begins the run again"
    how = f"`assay resume {folder.path} --machine.SETTING VALUE` {goes_on}."
    if not isinstance(config, PolicyConfig):
        return f"{where} has no memory left. Lower machine.micro_tokens or machine.cache_mb: {how}"
    plan = plan_memory(experiment, config, device=device)
    peak = plan.budget.peak
    lower = dataclasses.replace(plan, room=Room(int(LESS * peak), plan.room.where))
    return (
        f"{where} has no memory left, although {gib(peak)} were planned and were free when the run began: another "
        f"program may have taken some, or the plan is too low. {advice(lower, goes_on=True)} {how}"
    )
