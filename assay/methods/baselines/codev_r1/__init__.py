"""Verilog by equivalence with a reference; each round draws as many prompts as the share of mixed groups calls for."""

from assay.methods.baselines.codev_r1.draw import AdaptiveRefill, FirstDraw, TrackMixed
from assay.recipe import Like
from assay.reward import Outcome, SoftOverlong

CODEV_R1 = Like(
    "dapo",
    name="codev-r1",
    title="CodeV-R1: Reasoning-Enhanced Verilog Generation",
    paper="2505.24183",
    claim="the 7B model reaches 68.6 on VerilogEval v2 and 72.9 on RTLLM v1.1, 12 to 20 points above what there was; "
    "drawing as many prompts as the share of mixed groups calls for saves about a quarter of the time",
    missing="the synthesis of data by describing code and writing it anew, and supervised training on 87,000 answers "
    "of a larger model, whose circuits a testbench found equal to their references",
    changes={
        "mechanism.collect": (FirstDraw(most=10),),
        "mechanism.expand": (AdaptiveRefill(most=10),),
        "mechanism.remember": (TrackMixed(estimate="minimum"),),
        "mechanism.reward": (Outcome(right=1.0, wrong=0.0), SoftOverlong(buffer=1024, factor=1.0)),
        "mechanism.objective.gate.dual": None,
        "scale.num_prompts": 128,
        "scale.group_size": 16,
        "scale.max_new": 16384,
        "scale.oversample": 1,
        "scale.num_minibatches": 2,
        "scale.warmup_steps": 0,
        "scale.weight_decay": 0.0,
        "scale.clip_norm": 0.5,
    },
    notes=(
        "The saving of a quarter is from memory. Warm-up, weight decay and the number of steps are ours.",
        "The reward is the verdict on a module: the task `verilog` compares it with a reference, by simulation and "
        "then by SAT, or by all states of a circuit with a clock. The paper simulates alone, with random inputs.",
        "A running minimum never rises again when problems become easier; estimate='average' does.",
    ),
    deviations=(
        "Within a step the share is that of all rounds so far; the published code takes the least share after any "
        "round.",
        "When ten times the prompts of a step are drawn, the step trains on the groups it has.",
    ),
)
