"""One answer of a group goes on from a prefix of a demonstration, whose forks train too."""

from assay.credit import GroupRelative
from assay.methods.prefix_rft.expert import ExpertPrefix
from assay.methods.prefix_rft.forks import Forks
from assay.objective import Clip, FixedLength, Objective
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

PREFIX_RFT = Recipe(
    name="prefix-rft",
    title="Blending Supervised and Reinforcement Fine-Tuning with Prefix Sampling",
    paper="2507.01679",
    claim="one answer of a group begins inside a demonstration and both parts train, of the given one its forks: 51.8 "
    "on six mathematics sets with Qwen2.5-Math-7B, LUFFY 50.1, RL 45.5; a hundredth of the demonstrations gives 37.6 "
    "of 41.1",
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
        "Seven own answers and one that goes on from a prefix, compared in one group.",
        "The length of the prefix is uniform between a floor that falls by half a cosine from 95 % to 5 % and 95 %; "
        "the schedule and the share are the paper's, the published code ships no values for them.",
        "The clip, batch and rate are those of its relatives, ours here.",
        "Given tokens have the learner's own log-prob before the step in their ratio: it is 1 at the first update.",
    ),
    deviations=(
        "The published code sorts the entropies of all given tokens of a micro-batch together; here of each prefix.",
        "A clip range of its own for given tokens is computed there and reaches the loss only as no clip at all.",
    ),
)
