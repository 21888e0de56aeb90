"""A reward model writes a critique of the answer first; its score reads question, answer and critique."""

from assay.collect import AskJudge
from assay.credit import Constant, GroupRelative
from assay.curate import Untrained
from assay.forwards import RewardModel
from assay.objective import KL, Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import LearntScore, Outcome
from assay.scale import Model, Scale

IMITATE = Rule(
    "critic",
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
)
SHOWN = Mechanism(expand=(AskJudge(role="critic", shown=True),), curate=(Untrained(role="policy"),), rules=(IMITATE,))
PREFER = Mechanism(
    expand=(AskJudge(role="critic"),),
    curate=(Untrained(role="policy"), Untrained(role="critic")),
    forwards=(RewardModel(of=Outcome(), loss="pairs", critic="critic", critiques=1.25, num_epochs=4),),
    rules=(Rule("critic"),),
)

CLOUD = Recipe(
    name="cloud",
    title="Critique-out-Loud Reward Models",
    paper="2408.11791",
    claim="a reward model that writes a critique before it judges: 4.65 and 5.84 points more on RewardBench than the "
    "same model without, with 8B and 70B, and better best-of-N answers on ArenaHard",
    missing="critiques in words by a larger model, preferences of people, and the score as two layers with tanh",
    tasks=("search-stream", "quantities", "trace"),
    mechanism=Mechanism(
        expand=(AskJudge(role="critic", judgements=4),),
        reward=(LearntScore(critic="critic"),),
        curate=(Untrained(role="critic"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=1e-3, estimator="k3"),)
        ),
        rules=(Rule("critic"),),
    ),
    scale=Scale(num_prompts=64, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=300, schedule="cosine"),
    models={"policy": Model(), "reward-model": Model(output="both")},
    roles={"policy": "policy", "critic": "reward-model"},
    stages=(
        Stage("critiques", share=0.3, mechanism=SHOWN),
        Stage("prefer", share=0.3, mechanism=PREFER),
        Stage("train", share=0.4),
    ),
    notes=(
        "The steps are the paper's: the model imitates the critiques of another, then writes its own, and learns from "
        "pairs by Bradley-Terry on its own critiques, plus 1.25 times their likelihood (0.75 for 70B). 1e-6 with a "
        "cosine is its rate in the second step; in the first it was 5e-6. Score and critique share one body.",
        "The paper scores benchmarks and picks the best of N answers. Here the scores then train a policy by GRPO: its "
        "values, the scale, the shares of the stages and four optimiser steps on the answers of a step are ours. The "
        "score is the mean over four critiques, the paper's self-consistency; its default is one greedy critique.",
        "A critique is a judgement of `judge:NAME`: a mark for each step, and whether the answer is right. Those that "
        "the model imitates are the task's own; a right answer is preferred to a wrong one. Only answers of the policy "
        "are criticised, never worked solutions, so that the model learns the mistakes that the policy makes.",
        "`reward-model/critique_loss` is the mean loss of a critique's token; how often critiques are right is the "
        "accuracy of the role `critic`.",
        "Beside it `rlmt` and `shape-rm` are the classic model, whose score stands behind the answer.",
    ),
)
