"""The policy learns, by imitation, to criticise many answers to a single problem, and is then asked to solve others."""

from assay.ask import Rehearse
from assay.credit import Constant
from assay.curate import NoTraining
from assay.memory import HoldTagged
from assay.methods.demonstrations.cft_1.critique import CRITIQUE, Criticise, OneProblem
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Scale
from assay.stages import Threshold

WRITE = Mechanism(
    source=OneProblem(),
    expand=(Criticise(most=100),),
    curate=(NoTraining(),),
    remember=(HoldTagged(tag=CRITIQUE),),
)
WRITTEN = Threshold("reward/accuracy", least=0.0, window=1)  # met after one step, whatever the accuracy

CFT_1 = Recipe(
    name="cft-1",
    title="Unleashing the Reasoning Potential of Pre-trained LLMs by Critique Fine-Tuning on One Problem",
    paper="2506.03295",
    claim="critiques of many answers to one problem raise Qwen2.5-Math-7B by 15% on six mathematics and 16% on three "
    "logic benchmarks, in 5 GPU hours",
    missing="critiques by several strong teachers, answers by some ten models, and the choice of the best checkpoint "
    "on problems held out for it",
    mechanism=Mechanism(
        ask=(Rehearse(name=CRITIQUE),),
        credit=Constant(value=1.0),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
    ),
    scale=Scale(
        num_prompts=1,
        group_size=512,
        max_new=4096,
        learning_rate=5e-6,
        num_steps=60,
        schedule="cosine",
        warmup_steps=3,
        weight_decay=0.05,
    ),
    stages=(Stage("write", share=6, mechanism=WRITE), Stage("study", share=54, when=WRITTEN)),
    notes=(
        "Rate, schedule, 5% of warm-up, weight decay and batches of 512 are those of the released script. It allows 50 "
        "epochs of some 600 critiques, which are about 60 steps.",
        "In the paper strong models criticise about a hundred answers of ten models. Here the policy writes the "
        "answers, in one step that trains on nothing, and a script criticises the first hundred different ones: which "
        "line first differs from the worked solution, and how that line reads; or that the answer is right. A wrong "
        "answer that takes another way is criticised where it leaves the worked one.",
        "The rest of the run imitates these critiques, over the tokens of the critique alone. The exam asks the policy "
        "to solve problems, as before.",
        "Critiques are no answers to the problem: reward and accuracy during the study say nothing.",
        "Dozens of epochs of few texts overfit: look at the curve of the held-out problems.",
        "A model that was trained from scratch on solutions alone has nothing to be unlocked.",
    ),
)
