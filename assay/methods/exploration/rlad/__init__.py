"""One player proposes abstractions of a problem and another solves the problem with them.

In `rlad` the proposer first imitates given abstractions; in `rlad-joint` abstraction and answer are one text.
"""

import dataclasses

from assay.ask import Rehearse
from assay.credit import Constant, GroupRelative
from assay.curate import Untrained
from assay.memory import HoldTagged
from assay.methods.exploration.rlad.abstract import Abstract, Distilled, WriteThenSolve
from assay.methods.exploration.rlad.players import Helpful, WithoutAdvantage
from assay.methods.exploration.rlad.solve import SolveWith
from assay.methods.exploration.rlad.usefulness import Usefulness
from assay.objective import KL, Clip, Entropy, NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

GROUPS = GroupRelative(scale="std", ddof=1, epsilon=1e-6)
ONLINE = Objective(
    gate=Clip(low=0.2, high=0.5),
    aggregate=TokenMean(),
    regularise=(KL(weight=0.001, estimator="k3"), Entropy(weight=0.001)),
)
LIKELIHOOD = Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train")
IMITATED = Rule("abstraction", verified=False, reward=(Outcome(),), credit=Constant(value=1.0), objective=LIKELIHOOD)
READ = Rule("abstraction", verified=False, reward=(Usefulness(),))

WARM = Mechanism(
    ask=(Abstract(num=1, longest=1024), Distilled(share=0.5, shortest=40, least=3)),
    objective=ONLINE,
    rules=(IMITATED,),
)
COLLECT = Mechanism(
    ask=(Abstract(num=4, longest=1024, bare=8),),
    expand=(SolveWith(samples=8),),
    curate=(
        Helpful(role="abstraction", margin=0.0, least=3),
        Untrained(role="policy"),
        Untrained(role="abstraction"),
    ),
    objective=ONLINE,
    remember=(HoldTagged(tag="helpful"),),
    rules=(READ,),
)
TUNE = Mechanism(ask=(Abstract(num=4, longest=1024), Rehearse(name="helpful")), objective=ONLINE, rules=(IMITATED,))
SOLVE = Mechanism(
    ask=(Abstract(num=1, longest=1024, bare_every=8),),
    expand=(SolveWith(samples=16),),
    curate=(Untrained(role="abstraction"), WithoutAdvantage(tag="bare")),
    credit=GROUPS,
    objective=ONLINE,
    rules=(READ,),
)
BOTH = Mechanism(
    ask=(Abstract(num=4, longest=1024),),
    expand=(SolveWith(samples=4),),
    credit=GROUPS,
    objective=ONLINE,
    rules=(Rule("abstraction", verified=False, reward=(Usefulness(),), credit=GROUPS, objective=ONLINE),),
)
JOINT = Mechanism(ask=(WriteThenSolve(),), credit=GROUPS, objective=ONLINE)
TWO_SETS = {"policy": Model(), "proposer": Model(), "reference": Model(trained=False)}
TWO_PLAYERS = {"policy": "policy", "abstraction": "proposer"}

RLAD = Recipe(
    name="rlad",
    title="RLAD: Training LLMs to Discover Abstractions for Solving Reasoning Problems",
    paper="2510.02263",
    claim="a proposer of abstractions and a solver that uses them: AIME 2025 with Qwen3-1.7B 42.45 with an "
    "abstraction, 48.33 with the best, where DAPO has 37.92 without",
    mechanism=SOLVE,
    scale=Scale(
        num_prompts=32,
        group_size=16,
        max_new=16384,
        learning_rate=1e-6,
        num_steps=500,
        temperature=0.6,
        schedule="cosine",
        warmup_steps=50,
        weight_decay=0.01,
    ),
    models=TWO_SETS,
    roles=TWO_PLAYERS,
    stages=(
        Stage("warm start", share=0.1, mechanism=WARM),
        Stage("collect", share=0.1, mechanism=COLLECT),
        Stage("tune", share=0.1, mechanism=TUNE),
        Stage("solve", share=0.7, memory="clear"),
    ),
    notes=(
        "Values are those of the released re-implementation, which attributes to the paper the clip of 0.5, the "
        "temperature of 0.6 and the mask of problems without an abstraction; num_steps and the shares of the stages "
        "are ours.",
        "Every 8th problem is solved without an abstraction. Its answers have no advantage, but the KL penalty stays: "
        "the solver is not rewarded for ignoring the abstraction.",
        "The stages: first the proposer imitates given abstractions. Then both players write with fixed weights, and "
        "nothing trains (4 abstractions a problem, 8 answers with each and 8 without, some 1500 problems as in the "
        "release). Then the proposer imitates the abstractions that helped, 128 texts a step, some 3 epochs if a "
        "third helped. Last, the solver trains.",
        "In the release a stronger model that sees the solution writes the abstractions of the first stage, two a "
        "problem. Here they are the problem's hint, else the first half of its worked steps, which is a plan but "
        "hardly abstract.",
        "In the release the proposer is tuned at a rate of 1e-5 and samples at temperature 0.7 with top-p 0.95; here "
        "rate and temperature are those of the whole run. With 8 answers against 8 and a pass "
        "rate of one half, about half of the abstractions that seem to help do so by luck: margin asks for a larger "
        "difference.",
        "In the last stage an abstraction is written when its problem is drawn; the release stores one a problem "
        "beforehand, from the same weights.",
        "An abstraction may have 1024 tokens, and never more than an answer.",
        "The released test for leaks skips answers of fewer than 3 characters, which most whole numbers are.",
        "The order from easy to medium problems is left to the pool. The wording of the two prompts is ours.",
    ),
)

RLAD_HIERARCHICAL = dataclasses.replace(
    RLAD,
    name="rlad-hierarchical",
    claim="one model writes abstractions and answers, and learns from both on policy",
    mechanism=BOTH,
    models={"policy": Model()},
    roles={"policy": "policy", "abstraction": "policy"},
    stages=(Stage(),),
    notes=(
        "Values are those of the released variant: 4 abstractions, 4 answers with each, 640 rows an update at 32 "
        "problems; num_steps is ours.",
        "An answer is compared with all 16 answers to its problem, and an abstraction, by the mean reward of its 4 "
        "answers, with the problem's other 3 abstractions.",
        "A group of abstractions is four means of four answers: its advantages are noisy.",
    ),
)

RLAD_TWO = dataclasses.replace(
    RLAD_HIERARCHICAL,
    name="rlad-two",
    claim="two sets of weights, one for abstractions and one for answers, both learning on policy",
    models=TWO_SETS,
    roles=TWO_PLAYERS,
    notes=(
        *RLAD_HIERARCHICAL.notes,
        "A set of weights for each player is the paper's; its combination with the set-up of `rlad-hierarchical` is "
        "ours.",
    ),
)

RLAD_JOINT = dataclasses.replace(
    RLAD_HIERARCHICAL,
    name="rlad-joint",
    claim="one model writes an abstraction and then the answer in one text, and both earn the reward of that text",
    mechanism=JOINT,
    roles={"policy": "policy"},
    notes=("Values are those of the released variant: plain GRPO over 16 texts a problem; num_steps is ours.",),
)
