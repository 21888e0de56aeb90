"""The answers of a group are compared as wholes, and turn by turn where several stood in the same state."""

from assay.methods.turns.gigpo.anchored import GroupInGroup
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.reward import FailedReplies, Outcome
from assay.scale import Scale

GIGPO = Recipe(
    name="gigpo",
    title="Group-in-Group Policy Optimization for LLM Agent Training",
    paper="2505.10978",
    claim="turns that begin in a state which several trajectories of a group have visited are compared with each other "
    "too: more than 12 points of success above GRPO on ALFWorld and more than 9 on WebShop, without a critic",
    missing="ALFWorld and WebShop; each turn as a prompt of its own, with a summary of the turns before it",
    tasks=("search-small", "lookup-faulty", "calculator"),
    mechanism=Mechanism(
        reward=(Outcome(right=10.0, wrong=0.0), FailedReplies(cost=0.1)),
        credit=GroupInGroup(gamma=0.95, weight=1.0, scale="std", ddof=1, epsilon=1e-6, anchor="reply", similarity=1.0),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=0.01, estimator="k3"),)
        ),
    ),
    scale=Scale(num_prompts=16, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=150, num_minibatches=2),
    notes=(
        "16 prompts of 8 trajectories, reward 10 of a success, 0.1 off for an action that cannot be taken, weight 1 of "
        "the turns, gamma 0.95, KL 0.01, the rate and 150 steps are those of the paper and of the released script for "
        "ALFWorld. That script has updates of 256 turns, and at most 50 turns of 512 tokens; two updates a step, and "
        "8192 tokens for a whole answer with its replies, are ours.",
        "The state in which a turn begins is what the world told last (`anchor` reply), as in the released code, which "
        "compares observations without what came before them; with `replies` it is all that the world has told so far.",
        "A group whose answers all earn the same has no advantage between answers; one between its turns may remain, "
        "because an earlier success is discounted less.",
    ),
    deviations=(
        "The released code takes mean and deviation of a group over all its turns, so that a long trajectory counts "
        "more; here, as in the paper, over its trajectories.",
        "In the released code a trajectory that is alone in its group keeps its reward as advantage; here it has none.",
    ),
)

GIGPO_MEAN = Like(
    "gigpo",
    name="gigpo-mean",
    claim="the paper's second normalisation: no division by deviations, which helps where they are small because a "
    "task is too easy or too hard",
    changes={"tasks": GIGPO.tasks, "mechanism.credit.scale": "none"},
    notes=("F = 1 in both levels, as in the released scripts (mean_norm). All other values are those of gigpo.",),
)

GIGPO_SEARCH = Like(
    "gigpo",
    name="gigpo-search",
    claim="turns of searches are compared where what was found is nearly the same: exact states seldom recur there",
    changes={
        "tasks": ("search-small", "search"),
        "mechanism.credit.similarity": 0.9,
        "mechanism.reward": (Outcome(right=1.0, wrong=0.0), FailedReplies(cost=0.01)),
        "mechanism.objective.regularise": (KL(weight=0.001, estimator="k3"),),
        "scale.num_prompts": 256,
        "scale.group_size": 5,
    },
    notes=(
        "A state is one with the first state of its group that has 0.9 of its tokens in common. The least similarity, "
        "256 questions of 5 trajectories, KL 0.001 and 0.01 off for a call that fails are those of the released script "
        "for searches; there characters are compared, here tokens.",
    ),
)
