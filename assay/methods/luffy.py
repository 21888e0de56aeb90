"""One expert answer in a group, weighed by a shaped probability."""

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
    claim="one expert trace in a group of eight, with a shaped weight that favours what the policy finds unlikely: "
    "+6.4 on average over RLVR methods on six mathematics sets, and weak models train where on-policy RL fails",
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
        "The expert's trace is verified and rewarded like any answer, and is in the group's mean.",
        "Where every answer of the policy is wrong the expert gets 7/8 and each of them -1/8; where all are right the "
        "trace is ignored.",
        "Traces are the worked solutions of the task; one that is longer than the limit is cut.",
    ),
    deviations=(
        "The published loss divides by the width of the padded row and not by B inside the function; accumulation "
        "divides afterwards, which is the same only for equal micro-batches.",
        "Without the shaping (f = identity) the weight pi silences rare tokens; some copies have it off by default.",
    ),
)
