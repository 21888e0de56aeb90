"""New answers branch off at a token of high entropy and join the group of the answers that they left."""

from assay.ask import Trunks
from assay.collect import Fork, Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups, OwnTokens
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
    claim="answers that branch off at high-entropy tokens, trained together with the answers that they leave, keep "
    "entropy high; plain DAPO then turns it into accuracy: +5% on six math benchmarks with Qwen2.5-Math-7B",
    missing="the longer answers of the paper's second stage: here the limit of answers is one constant of a run",
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
        "Sampling, filter, loss and scale are those of the published scripts, whose stage 2 starts at step 300 of "
        "stage 1. The 150 steps of stage 2 are ours.",
        "Stage 2 keeps the optimiser's state and the schedule. The scripts start a new run, with prompts of 512 and "
        "answers of 3584 tokens; here the limit of answers is one constant of the run.",
        "A branch may use the tokens that its trunk left of the answer limit, and the penalty for overlong answers "
        "counts the prefix too. The published code gives each branch the whole limit and counts its own tokens alone.",
        "Answers do not branch at tokens of one letter, as in the code, unless the vocabulary has no longer ones.",
        "The sampler reports the entropies, with the weights that are about to learn; the published code computes "
        "them with the trainer.",
        "Branches start at contexts where the policy was uncertain, so the mean of a group is not the policy's mean.",
    ),
)
