"""A temperature that keeps the entropy near a target (`temp-entropy`), or that follows a line (`temp-schedule`)."""

import dataclasses

from assay.ask import AnnealTemperature
from assay.credit import GroupRelative
from assay.methods.regularisers.temp_entropy.heat import Heated, HeatToEntropy
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

TEMP_ENTROPY = Recipe(
    name="temp-entropy",
    title="AceReason-Nemotron 1.1: Advancing Math and Code Reasoning through SFT and RL Synergy",
    paper="2506.13284",
    claim="sampling at a temperature at which the entropy stays near 0.3 balances exploration and exploitation in RL",
    missing="the fine-tuning before RL and its stages",
    mechanism=Mechanism(
        ask=(Heated(),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
        remember=(HeatToEntropy(target=0.3, rate=0.05, least=0.6, most=1.4),),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500),
    notes=(
        "The target of 0.3 is the paper's, which chooses a temperature by hand. The controller that holds the entropy "
        "there is ours: its rate, its bounds, and that it works once a step.",
        "The other values are those of the paper before it (2505.16400), of which it is the continuation: one update a "
        "rollout, a mean over tokens, no KL penalty, no entropy bonus. num_steps, ddof and epsilon are ours.",
        "The entropy is that of the tempered distribution, over the tokens that the policy sampled. 0.3 nats belong to "
        "a large vocabulary and a distilled start: for a small model take half of the entropy of the first step.",
    ),
)

TEMP_SCHEDULE = dataclasses.replace(
    TEMP_ENTROPY,
    name="temp-schedule",
    title="Temperature schedules",
    paper="-",
    claim="a temperature that rises over the run explores when the policy has become sure",
    missing="",
    mechanism=dataclasses.replace(TEMP_ENTROPY.mechanism, ask=(AnnealTemperature(first=0.6, last=1.0),), remember=()),
    notes=(
        "From 0.6 to 1.0 goes the second code stage of AceReason-Nemotron (2505.16400); that it does so along a line, "
        "and over the whole run, is ours. The other values are those of `temp-entropy`.",
        "first=1.0 with last=0.6 is the opposite, a policy that cools down.",
    ),
)
