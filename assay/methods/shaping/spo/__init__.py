"""One answer a prompt, compared with a stored value of the prompt; uncertain prompts are drawn more often."""

from assay.ask import LimitCalls
from assay.credit import Whiten
from assay.curate import StatisticsOnly
from assay.methods.shaping.spo.probe import Probe
from assay.methods.shaping.spo.tracked import TrackedValue
from assay.methods.shaping.spo.uncertain import Uncertain
from assay.methods.shaping.spo.values import TrackValues
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.scale import Scale

SPO = Recipe(
    name="spo",
    title="Single-stream Policy Optimization",
    paper="2509.13232",
    claim="one answer a prompt, compared with a stored value of the prompt: 3.4 points of maj@32 over GRPO on five "
    "mathematics benchmarks with Qwen3-8B, and pass@k above it for every k",
    mechanism=Mechanism(
        source=Uncertain(size=8192, floor=0.05),
        ask=(Probe(num=8),),
        curate=(StatisticsOnly(tag="probe"),),
        credit=TrackedValue(),
        shape=(Whiten(by="batch", over="rows", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
        remember=(TrackValues(half=0.06, least=0.875, most=0.96),),
    ),
    scale=Scale(num_prompts=1024, group_size=1, max_new=8192, learning_rate=1e-6, num_steps=200, num_minibatches=8),
    notes=(
        "Tracker, weights of prompts, normalisation, clip, batch, rate and length of answers are those of the "
        "published code (verl-recipe, spo). Ours: the number of problems and the steps. The published answers call a "
        "tool in up to 8 turns: `spo-tool` does.",
        "Two more forward passes a step, over the last answers and the new ones, measure how far the policy has "
        "drifted.",
        "Drawing uncertain prompts more often is not corrected for. The normalisation shifts the mean of the "
        "advantages.",
        "The verdict says whether an answer is right: the value is a pass rate.",
    ),
    deviations=(
        "The first estimate of a problem's value comes from 8 answers, which do not train, of the policy that first "
        "meets the problem; the published run takes them from its base model, before it starts. Without `probe` a new "
        "problem has the value 1/2.",
        "Prompts are drawn from the whole set; the published code draws them from a random batch of 14000, about as "
        "many as its set has.",
    ),
)

SPO_TOOL = Like(
    "spo",
    name="spo-tool",
    claim="the published setting: answers that compute with Python in up to 8 turns, each compared with the stored "
    "value of its prompt, whatever it took to write them",
    changes={"tasks": ("interpreter",), "mechanism.ask": (Probe(num=8), LimitCalls(most=8, tools=("python",)))},
    notes=(
        "8 turns are those of the published code. All other values are those of spo.",
        "Whitening counts an answer by its own tokens, without replies.",
    ),
)
