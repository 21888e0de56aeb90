"""A right answer is preferred to a wrong answer of its group, relative to a frozen reference policy."""

from assay.collect import Frozen
from assay.credit import GroupRelative
from assay.curate import Pairs, TrainAt
from assay.objective import NoRatio, Objective, Open
from assay.objective.pairwise import DPO as DPOLoss
from assay.objective.preference import FROM_VERDICTS
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Model, Scale

DPO = Recipe(
    name="dpo",
    title="Direct Preference Optimization: Your Language Model is Secretly a Reward Model",
    paper="2305.18290",
    claim="learning from preferences without a reward model and without sampling is as good as PPO",
    mechanism=Mechanism(
        collect=(Frozen(model="reference"),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(TrainAt(temperature=1.0), Pairs(most=1)),
        credit=GroupRelative(scale="none"),
        objective=Objective(whole=DPOLoss(beta=0.1), ratio=NoRatio(), gate=Open()),
    ),
    scale=Scale(num_prompts=64, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=150, warmup_steps=15),
    models={"policy": Model(), "reference": Model(trained=False)},
    notes=(
        *FROM_VERDICTS,
        "Each prompt gives one pair a step, so that 64 prompts make the paper's batch of 64 pairs if all groups are "
        "mixed.",
        "Log-ratios are summed over tokens, so the beta at which a pair saturates depends on the length of answers. "
        "Truncated answers are never losers.",
        "Winners may become less likely too, as long as losers fall faster; `iter-dpo` adds the likelihood of the "
        "winner to prevent that.",
    ),
)
