"""A verifier of answers calls tools before its verdict; then, frozen, it is the reward of another policy."""

import dataclasses

from assay.ask import LimitCalls
from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.methods.judges.cosine_verifier.ask_verifier import AskVerifier
from assay.methods.judges.cosine_verifier.verified_by import VerifiedBy
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Like, Mechanism, Recipe, Rule, Stage
from assay.reward import Called, Outcome, Product
from assay.scale import Model, Scale

VERDICT = Outcome(right=1.0, wrong=0.0)
VERIFYING = Mechanism(
    ask=(LimitCalls(most=4, tools=("python", "convert")),),
    reward=(VERDICT,),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean()),
)
ENCOURAGED = dataclasses.replace(VERIFYING, reward=(Product(of=(VERDICT, Called(right=1.1, wrong=1.0))),))

COSINE_VERIFIER = Recipe(
    name="cosine-verifier",
    title="CoSineVerifier: Tool-Augmented Answer Verification for Computation-Oriented Scientific Questions",
    paper="2512.01224",
    claim="a verifier of 4B that computes before its verdict is right on 96.6 / 91.9 / 89.7 of VerifyBench, "
    "VerifyBench-Hard and Sci-Bench, where o3 is on 96.1 / 88.7 / 87.5 and a verifier of 32B in words on 95.9 / 86.5 / "
    "85.5; as a reward it trains better policies than rules and verifiers without tools",
    missing="the cold start on traces of a teacher, which is the warm start of a base here, data for rare forms of "
    "answers, and the second family, which says one label and calls nothing",
    tasks=("equivalence",),
    mechanism=VERIFYING,
    scale=Scale(num_prompts=128, group_size=8, max_new=2048, learning_rate=1e-6, num_steps=300),
    stages=(Stage("encouraged", share=1, mechanism=ENCOURAGED), Stage("verdicts", share=2)),
    notes=(
        "Two tools, at most 5 turns, and the last verdict in [Correct] or a box are those of the released evaluation. "
        "No code for training is released.",
        "Ours: the reward, 1[verdict = label] (1 + 0.1 * 1[a call was answered without an error]) in the first third "
        "and without the second factor behind it; groups of 8, the objective and the scale. No verdict, and a fifth "
        "call, earn 0.",
        "Replies are masked.",
        "Labels are balanced. Python runs for 5 seconds, where the release gives it 60.",
    ),
    deviations=(
        "The released evaluation returns a sentence about an error where the limit of turns is reached, and reads it "
        "as a verdict. Here that answer is cut, and has none.",
    ),
)

COSINE_VERIFIED = Like(
    "grpo",
    name="cosine-verified",
    title=COSINE_VERIFIER.title,
    paper=COSINE_VERIFIER.paper,
    claim="as the reward of another policy it is above rules and verifiers without tools on AIME24 and AIME25",
    missing="",
    changes={
        "tasks": ("calculator", "search-stream", "interpreter"),
        "mechanism.expand": (AskVerifier(role="verifier", turns=5),),
        "mechanism.reward": (VerifiedBy(role="verifier"),),
        "mechanism.curate": (Untrained(role="verifier"),),
        "mechanism.objective.regularise": (),
        "mechanism.rules": (Rule("verifier", reward=(VERDICT,)),),
        "models": {"policy": Model(), "verifier": Model(trained=False)},
        "roles": {"policy": "policy", "verifier": "verifier"},
        "scale.num_prompts": 128,
        "scale.group_size": 8,
    },
    notes=(
        "128 problems of 8 answers, on policy, the frozen verifier and its greedy decoding are the paper's; the "
        "objective is GRPO's without KL, and ours.",
        "Each different final answer to a problem is verified once in a step. It is shown without its reasoning, which "
        "could persuade.",
        "A verifier that comes to no verdict, reaches the limit of turns, or whose last program reached its limits has "
        "made no judgement, which is not a judgement of 0.",
        "Where answers are shorter than programs, give the verifier tokens: `--mechanism.expand.0.limit 160`.",
        "The verifier is a frozen copy of the base. Train the base first as a verifier, and then name that run: `assay "
        "train cosine-verified --model RUN`. A small model must know both tasks: `assay train sft --task equivalence "
        "--task calculator`.",
        "The verifier of the task only measures (`reward/accuracy`): beside the reward it shows whether the judge is "
        "deceived.",
    ),
)
