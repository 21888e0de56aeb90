"""Rounds of hints, whose length follows from a response curve that is fitted to each problem."""

from assay.credit import GroupRelative
from assay.methods.exploration.seele.begin import BeginAtRate
from assay.methods.exploration.seele.rates import KeepRate
from assay.methods.exploration.seele.rounds import HintRounds
from assay.objective import KL, Case, Clip, FixedLength, Likelihood, NoRatio, Objective, Shut, Written
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale
from assay.source import Epochs

SEELE = Recipe(
    name="seele",
    title="Staying in the Sweet Spot: Responsive Reasoning Evolution via Capability-Adaptive Hint Scaffolding",
    paper="2509.06923",
    claim="hints whose length brings each problem's accuracy to one half: six mathematics sets at 3B 42.2, GRPO 30.4, "
    "the best supervision-aided method before it 40.5",
    mechanism=Mechanism(
        source=Epochs(size=22000),
        ask=(BeginAtRate(),),
        expand=(HintRounds(rounds=4, target=0.5),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=FixedLength(),
            regularise=(KL(weight=0.001, estimator="k3"),),
            extra=(Likelihood(weight=0.001, over=Written("injected")),),
            injected="train",
            cases=(Case(over=Written("injected"), ratio=NoRatio(), gate=Shut()),),
        ),
        remember=(KeepRate(target=0.5),),
    ),
    scale=Scale(num_prompts=256, group_size=8, max_new=2048, learning_rate=1e-6, num_steps=400, num_minibatches=4),
    notes=(
        "Each of four rounds adds group_size answers to the group, which ends with 32. Answers with longer hints have "
        "higher advantages, because they share a baseline with answers without; the paper's baseline does the same.",
        "The paper puts the hint at the end of the question; here the hint begins the answer, so that the base model "
        "need not know what a hint is. Old and new log-probs are those of the tokens after the hint.",
        "The paper's formula for the imitation of the hint has a probability, its text says supervised: here the term "
        "is - gamma log pi.",
        "The curve is fitted to observed pass rates. Its start and bounds, the learning rate, the clip of 0.2, the "
        "form of the KL and the constant length are ours; rounds, target, batch, gamma, beta and the number of "
        "problems are the paper's.",
    ),
)
