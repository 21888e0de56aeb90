"""Harder variants of solved problems, with the same answers, join the training set if pass counts allow."""

from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.methods.exploration.synthrl.evolution import ROLE
from assay.methods.exploration.synthrl.evolve import Evolve, KeepEvolved
from assay.methods.exploration.synthrl.variants import EvolvedAll, WithEvolved
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.scale import Scale
from assay.source import Epochs

SEEDS = 8192  # the published set has about as many
SYNTHESISE = Mechanism(
    source=Epochs(size=SEEDS),
    expand=(Evolve(checks=16, sure=12, least=4, margin=1, attempts=8),),
    curate=(Untrained(role="policy"), Untrained(role=ROLE)),
    remember=(KeepEvolved(checks=16, sure=12, least=4, margin=1),),
    rules=(Rule(ROLE, verified=False),),
)

SYNTHRL = Recipe(
    name="synthrl",
    title="SynthRL: Scaling Visual Reasoning with Verifiable Data Synthesis",
    paper="2506.02096",
    claim="3.3 thousand harder variants of 8 thousand seed problems, in training beside them: gains on five visual "
    "benchmarks from other domains, largest on the hardest samples, with Qwen2.5-VL-7B",
    missing="a writer of variants that is stronger than the policy, and a judge that gives 8 of 10 points or more to "
    "the text of a variant before it is tried",
    tasks=("mod-chain-7",),
    mechanism=Mechanism(
        source=WithEvolved(size=SEEDS),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(
        num_prompts=512,
        group_size=8,
        max_new=2048,
        learning_rate=1e-6,
        num_steps=376,
        num_minibatches=4,
        weight_decay=0.01,
    ),
    roles={"policy": "policy", ROLE: "policy"},
    stages=(
        Stage("synthesise", share=0.2, mechanism=SYNTHESISE),
        Stage("train", share=0.8, when=EvolvedAll(size=SEEDS)),
    ),
    notes=(
        "Counts of 16 answers, 12 for a seed, 4 and one less than the seed for a variant, 8 attempts, and the scale of "
        "the training are the published code's; clip, token mean and the size of the set are ours.",
        "Nothing trains while variants are written. 16 of the 376 steps measure the set of 8192 problems, once each; "
        "training begins then, or after a fifth of the steps. Later variants would be measured by another policy.",
        "The policy writes the variants itself, without seeing the answer: the paper has Gemini for that. A model that "
        "was never shown variants writes none that is of use, and then the run is GRPO on the set. The base "
        "`variants`, a small model that learnt to write them (and to get three of ten wrong), takes its place: "
        "`--model variants --task mod-chain-7:1,2,3`.",
        "A variant is compared with the count of its seed, although the next starts from the last accepted one: so it "
        "is in the published code. Answers that an error of ours left without a verdict count in neither direction.",
        "Four of 16 is a test of the answer only where wrong answers seldom coincide. Guesses among 7 answers pass it "
        "once in 5 times, and of eight attempts the lowest count is kept. In a run on mod-chain-7 28 of 79 "
        "accepted variants had the old answer; with 8 of 16 (`least` of `evolve` and `keep-evolved`) 30 of 36.",
        "A text is tried if it was written to its end and is new. If the task can read questions (Hardening), it "
        "must be a problem of the training split; texts in natural wording are not compared with held-out rows.",
        "The limit of answers follows the levels of the pool: name levels above those that the base solves, for "
        "variants have longer solutions.",
    ),
)
