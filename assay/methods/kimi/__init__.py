"""Mirror descent: the score function less the squared log-ratio of the whole answer."""

from assay.credit import GroupRelative
from assay.methods.kimi.term import SquaredRatio
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

KIMI_K15 = Recipe(
    name="kimi-k1.5",
    title="Kimi k1.5: Scaling Reinforcement Learning with LLMs",
    paper="2501.12599",
    claim="mirror descent on sampled answers, without critic and clip, is enough for 77.5 on AIME 2024",
    missing="images, long contexts that are filled in parts, and the report's other stages of training",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            ratio=NoRatio(), gate=Open(), aggregate=SequenceSum(), regularise=(SquaredRatio(weight=0.1),)
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    notes=(
        "The report's surrogate: the score function centred by the group's mean, less half the squared log-ratio of "
        "the whole answer, sums over tokens. The length reward is `len-kimi`.",
        "weight is the report's tau, of which it gives no value; 0.1 is ROLL's. The scale is ours.",
        "The report resets the optimiser at each iteration, because the reference is another one then; here its state "
        "stays.",
    ),
    deviations=("ROLL squares the log-ratio of each token and averages tokens: smaller by a factor of the length.",),
)
