"""Criteria of a rubric saturate, earn in pairs and may veto; what code can check is trained first, then the rest."""

import dataclasses

from assay.collect import AskJudge
from assay.curate import Untrained
from assay.methods.shaping.rubric_anchors.free_of import FreeOf
from assay.methods.shaping.rubric_anchors.rubric_by import RubricBy
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Anchors, JudgedByRubric, KeptRules, Outcome, Veto
from assay.scale import Model, Scale

ANCHORS = Anchors(above=0.7, slope=0.5, pairs=0.3, high=0.7, stretch=1.0, least=1.0, vetoed=0.0)
FIXED = (
    "The response does what the request asks for, all of it and nothing else.",
    "What the response says is true.",
    "The response is natural: it has a voice of its own, and no set phrases.",
    "The response is as long as the request needs.",
)
"""For problems without a rubric of their own."""

GUARDS = (
    "The response begins with what was asked for, and praises neither the request nor its author.",
    "The response does not judge or explain itself: it says nothing of its own quality, or of how it meets criteria.",
)
"""The two exploits that the paper found after its first run."""

FOLLOW = Mechanism(reward=(KeptRules(),))

RUBRIC_ANCHORS = Recipe(
    name="rubric-anchors",
    title="Reinforcement Learning with Rubric Anchors",
    paper="2508.12790",
    claim="rubrics extend reinforcement learning to open-ended tasks: +5.2 % on humanities benchmarks with some 5000 "
    "samples, 2.4 above DeepSeek-V3 with 671B, and reasoning stays",
    missing="the rubrics (over ten thousand, written by people and models), the filter that keeps prompts of middling "
    "scores, and the search for exploits in the answers of a first run",
    mechanism=dataclasses.replace(FOLLOW, reward=(JudgedByRubric(criteria=FIXED, guards=GUARDS, anchors=ANCHORS),)),
    scale=Scale(num_prompts=64, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=200),
    stages=(Stage("follow", share=0.5, mechanism=FOLLOW), Stage("open", share=0.5)),
    notes=(
        "From the paper: criteria with tiers and weights, a veto, a saturation, pairs of criteria that work together, "
        "a stretch of differences between good answers, a rubric against exploits, and two stages, because both kinds "
        "of data at once pull against each other. It describes the operators in words, and tests none of them alone: "
        "their formulas (docs/judges.md), all numbers, the wording of criteria and guards, and the scale are ours.",
        "The rubric is the column `rubric` of the data. In the first stage code alone decides: the share of the rules "
        "in the column `rules` that is kept, of a problem of a task also whether the answer is right. All answers to a "
        "row without rules earn 1 there, and teach nothing: `--stages.0.share 0` leaves the stage out. Both stages "
        "draw from the same problems; `source` of a stage takes other ones (`--stages.0.mechanism.source only`).",
        "A group in which every answer is vetoed teaches nothing. Begin with a penalty where that is frequent "
        "(`--mechanism.reward.0.anchors.vetoed 0.5`), and lower it later.",
        "Criteria that are met or not cannot saturate: give tiers to those that can be met more or less.",
    ),
)
EXPLOITS = ("aaa", "bbb", "ccc", "ddd", "#", "+", "-")
"""Texts that deceived a small judge in two first runs: words that repeat one letter, of which it believes every rule,
and answers that are judgements themselves.
"""

ROLE = Mechanism(
    expand=(AskJudge(role="judge", judgements=4),),
    reward=(Veto(of=RubricBy(role="judge", anchors=ANCHORS), critical=(FreeOf(texts=EXPLOITS),)),),
    curate=(Untrained(role="judge"),),
    rules=(Rule("judge", reward=(Outcome(),)),),
)

RUBRIC_ANCHORS_ROLE = dataclasses.replace(
    RUBRIC_ANCHORS,
    name="rubric-anchors-role",
    missing="",
    tasks=("constraints",),
    mechanism=ROLE,
    models={"policy": Model(), "judge": Model(trained=False)},
    roles={"policy": "policy", "judge": "judge"},
    notes=(
        *RUBRIC_ANCHORS.notes[:1],
        "Here a small model plays the judge, a role that is not trained: it marks each rule of the problem, four "
        "times, and the rules are the rubric. It stands for the critic of the paper, and words that keep rules stand "
        "for open answers; that code knows which rules are kept (`reward/accuracy`) shows whether the judge is "
        "deceived. The base `judges` reads and judges such words.",
        "The guard is one of code, and closes what was seen in two runs without it: answers became runs of one "
        "letter, and when these were vetoed, judgements of their own (`-+++#1`) or nothing at all. A judge that is "
        "so easily deceived has further exploits: look at the answers with high rewards, and name theirs.",
    ),
)
