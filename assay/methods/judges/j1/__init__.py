"""Judging becomes a verifiable task: pairs of answers of which one is known to be better, read in both orders."""

from assay.credit import GroupRelative
from assay.methods.judges.j1.sides import Both, InHalves
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.scale import Scale

J1 = Recipe(
    name="j1",
    title="J1: Incentivizing Thinking in LLM-as-a-Judge via Reinforcement Learning",
    paper="2505.10320",
    claim="judges that think, trained by GRPO on pairs with a known winner: 76.8 on PPE Correctness with Qwen3-32B, "
    "10.3 above the base, and 59.2 for the 8B judge",
    missing="pairs for prompts without a right answer, whose loser answers a noisy variant of the prompt, real-valued "
    "scores beside the verdict, and one judge for pairs and single answers",
    tasks=("compare:trace", "compare:quantities", "compare:constraints"),
    mechanism=Mechanism(
        ask=(InHalves(form="both-orders"),),
        reward=(Both(by="verdict"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=0.001, estimator="k3"),)
        ),
    ),
    scale=Scale(num_prompts=64, group_size=16, max_new=4096, learning_rate=1e-6, num_steps=500),
    notes=(
        "Tasks are of the name `compare:NAME`: a problem of NAME, a right answer and one that was changed until it is "
        "wrong, in any order. In the paper the loser is an answer of a model with a wrong result.",
        "Half of a group reads the answers in one order, half in the other. A pair of judgements earns 1 if both are "
        "right, else 0; that this replaces the reward of single verdicts, groups for each order, the weight of the KL "
        "penalty and the scale are ours.",
        "The marks before the verdict stand for the paper's thought: the model may write them, and nothing rewards "
        "them.",
        "The exam asks in one order, as the task does.",
    ),
)

J1_POINTWISE = Like(
    "j1",
    name="j1-pointwise",
    claim="a judge of single answers that learns from pairs has the fewest ties and flips: 10.5% against 17.0%",
    changes={
        "mechanism.ask": (InHalves(form="alone"),),
        "mechanism.reward": (Both(by="order"),),
        "tasks": ("compare:constraints",),
    },
    notes=(
        "Each answer of a pair is judged alone, by a score of the task `judge:NAME`: the number of rules that it "
        "keeps, or 0 and 1 where a task has no rules. The paper's scores are from 0 to 10.",
        "Two judgements earn 1 if the better answer has the higher score; a tie earns 0. The scores themselves are "
        "never compared with the right ones: what is learnt is their order.",
        "The scale is that of `j1`.",
    ),
)
