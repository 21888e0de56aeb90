"""A solver's findings are the reward: form, solved or not, the right program, its values; KL on the program alone."""

import dataclasses

from assay.credit import GAE, Whiten
from assay.methods.verified.sirl.rewards import Formed, Overlap, Ran, Voted
from assay.methods.verified.sirl.span_kl import SpanKL
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

FIRST = Mechanism(
    reward=(Formed(weight=0.5), Ran(weight=1.0), Outcome(right=1.0, wrong=0.0)),
    forwards=(SpanKL(weight=5e-4),),
    credit=GAE(gamma=1.0, lam=1.0),
    shape=(Whiten(by="batch", ddof=0, epsilon=1e-8),),
    objective=Objective(gate=Clip(low=0.2, high=0.3), aggregate=TokenMean()),
)
SECOND = dataclasses.replace(FIRST, reward=(Ran(weight=1.0), Outcome(right=1.0, wrong=0.0), Overlap(weight=1.0)))

SIRL = Recipe(
    name="sirl",
    title="Solver-Informed RL: Grounding Large Language Models for Authentic Optimization Modeling",
    paper="2505.11792",
    claim="rewards from the solver's object, and a KL penalty on the program alone, teach a model of 7B parameters to "
    "model optimisation problems better than DeepSeek-V3 does on NL4OPT and MAMO",
    missing="solver code in Python; the bonus of the paper's text for advanced modelling",
    tasks=("linear-program",),
    mechanism=SECOND,
    scale=Scale(num_prompts=32, group_size=16, max_new=8192, learning_rate=1e-6, num_steps=200),
    models={"policy": Model(), "reference": Model(trained=False)},
    stages=(
        Stage("form and optimum", mechanism=FIRST),
        Stage("optimum and values"),
    ),
    notes=(
        "Values are those of the published code: 32 prompts with 16 answers, beta 0.0005, clip 0.2 and 0.3, first the "
        "rewards of the form, of a run and of the answer, then without the form and with the overlap of values. 200 "
        "steps are ours.",
        "The answer is a program in LP format, which HiGHS solves; the published code runs Python with Gurobi or COPT.",
        "The overlap counts only for right answers, by name, without variables that are 0 in both: another optimum of "
        "the same worth has other values.",
    ),
    deviations=(
        "The answer's reward asks for a program equal to the reference in exact fractions. The published code compares "
        "optima alone, which a program that holds the optimum fixed also has.",
        "The form counts the mark of the answer and whether it can be read, with 0.5 each; the published code counts "
        "six tags, with up to 1.",
        "The published code tests an optimum for truth, so that an optimum of 0 never scores; here it does.",
        "In the published code the mask of the KL is the loss mask, edited in place; here the loss keeps all tokens.",
    ),
)

SIRL_VOTE = dataclasses.replace(
    SIRL,
    name="sirl-vote",
    claim="labels that programs elect by optimum, direction and kinds of variables are right more often than labels by "
    "the optimum alone",
    mechanism=dataclasses.replace(FIRST, reward=(Formed(weight=0.5), Ran(weight=1.0), Voted(right=1.0, wrong=0.0))),
    stages=(Stage(),),
    notes=("Values are those of sirl. No reference is read: the answers of a group elect the label.",),
    deviations=(
        "The paper elects labels for training data before training, among programs of several prompts; here the "
        "answers of a group elect the label of their question at each step.",
    ),
)
