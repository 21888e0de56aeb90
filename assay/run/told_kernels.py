"""Whose kernels the models of a run compute with, as run.json keeps it and as the run says it at its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.host.terminal import say

if TYPE_CHECKING:
    from assay.models import Models
    from assay.record.folder import RunFolder


def tell_kernels(folder: RunFolder, models: Models) -> None:
    """Keeps in run.json, as `kernels`, what each parameter set computes with. On a GPU it is said too: on a processor
    there is no choice.
    """
    told = kernels_of(models)
    if told and told != folder.document.get("kernels"):
        folder.amend(kernels=told)
    for sentence in dict.fromkeys(told[name] for name in told if _on_gpu(models, name)):
        say(f"  kernels: {sentence}")


def kernels_of(models: Models) -> dict[str, str]:
    """Name of a parameter set -> whose kernels it computes with, and why. Engines without a choice are left out."""
    from assay.engine.local import LocalEngine
    from assay.engine.paired import Paired
    from assay.engine.sharded.engine import ShardedLearner

    told = {}
    for name in models:
        engine = models[name]
        learner = engine.learner if isinstance(engine, Paired) else engine
        if isinstance(learner, LocalEngine | ShardedLearner) and learner.kernels:
            told[name] = learner.kernels
    return told


def _on_gpu(models: Models, name: str) -> bool:
    return models[name].place.startswith("cuda")
