"""One trace of an expert joins each group; its tokens have a shaped weight that favours unlikely ones."""

from assay.ask import Expert
from assay.credit import GroupRelative
from assay.objective import Case, Entropy, FixedLength, Objective, Probability, Shaped, Written
from assay.objective.gates import Plain
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

LUFFY = Recipe(
    name="luffy",
    title="Learning to Reason under Off-Policy Guidance",
    paper="2504.14945",
    claim="one expert trace in a group of eight, with a shaped weight that favours tokens that the policy finds "
    "unlikely: +6.4 on average over RLVR methods on six mathematics sets, and weak models train where on-policy RL "
    "fails",
    mechanism=Mechanism(
        ask=(Expert(count=1),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Plain(),
            cases=(Case(over=Written("injected"), ratio=Probability(), gate=Shaped(gamma=0.1)),),
            aggregate=FixedLength(),
            regularise=(Entropy(weight=0.001),),
            injected="train",
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=2),
    notes=(
        "Values are those of the published code; num_steps is ours.",
        "The expert's trace is verified and rewarded like any answer, and counts in the group's mean.",
        "If every answer of the policy is wrong, the advantage of the trace is 7/8 and that of each answer -1/8; if "
        "all are right, the trace has no effect.",
        "Traces are the worked solutions of the task; a trace longer than the limit is cut.",
    ),
    deviations=(
        "The published loss divides by the width of the padded row, and by B only afterwards, when micro-batches are "
        "accumulated. That equals the division by B only if all micro-batches have equal size.",
        "Without the shaping (f = identity) the weight pi silences rare tokens; some copies of the code have the "
        "shaping off by default.",
    ),
)
