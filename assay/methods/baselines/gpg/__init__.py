"""Policy gradient without a ratio; a factor makes up for groups of equal rewards, and problems are drawn anew."""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import BandFirst
from assay.methods.baselines.gpg.contributing import Contributing
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GPG = Recipe(
    name="gpg",
    title="GPG: A Simple and Strong Reinforcement Learning Baseline for Model Reasoning",
    paper="2504.02546",
    claim="the plain policy gradient over the rows that have a gradient: 48.3 on five mathematics sets with "
    "Qwen2.5-Math-7B, GRPO 43.7",
    mechanism=Mechanism(
        expand=(Refill(max_rounds=20, wanted="mixed", share=0.6),),
        curate=(BandFirst(low=1e-6, high=1 - 1e-6, cut=True),),
        credit=GroupRelative(scale="none"),
        shape=(Contributing(),),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=1024, learning_rate=2e-6, num_steps=500, warmup_steps=50),
    notes=(
        "The best row of the paper's table 1, on MATH: no division by the standard deviation, the factor B / (B - M), "
        "and sampling until 0.6 of the groups are mixed (0.5 in the code; 0.8 in the appendix, 48.6). Answers, "
        "length, rate and a tenth of the steps as warm-up are those of the configuration for it in AMAP-ML/GPG "
        "(open-r1, config_simple_rl_gpg). num_prompts and num_steps are ours; the paper's longer run has 144 prompts, "
        "a rate of 1e-6 and 1100 steps.",
        "Mixed groups come first and other groups fill the step, after at most 20 rounds of sampling, as in the code.",
        "The mean runs over all tokens of the step; the factor counts rows.",
        "There is no ratio, because each batch has one update.",
    ),
    deviations=(
        "If 20 rounds do not reach the share of mixed groups, the published code stops with an error; here the step "
        "trains on the groups it has.",
        "verl's factor is the number of rows over the number of rows whose reward is not 0: with rewards 1 and 0 that "
        "is one over the success rate, with 1 and -1 it is always 1.",
    ),
)
