"""The rule decides first, and a judge only on what the rule refuses; answers much longer than the reference cost."""

from assay.methods.shaping.spec_verifier.length import CloseLength
from assay.recipe import Like
from assay.reward import Cascade, JudgedByReference, Outcome

SPEC_VERIFIER = Like(
    "grpo",
    name="spec-verifier",
    title="General-Reasoner: Advancing LLM Reasoning Across All Domains",
    paper="2505.14652",
    claim="a model that compares the answer with the reference replaces rules where notation varies: hand-labelled "
    "hard cases go from 82.7% to 99.3% right with a thinking verifier (2504.13914)",
    changes={
        "mechanism.reward": (
            Cascade(first=Outcome(), then=JudgedByReference(right=1.0, wrong=0.0, missing=-0.5), accepts=1.0),
            CloseLength(cost=0.05, most=10),
        )
    },
    notes=(
        "The judge is any OpenAI-compatible endpoint (ASSAY_JUDGE_URL, ASSAY_JUDGE_MODEL, ASSAY_JUDGE_KEY).",
        "-0.5 without an answer, and 0.05 for each token of difference up to 10, are from memory.",
        "The rule first, and the judge on the rest, is the hybrid of 2505.22203: a judge alone is hacked in training.",
    ),
    missing="the verifier of the paper, a model of 1.5B of its own",
)
