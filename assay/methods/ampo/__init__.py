"""Where no answer is right, the teachers' traces that the policy understands best take part."""

from assay.collect.teachers import AskTeachers
from assay.credit import GroupRelative
from assay.methods.ampo.make_room import MakeRoom
from assay.objective import Case, Clip, Entropy, FixedLength, Objective, Probability, Shaped, Written
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

AMPO = Recipe(
    name="ampo",
    title="More Than One Teacher: Adaptive Multi-Guidance Policy Optimization for Diverse Exploration",
    paper="2510.02227",
    claim="where no answer is right, the traces of several teachers that the policy understands best take the place of "
    "wrong answers: +4.3% on mathematics and +12.2% out of distribution over GRPO",
    missing="its punishment of repetition",
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
        "Trigger, choice, number of teachers, loss and scale are those of the published code.",
        "The published code gives every trace the reward 1; here a trace is verified, and a wrong one is left out.",
        "Its format reward of 0.1 is left out: worked solutions are all in form, so it changes no rank. So is its "
        "punishment of repetition.",
        "Comprehension is read up to where the trace states its answer; a last step that computes it stays.",
        "Teachers are the worked solutions that the task knows: a task with one style has one teacher.",
        "With k right of n every advantage is a constant: likelihood of k traces, and a push down on n - k failures.",
    ),
)
