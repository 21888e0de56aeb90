"""Levels of difficulty open as the policy masters them, judged before any filter."""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.methods.exploration.rlve.levels import Promote
from assay.methods.exploration.rlve.source import LevelWindow
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

RLVE = Recipe(
    name="rlve",
    title="RLVE: Scaling Up Reinforcement Learning for Language Models with Adaptive Verifiable Environments",
    paper="2511.07317",
    claim="each environment's difficulty climbs as the policy masters it: +3.37% on six benchmarks from a strong 1.5B "
    "model with 400 environments, against +0.49% for continuing its original RL with three times the compute",
    missing="the paper's environments, which any tasks with levels replace; their shaped rewards; answers that "
    "continue in the next step",
    mechanism=Mechanism(
        source=LevelWindow(width=4),
        expand=(Refill(max_rounds=10),),
        curate=(MixedGroups(by="accuracy"), FirstGroups()),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.28), aggregate=SequenceMean()),
        remember=(Promote(accuracy=0.9, after=8),),
    ),
    scale=Scale(
        num_prompts=128,
        group_size=16,
        max_new=24576,
        learning_rate=2e-6,
        num_steps=500,
        oversample=3,
        weight_decay=0.01,
        beta2=0.98,
    ),
    notes=(
        "A share of the pool stands for an environment, and its levels in order for the environment's difficulties "
        "from 0.",
        "Window, promotion, group size, batch, oversampling, clip and optimiser are those of the published code.",
        "The controller of the difficulty counts every verdict of the step, while the batch holds mixed groups only.",
        "The environments' shaped rewards are not used: training and promotion both use right or wrong.",
        "The published code resumes unfinished answers in the next step and weighs tokens by a truncated ratio of "
        "learner to sampler. Here sampling is synchronous, and learner and sampler have the same weights.",
        "A difficulty never falls, as published, so that a promotion by luck stays. num_steps and max_rounds are ours.",
    ),
)
