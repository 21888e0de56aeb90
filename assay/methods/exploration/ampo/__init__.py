"""A prompt that the policy fails gets traces of teachers, those that the policy understands best."""

from assay.collect.teachers import AskTeachers
from assay.credit import GroupRelative
from assay.methods.exploration.ampo.make_room import MakeRoom
from assay.objective import Case, Clip, Entropy, FixedLength, Objective, Probability, Shaped, Written
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

AMPO = Recipe(
    name="ampo",
    title="More Than One Teacher: Adaptive Multi-Guidance Policy Optimization for Diverse Exploration",
    paper="2510.02227",
    claim="where every rollout of a prompt is wrong, the traces of several teachers that the policy understands best "
    "replace wrong rollouts: +4.3% on mathematics and +12.2% out of distribution over GRPO",
    missing="the paper's penalty for repetition",
    mechanism=Mechanism(
        expand=(AskTeachers(most=2, right=0, choice="best"),),
        curate=(MakeRoom(),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2, dual=10.0),
            aggregate=FixedLength(),
            regularise=(Entropy(weight=0.001),),
            injected="train",
            cases=(Case(over=Written("injected"), ratio=Probability(), gate=Shaped(gamma=0.1)),),
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=510, num_minibatches=2),
    notes=(
        "The trigger, the choice of traces, the number of teachers, the loss and the scale are those of the published "
        "code.",
        "The published code gives every trace the reward 1. Here the verifier checks a trace, and a wrong trace is "
        "left out.",
        "The published format reward of 0.1 is left out: worked solutions all have the right form, so it would change "
        "no ranking. The published penalty for repetition is left out too.",
        "Comprehension is the likelihood of the right answer after the trace, with the answer itself cut off the "
        "trace. The last step of the trace, which may compute the answer, stays.",
        "The teachers are the worked solutions that the task knows: a task with one style of solution has one teacher.",
        "With k right rollouts of n the advantages take only two values: the k traces get likelihood training, and "
        "the n - k failures are pushed down.",
    ),
)
