"""Whenever progress ends, the reference policy becomes the current policy, and the optimiser starts anew."""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale
from assay.stages import Plateau

KL_RESET = Recipe(
    name="kl-reset",
    title="ProRL: Prolonged Reinforcement Learning Expands Reasoning Boundaries in Large Language Models",
    paper="2505.24864",
    claim="a KL penalty whose reference policy is reset to the policy whenever progress ends, together with the "
    "optimiser: thousands of steps, and problems solved that the base model never solves",
    missing="the settings of single runs of the report: a penalty for answers that do not stop, 32 answers a problem, "
    "16k tokens",
    mechanism=Mechanism(
        expand=(Refill(max_rounds=10),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(MixedGroups(by="accuracy"), FirstGroups()),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.4),
            aggregate=TokenMean(),
            regularise=(KL(weight=1e-4, estimator="k3", anchor="reference"),),
        ),
    ),
    scale=Scale(
        num_prompts=256,
        group_size=16,
        max_new=8192,
        learning_rate=2e-6,
        num_steps=2000,
        oversample=2,
        num_minibatches=4,
        temperature=1.2,
    ),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    stages=(
        Stage("run 1", share=1.0),
        *(Stage(f"run {i}", 1.0, when=Plateau(gain=0.0, window=50), optimiser="reset") for i in range(2, 9)),
    ),
    notes=(
        "Clip, prompts, answers, mini-batches, temperature, rate and lengths are the report's (3.2). It gives no "
        "weight of the KL penalty: 1e-4 is ours, and so is oversample. The report has more than 2000 steps.",
        "The report resets reference policy and optimiser by hand, when validation stands still or falls: eight runs, "
        "of which it names the resets of the second, sixth and seventh. Here a reset comes when the training accuracy "
        "has not risen for 50 steps, and at the latest after an eighth of all steps.",
        "The report penalises answers that do not stop in its fourth and fifth run, has 32 answers in the sixth and "
        "seventh and 16k tokens in the last; none of that is done here.",
    ),
    deviations=("NVIDIA's account of ProRL v2 keeps the optimiser's state at a reset; the report resets it.",),
)
