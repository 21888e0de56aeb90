"""What a run whose recipe reads attention needs: a network of our own, in one process."""

from __future__ import annotations

from typing import get_args

from assay.errors import ConfigError
from assay.part import Expansion, name_of
from assay.policy.config import Family
from assay.run.experiment import Experiment
from assay.run.named_model import family_of


def require_attention(experiment: Experiment) -> None:
    """Refuses several learners, and models of other families than our own, for a recipe that reads which tokens the
    policy attends to; before a model is loaded.
    """
    parts: list[Expansion] = [
        part for mechanism in experiment.recipe.mechanisms for part in mechanism.expand if "attention" in part.reads
    ]
    if not parts:
        return
    named = f"{experiment.recipe.name}: {name_of(parts[0])} reads which tokens the policy attends to"
    if experiment.machine.learners > 1:
        raise ConfigError(
            f"{named}, and machine.learners is {experiment.machine.learners}: kernels of a network that is spread over "
            "processes never hold that. Set it to 1."
        )
    family = family_of(experiment.model)
    if family is not None and family not in get_args(Family):
        families = ", ".join(get_args(Family))
        raise ConfigError(
            f"{named}, and the model {experiment.model} of the family {family} runs through transformers, whose "
            f"kernels never hold that. Take a model of the families that Assay runs itself: {families}."
        )
