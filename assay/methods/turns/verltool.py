"""Group rewards for answers in turns, with whatever tool the task has; errors of tools are replies to learn from."""

from assay.ask import LimitCalls
from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

VERLTOOL = Recipe(
    name="verltool",
    title="VerlTool: Towards Holistic Agentic Reinforcement Learning with Tool Use",
    paper="2509.01055",
    claim="one interface to all tools, and trajectories that wait for none but their own: near twice as fast rollouts, "
    "and results on a par with systems for one kind of tool on mathematics, search, SQL and others",
    missing="images, web pages and software repositories as tools",
    tasks=("interpreter", "sql-tool", "search-small"),
    mechanism=Mechanism(
        ask=(LimitCalls(most=10),),
        reward=(Outcome(right=1.0, wrong=-1.0),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(
        num_prompts=128,
        group_size=16,
        max_new=3072,
        longest_reply=512,
        learning_rate=1e-6,
        num_steps=500,
        warmup_steps=10,
    ),
    notes=(
        "128 prompts of 16 answers, 10 turns, 3072 tokens with the replies, replies of 512 tokens, no KL, the rate and "
        "its warm-up are those of the released script for mathematics with Python; 500 steps are ours, and the rewards "
        "1 and -1 are from memory of its reward.",
        "That no trajectory waits for another one's tool is a setting of the machine: `--machine.replies free`.",
        "A call that makes no sense gets a reply that says so. A tool that fails is tried once more; if that fails, "
        "the answer has no reward and does not train, where the release lets the policy read of it and ends the "
        "trajectory.",
        "Replies are appended as tokens of their own; no text is tokenised twice.",
    ),
    deviations=(
        "The release can leave out of the loss trajectories that were cut or never called; `whole-answers` of `curate` "
        "does the first.",
    ),
)

VERLTOOL_DAPO = Like(
    "verltool",
    name="verltool-dapo",
    claim="as with text alone: a higher upper clip and mixed groups alone",
    changes={
        "tasks": VERLTOOL.tasks,
        "mechanism.expand": (Refill(max_rounds=10),),
        "mechanism.curate": (MixedGroups(by="accuracy"), FirstGroups()),
        "mechanism.objective.gate": Clip(low=0.2, high=0.28, dual=10.0),
    },
    notes=("The clip and the choice of groups are DAPO's. All other values are those of verltool.",),
)
