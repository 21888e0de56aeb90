"""The ratio divides by the expected likelihood of the group, for samplers that lag behind."""

from assay.collect import Lagged
from assay.credit import GroupRelative
from assay.memory import Follow
from assay.methods.gates.gepo.ratio import GroupExpectation
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

GEPO = Recipe(
    name="gepo",
    title="Group Expectation Policy Optimization for Heterogeneous Reinforcement Learning",
    paper="2508.17850",
    claim="a ratio over the group's expected likelihood, in place of the answer's own old likelihood: less than 3 % "
    "lost at delays of 1800 s; 43.5 at the end where GSPO has 20.9, with samplers 64 steps behind",
    missing="samplers on other machines: here their delay is that of a sampler some steps behind",
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
        "most 32 steps behind. The clip of 0.2 is the default of the trainer that it is built on; num_steps is ours. "
        "The paper's random delays between 60 and 1920 s are a sampler here that is 0 to 31 steps behind.",
        "The ratio is not 1 on policy: an answer likelier than its group's expectation has a ratio above 1, and may "
        "be clipped at the first update. Look at policy/clip_fraction.",
        "The likeliest answers of a group, which are often the shortest, dominate the expectation.",
        "With top_k and top_p the sampler's log-probs are those of the truncated distribution from which it drew.",
    ),
    deviations=(
        "The released code sums over the answers on a device, which is the group only if a device holds one group.",
        "Its option EqP divides by the expectation of the policy's own likelihood, with a gradient.",
    ),
)
