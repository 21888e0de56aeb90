"""The worth of an answer that the length limit cut off (`--cut`): the recipe that goes with each choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.curate import WholeAnswers
from assay.recipe import Mechanism, Recipe, with_mechanisms
from assay.reward import Scored
from assay.run.experiment import Experiment
from assay.run.own_rewards import scored_by, with_scores
from assay.run.pretrained_needs import reads_text

MASK = WholeAnswers()


def counted(experiment: Experiment, rewards: Sequence[str], *, only: bool) -> Experiment:
    """The experiment with these reward functions, or with the reward that an agent gives itself, and with `cut` applied
    to answers that the limit cut off. `auto` becomes `wrong` for pretrained models. For other models it stays: their
    verifiers fail a cut answer, and their functions score it.
    """
    cut = "wrong" if experiment.cut == "auto" and reads_text(experiment.model) else experiment.cut
    recipe = experiment.recipe
    if rewards:
        recipe = scored_by(recipe, rewards, only=only, cut="wrong" if cut == "wrong" else "scored")
    elif experiment.agent.by_itself:
        from assay.worlds.door import SCORE

        recipe = with_scores(recipe, (Scored(SCORE, cut="wrong" if cut == "wrong" else "scored"),))
    return dataclasses.replace(experiment, recipe=_masked(recipe) if cut == "masked" else recipe, cut=cut)


def _masked(recipe: Recipe) -> Recipe:
    """The recipe with cut answers out of the loss, last of all that it curates."""

    def changed(mechanism: Mechanism) -> Mechanism:
        there = MASK in mechanism.curate
        return mechanism if there else dataclasses.replace(mechanism, curate=(*mechanism.curate, MASK))

    return with_mechanisms(recipe, changed)
