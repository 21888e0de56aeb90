"""Trains bases: a base is the last checkpoint of a run that imitates worked solutions, and is deterministic."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path

from assay.host.cache import locked
from assay.known import RECIPES
from assay.record.folder import RunFolder
from assay.run.bases import BASES, Base, base, folder_of, untrained
from assay.run.configure import to_data
from assay.run.context_fit import longest_solution
from assay.run.experiment import Evaluation, Experiment, Machine, Saving
from assay.run.loading import load_model
from assay.run.named_model import locate
from assay.run.pretrained import PRETRAINED
from assay.run.training import begin, ready_to_begin


def ready(model: str) -> str:
    """The folder or Hub id of a model, as `locate` gives it; a base that is not in the cache is trained first."""
    if model in BASES and model not in PRETRAINED and not Path(model).exists():
        build(model)
    return locate(model)


def build(name: str, *, quiet: bool = False, force: bool = False) -> Path:
    """The folder of the base of this name; it is trained now if the cache does not hold it, or with `force`."""
    made = base(name)
    target = folder_of(made)
    if target.exists() and not force:
        return target
    with locked(target):  # if several runs need the base, the first builds it and the others wait
        return target if target.exists() and not force else _build(made, target, quiet=quiet)


def _build(made: Base, target: Path, *, quiet: bool) -> Path:
    scratch = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        _train(made, scratch, quiet=quiet)
        (scratch / "model" / "assay_base.json").write_text(json.dumps({"hash": made.hash, **to_data(made)}, indent=1))
        shutil.rmtree(target, ignore_errors=True)
        (scratch / "model").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _train(made: Base, scratch: Path, *, quiet: bool) -> None:
    from assay.policy import load_policy, save_policy

    experiment, place = making(made, scratch), scratch / "run"
    prepared = ready_to_begin(experiment, place)
    begin(prepared, load_model(experiment), place, command=f"assay base build {made.name}", quiet=quiet)
    checkpoint = RunFolder.read_only(scratch / "run").load()
    assert checkpoint is not None
    save_policy(load_policy(checkpoint.path / "policy"), scratch / "model")


def making(made: Base, scratch: Path) -> Experiment:
    """The run that makes a base: the recipe `sft` on worked solutions, through the same loop as every other run. It
    starts from an untrained model, which is written to `scratch`.
    """
    from assay.policy import save_policy

    save_policy(untrained(made), scratch / "start")
    sft, scale = RECIPES["sft"], dataclasses.replace(made.scale, max_new=longest_solution(made.pool))
    mechanism = dataclasses.replace(sft.mechanism, ask=(*made.ask, *sft.mechanism.ask))
    return Experiment(
        recipe=dataclasses.replace(sft, scale=scale, mechanism=mechanism),
        model=str(scratch / "start"),
        pool=made.pool,
        seed=made.seed,
        evaluation=Evaluation(every=0, final_problems=64, final_samples=16),
        machine=Machine(),
        saving=Saving(every=10**9, rollouts_every=0),
    )
