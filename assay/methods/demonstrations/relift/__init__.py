"""RL, and a step of fine-tuning on worked solutions whenever enough problems were failed."""

from assay.credit import Constant, GroupRelative
from assay.methods.demonstrations.relift.study import Study
from assay.methods.demonstrations.relift.unsolved import HoldUnsolved
from assay.objective import Entropy, FixedLength, NoRatio, Objective, Open, TokenMean
from assay.objective.gates import Plain
from assay.recipe import Mechanism, Recipe, Rule
from assay.scale import Scale

STUDENT = "student"

RELIFT = Recipe(
    name="relift",
    title="Learning What Reinforcement Learning Can't: Interleaved Online Fine-Tuning for Hardest Questions",
    paper="2506.07527",
    claim="RL, and a step of fine-tuning on solutions whenever enough problems were failed: +5.2 on average over "
    "zero-RL on five competition sets and one out of distribution, with 13% of the demonstrations",
    mechanism=Mechanism(
        expand=(Study(size=128),),
        credit=GroupRelative(scale="none"),
        objective=Objective(gate=Plain(), aggregate=FixedLength(), regularise=(Entropy(weight=0.001),)),
        remember=(HoldUnsolved(),),
        rules=(
            Rule(
                role=STUDENT,
                credit=Constant(value=1.0),
                objective=Objective(
                    ratio=NoRatio(),
                    gate=Open(),
                    aggregate=TokenMean(),
                    regularise=(Entropy(weight=0.001),),
                    injected="train",
                ),
                moments=STUDENT,
            ),
        ),
    ),
    scale=Scale(
        num_prompts=128,
        group_size=8,
        max_new=8192,
        learning_rate=1e-6,
        num_steps=500,
        num_minibatches=2,
        clip_norm=0.7,
    ),
    roles={"policy": "policy", STUDENT: "policy"},
    notes=(
        "Values are those of the published code; num_steps is ours.",
        "Fine-tuning has its own optimiser moments. With shared moments, RL's small second moments would make the "
        "first step of fine-tuning huge.",
        "A step of fine-tuning has as many updates as a step of RL and the same clip of the gradient's norm; the "
        "published code has one update and a norm of 1.",
        "The newest problems are studied first, as published: the oldest ones may never be studied, and the policy "
        "may solve some before they are.",
        "A solution as long as the limit is not shown; the published code cuts such solutions, which teaches the "
        "policy to stop there.",
    ),
    deviations=(
        "The published RL term divides by the width of the padded row; here it divides by the generation limit.",
    ),
)
