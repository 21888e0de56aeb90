"""A fuser makes theorems that the prover seldom proves, and both learn; proofs of another statement earn half."""

from assay.ask import Demonstrate
from assay.ask.posed_once import PosedOnce
from assay.credit import Constant, GroupRelative
from assay.methods.exploration.gar.fused import FusePairs, Fusion, KeptStatement, OverAll, Provable, ProveFused
from assay.objective import KL, Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.scale import Model, Scale
from assay.source.pose_examples import PoseExamples

OBJECTIVE = Objective(
    gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=0.01, estimator="k3"),)
)
EXAMPLES = Mechanism(
    source=PoseExamples(shown=2, proofs=False),
    ask=(PosedOnce(role="proposer"), Demonstrate()),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
)
"""Theorems of the generator, which the fuser imitates before it plays."""

GAR = Recipe(
    name="gar",
    title="GAR: Generative Adversarial Reinforcement Learning for Formal Theorem Proving",
    paper="2510.11769",
    claim="a fuser of statements and a prover that train against each other raise miniF2F from 77.9 to 80.3 percent "
    "(Goedel-Prover-V2-8B) and from 70.5 to 74.2 (DeepSeek-Prover-V2-7B), where statements that stay as they are give "
    "nothing",
    missing="statements in words and their formalisation: the fuser writes theorems of Metamath; Lean",
    tasks=("metamath",),
    mechanism=Mechanism(
        source=FusePairs(),
        ask=(PosedOnce(role="proposer"),),
        expand=(ProveFused(),),
        reward=(KeptStatement(penalty=0.5),),
        curate=(Provable(most=0.5),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=OBJECTIVE,
        rules=(Rule("proposer", reward=(Fusion(),), credit=OverAll(), objective=OBJECTIVE),),
    ),
    scale=Scale(num_prompts=1024, group_size=16, max_new=16384, learning_rate=2e-6, num_steps=8),
    models={"policy": Model(), "proposer": Model()},
    roles={"policy": "policy", "proposer": "proposer"},
    stages=(Stage("examples", share=0.2, mechanism=EXAMPLES), Stage("play", share=0.8)),
    notes=(
        "1024 pairs an iteration, one theorem a pair, 16 proofs of each, both rewards, 0 < p <= 1/2 for the prover, "
        "the clip of 0.2, the KL of 0.01 and the rate are the paper's. It has three to five iterations, each a step "
        "here; the number of steps is ours.",
        "The prover's reward as it is printed, 1 - m/2, does not say whether a proof is accepted. Here it is that for "
        "accepted proofs and 0 for others. Ratios are those of tokens, to the policy that sampled.",
        "A row of Metamath that ends with one formula proves that formula. If it is another one than was asked, the "
        "answer has changed the statement: it counts in p and in m and earns half in training, and is wrong in exams.",
        "A theorem is drawn together with another one of its level, and the fuser makes one of both. What it writes "
        "must be a theorem of the task, else it earns 0, where the paper drops it. A held-out theorem is not asked.",
        "The baseline of the fuser is the mean over all theorems of the step, so that an easy pair looks like a bad "
        "fusion. With one proof of 16 a theorem earns most.",
        "Before the two play, the fuser imitates theorems of the task's generator, which stands for the model of the "
        "paper that knows problems in words.",
    ),
)
