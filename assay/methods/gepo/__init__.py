"""The likelihood that a group expects stands below the ratio, for samplers that are behind."""

from assay.collect import Lagged
from assay.credit import GroupRelative
from assay.memory import Follow
from assay.methods.gepo.ratio import GroupExpectation
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

GEPO = Recipe(
    name="gepo",
    title="Group Expectation Policy Optimization for Heterogeneous Reinforcement Learning",
    paper="2508.17850",
    claim="a group's expected likelihood in place of each answer's own below the ratio: less than 3 % lost at delays "
    "of 1800 s; 43.5 at the end where GSPO has 20.9, with samplers 64 steps behind",
    missing="samplers on other machines: their delay is that of a sampler some steps behind",
    mechanism=Mechanism(
        collect=(Lagged(model="behaviour"),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            ratio=GroupExpectation(), gate=Clip(low=0.2, high=0.2), anchor="sampler", aggregate=SequenceMean()
        ),
        remember=(Follow(every=32),),
    ),
    scale=Scale(
        num_prompts=4,
        group_size=8,
        max_new=3000,
        learning_rate=1e-6,
        num_steps=500,
        temperature=0.6,
        top_p=0.95,
        top_k=20,
    ),
    models={"policy": Model(), "behaviour": Model(trained=False, follows="policy")},
    notes=(
        "Values are those of the authors' configuration for Qwen3-1.7B: one group on each of 4 devices, samplers at "
        "most 32 steps behind; the clip of 0.2 is the default of the trainer it is built on, num_steps is ours. Random "
        "delays between 60 and 1920 s are a sampler here that is 0 to 31 steps behind.",
        "The ratio is not 1 on policy: an answer likelier than its group's expectation is above 1, and may be clipped "
        "at the first step. Look at policy/clip_fraction.",
        "The sum over the group is led by its likeliest answers, which are often the shortest.",
        "With top_k and top_p the sampler's log-probs are those of what it really sampled from.",
    ),
    deviations=(
        "The released code sums over what is on a device, which is the group only where that is one group.",
        "Its option EqP has the expectation of the policy's own likelihood below the ratio, with a gradient.",
    ),
)
