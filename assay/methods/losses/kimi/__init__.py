"""Mirror descent: a policy gradient with a penalty on the squared log-ratio of the whole answer."""

from assay.credit import GroupRelative
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.objective.squared_ratio import SquaredRatio
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

KIMI_K15 = Recipe(
    name="kimi-k1.5",
    title="Kimi k1.5: Scaling Reinforcement Learning with LLMs",
    paper="2501.12599",
    claim="mirror descent on sampled answers, without critic and clip, is enough for 77.5 on AIME 2024",
    missing="images, long contexts that are sampled in parts, and the report's other stages of training",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            ratio=NoRatio(), gate=Open(), aggregate=SequenceSum(), regularise=(SquaredRatio(weight=0.1),)
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    notes=(
        "The loss is the report's surrogate: the policy gradient with the group's mean as baseline, and half the "
        "squared log-ratio of the whole answer as penalty, in sums over tokens. The length reward is in `len-kimi`.",
        "weight is the report's tau, whose value the report does not give; 0.1 is ROLL's. The scale is ours.",
        "The report resets the optimiser at each iteration, because the reference policy changes then; here the "
        "optimiser's state stays.",
    ),
    deviations=(
        "ROLL squares the log-ratio of each token and averages over tokens, which is smaller by a factor of "
        "the length.",
    ),
)
