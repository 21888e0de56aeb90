"""A rewriter corrects answers by few edits: what it would keep is the reward of tokens, what it edits is imitated."""

from assay.collect import Frozen
from assay.credit import Constant
from assay.curate import Untrained
from assay.methods.shaping.rlmec.edits import WeighEdits
from assay.methods.shaping.rlmec.rewriter import AskRewrites, ShowRewrites
from assay.methods.shaping.rlmec.tokens import ProcessAlone, RewriterTokens, Surrogate
from assay.objective import Case, Likelihood, NoRatio, Objective, Open, Shut, TokenMean, Written
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

IMITATE = Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train")
SHOWN = Mechanism(
    expand=(ShowRewrites(role="rewriter", most=0.5),),
    curate=(Untrained(role="policy"),),
    rules=(Rule("rewriter", credit=Constant(value=1.0), objective=IMITATE),),
)

RLMEC = Recipe(
    name="rlmec",
    title="Improving Large Language Models via Fine-grained Reinforcement Learning with Minimum Editing Constraint",
    paper="2401.06081",
    claim="token rewards of a model that rewrites solutions, and imitation of its edits: better than SFT, rejection "
    "sampling, DPO and PPO on four sets each of questions and mathematics, with 7B and 13B",
    missing="the teacher that wrote the rewrites, and the rewriter's second task, to name the first wrong step",
    tasks=("trace", "search-stream", "quantities"),
    mechanism=Mechanism(
        expand=(AskRewrites(role="rewriter"),),
        collect=(Frozen(model="reference"),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(Untrained(role="rewriter"), WeighEdits(same=0.5)),
        forwards=(RewriterTokens(role="rewriter", below=0.1),),
        credit=ProcessAlone(),
        objective=Objective(
            anchor="sampler",
            gate=Surrogate(low=0.3, high=0.3),
            cases=(Case(over=Written("injected"), ratio=NoRatio(), gate=Shut()),),
            aggregate=TokenMean(),
            extra=(Likelihood(weight=1.0, over=Written("injected"), mean="own"),),
            injected="train",
        ),
        rules=(Rule("rewriter"),),
    ),
    scale=Scale(num_prompts=32, group_size=4, max_new=1024, learning_rate=5e-6, num_steps=300, schedule="cosine"),
    models={"policy": Model(), "rewriter": Model(), "reference": Model(trained=False)},
    roles={"policy": "policy", "rewriter": "rewriter"},
    stages=(Stage("rewriter", share=0.4, mechanism=SHOWN), Stage("train", share=0.6)),
    notes=(
        "Token rewards, the clip of 0.3 to the policy that sampled, the denominator of tokens with a reward, weights 1 "
        "and 1/2 of edited and other tokens, equal weight of both losses and the rate are those of the published code; "
        "in it the rewriter learns at 2e-5, in three epochs. Scale and stages are ours.",
        "The frozen base writes all answers, as in the paper, whose answers are written once. The rewriter corrects "
        "each wrong one. Rewrites that the verifier accepts are imitated, and so are right answers as they are.",
        "In the paper another model writes the rewrites from which the rewriter learns. Here the right answer that is "
        "nearest to a wrong one, among the worked solution and the right answers of its group, is the rewrite; one "
        "that takes more edits than half of its tokens is left out. As many right answers teach it to change nothing.",
        "p - 1/2 tells good tokens from bad ones only if the rewriter's probabilities can be trusted: compare "
        "`rewriter/blamed`, the share of tokens of wrong answers that it blames, with how long mistakes are.",
    ),
    deviations=(
        "The published code finds edits by a walk that stops at the border, so that tokens inserted at the start weigh "
        "1/2, and that marks a kept token next to a deleted one; here the tokens that differ weigh 1.",
    ),
)
