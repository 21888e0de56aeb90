"""One answer of a group continues a prefix of a demonstration; the prefix trains too, at its tokens of high entropy."""

from assay.credit import GroupRelative
from assay.methods.demonstrations.prefix_rft.expert import ExpertPrefix
from assay.methods.demonstrations.prefix_rft.forks import Forks
from assay.objective import Clip, FixedLength, Objective
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

PREFIX_RFT = Recipe(
    name="prefix-rft",
    title="Blending Supervised and Reinforcement Fine-Tuning with Prefix Sampling",
    paper="2507.01679",
    claim="one answer of a group begins with a prefix of a demonstration, which trains too at its tokens of high "
    "entropy: 51.8 on six mathematics sets with Qwen2.5-Math-7B, LUFFY 50.1, RL 45.5; a hundredth of the "
    "demonstrations gives 37.6 of 41.1",
    mechanism=Mechanism(
        ask=(ExpertPrefix(first=0.95, last=0.05, high=0.95),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2),
            keep=(Forks(share=0.2),),
            aggregate=FixedLength(),
            injected="train",
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=2),
    notes=(
        "Seven answers of the policy and one that continues a prefix are compared in one group.",
        "The length of the prefix is uniform between a lower bound, which falls by half a cosine from 95 % to 5 %, "
        "and 95 %. The schedule and the share are the paper's; the published code has no values for them.",
        "The clip, batch and rate are those of related methods, our choice here.",
        "For tokens of the prefix the old log-prob is the learner's own before the step, so that their ratio is 1 at "
        "the first update.",
    ),
    deviations=(
        "The published code ranks the entropies of all prefix tokens of a micro-batch together; here each prefix is "
        "ranked by itself.",
        "The published code computes a clip range of its own for prefix tokens, but its loss then does not clip them "
        "at all.",
    ),
)
