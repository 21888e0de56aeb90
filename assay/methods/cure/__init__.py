"""Answers begin anew at a token of high entropy and form one group with those that they leave."""

from assay.ask import Trunks
from assay.collect import Fork, Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.methods.cure.own_tokens import OwnTokens
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome, SoftOverlong
from assay.scale import Scale

SETTLE = Mechanism(
    expand=(Refill(max_rounds=10),),
    reward=(Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=512, factor=1.0)),
    curate=(MixedGroups(by="accuracy"), FirstGroups()),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
)
CURE = Recipe(
    name="cure",
    title="CURE: Critical-Token-Guided Re-Concatenation for Entropy-Collapse Prevention",
    paper="2508.11016",
    claim="answers begun anew at high-entropy tokens and trained with the answers they leave keep entropy high; plain "
    "DAPO then turns it into accuracy: +5% on six math benchmarks with Qwen2.5-Math-7B",
    missing="the longer answers of its second stage: the answer limit is one constant of a run here",
    mechanism=Mechanism(
        ask=(Trunks(share=0.25),),
        expand=(Fork(places=1, branches=3, rounds=1, by="entropy", among=20, skip=1, letters=2), *SETTLE.expand),
        reward=SETTLE.reward,
        curate=(OwnTokens(), *SETTLE.curate),
        credit=SETTLE.credit,
        objective=SETTLE.objective,
    ),
    scale=Scale(
        num_prompts=512,
        group_size=16,
        max_new=2596,
        learning_rate=1e-6,
        num_steps=450,
        oversample=2,
        num_minibatches=16,
        warmup_steps=160,
        weight_decay=0.1,
    ),
    stages=(Stage("fork", share=2.0), Stage("settle", share=1.0, mechanism=SETTLE)),
    notes=(
        "Sampling, filter, loss and scale are those of the published scripts; stage 2 starts at step 300 of stage 1 "
        "there. The 150 steps of stage 2 are ours.",
        "Stage 2 goes on with optimiser and schedule; the scripts start a new run with prompts of 512 and answers of "
        "3584 tokens. Here the answer limit is one constant of the run.",
        "A branch may use what its trunk left of the answer limit, and the punishment of long answers counts its "
        "prefix; the published code gives each branch the whole limit and counts its own tokens alone.",
        "Tokens of one letter are no places, as in the code, unless the vocabulary has no others.",
        "Entropies are the sampler's own, of the weights that are about to learn; the code asks the trainer again.",
        "Branches start from contexts that reached an uncertain token: the group's mean is not the policy's.",
    ),
)
