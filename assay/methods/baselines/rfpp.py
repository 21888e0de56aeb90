"""Advantages are normalised over the whole batch; `rfpp-baseline` subtracts the group's mean first."""

import dataclasses

from assay.credit import GAE, GroupRelative, Whiten
from assay.forwards import TokenKL
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

ALIASES = {"reinforce++": "rfpp", "reinforce++baseline": "rfpp-baseline"}

RFPP = Recipe(
    name="rfpp",
    title="REINFORCE++: Stabilizing Critic-Free Policy Optimization with Global Advantage Normalization",
    paper="2501.03262",
    claim="advantages normalised over the whole batch, not prompt by prompt, over-fit less and stay stable",
    mechanism=Mechanism(
        forwards=(TokenKL(weight=1e-4),),
        credit=GAE(gamma=1.0, lam=1.0),
        shape=(Whiten(by="batch", ddof=0, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=1024, group_size=1, max_new=1024, learning_rate=5e-7, num_steps=500, num_minibatches=8),
    models={"policy": Model(), "reference": Model(trained=False)},
    notes=(
        "Values are those of the authors' script for the method in OpenRLHF (1024 prompts, batches of 128, KL 1e-4); "
        "num_steps is ours.",
        "Without a critic the values are 0, so that GAE with lambda 1 is the sum of the rewards to come.",
        "Mean and standard deviation of the whitening run over tokens, so that long answers weigh more. An answer of "
        "mean reward still has an advantage if the mean over tokens differs from the mean over answers.",
    ),
    deviations=(
        "Older verl cut the return at the tokens of a tool; here the return continues across them.",
        "In NeMo-RL a token's advantage contains its own KL alone, not that of the later tokens.",
    ),
)

RFPP_BASELINE = dataclasses.replace(
    RFPP,
    name="rfpp-baseline",
    claim="the group's mean first, then the normalisation over the batch: less over-fitting than GRPO on few prompts",
    mechanism=Mechanism(
        credit=GroupRelative(scale="none"),
        shape=(Whiten(by="batch", ddof=0, epsilon=1e-8),),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=1e-5, estimator="k2"),)
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=64000, learning_rate=5e-7, num_steps=125),
    models={"policy": Model()},
    notes=(
        "Values are those of the authors' script for the method in OpenRLHF, without two additions of the script: a "
        "filter for mixed groups, and IcePop. 125 steps are its 128000 answers.",
        "The KL penalty is a term of the loss, with the estimator whose gradient is right on policy.",
        "Groups of equal rewards may have advantages here, where other recipes have 0: if right and wrong answers "
        "differ in length, the mean over tokens is not 0, and subtracting it pushes every group, solved ones too.",
    ),
    deviations=("In NeMo-RL's form with the KL in the reward, a token's advantage contains its own KL alone.",),
)
