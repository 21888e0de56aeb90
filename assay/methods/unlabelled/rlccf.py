"""Several models answer each question and vote together; each is trained on the common label."""

from assay.ask import AlsoAsk
from assay.forwards import Agreement
from assay.recipe import Like
from assay.reward import CollectiveVote
from assay.scale import Model

RLCCF = Like(
    "grpo",
    name="rlccf",
    title="Wisdom of the Crowd: Reinforcement Learning from Coevolutionary Collective Feedback",
    paper="2508.12338",
    claim="four open models that label for each other gain 16.72% relative accuracy on average over four sets of "
    "mathematics, and their common vote 4.51%",
    missing="models of several families: all begin as one base, and differ by what they sample",
    changes={
        "tasks": ("mod-chain-7",),  # answers of one digit, on which votes agree
        "mechanism.ask": (AlsoAsk(roles=("second", "third")),),
        "mechanism.reward": (CollectiveVote(gamma=1.0),),
        "mechanism.forwards": (Agreement(),),
        "models": {"policy": Model(), "second": Model(), "third": Model(), "reference": Model(trained=False)},
        "roles": {"policy": "policy", "second": "second", "third": "third"},
        "scale.num_prompts": 128,
        "scale.group_size": 8,
        "scale.max_new": 3072,
    },
    notes=(
        "The label is argmax_a sum_n c_n n_a: n_a counts the answers of model n, and c_n is the share of its most "
        "frequent one. The exponent of c_n is 1, three models and the scale are ours.",
        "Each model has its groups, its batch and its optimiser. Examinations examine the first, the policy.",
    ),
)
