"""The policy also learns to judge its own answers, by Yes or No; its verdicts weigh the vote of several answers."""

from assay.methods.shaping.rl_v.own_verdicts import VERDICT, OwnVerdicts, VoteByVerdicts
from assay.objective import KL, Likelihood, Tagged
from assay.recipe import Like

RL_V = Like(
    "grpo",
    name="rl-v",
    title="Putting the Value Back in RL: Better Test-Time Scaling by Unifying LLM Reasoners With Verifiers",
    paper="2505.04842",
    claim="verdicts that are learnt beside GRPO, leave-one-out PPO or VinePPO raise accuracy on MATH by more than 20 % "
    "over the same method when answers vote, and save 8 to 32 times the computation at test time",
    missing="longer answers until the verdicts agree",
    changes={
        "mechanism.curate": (OwnVerdicts(role="policy"),),
        "mechanism.forwards": (VoteByVerdicts(role="policy"),),
        "mechanism.objective.regularise": (KL(weight=0.04, estimator="k3", over=Tagged("")),),
        "mechanism.objective.extra": (Likelihood(weight=0.02, over=Tagged(VERDICT), mean="own"),),
    },
    notes=(
        "L = L_GRPO - lambda mean log pi(z | v(x, y)): z is the true verdict, one token, and v the question whether "
        "the answer y is right. The answer is read there and not trained. Both terms are of one update.",
        "lambda = 0.02, as many right answers as wrong ones, and one pass over the verdicts are ours: the paper says "
        "little of them. The KL penalty, on answers alone, and the scale are those of `grpo`.",
        "A small policy that never read the question for a verdict has a large gradient there at first, which is cut "
        "together with that of the answers. On countdown accuracy went from 0.24 to 0 in 20 steps with lambda = 1 and "
        "no KL penalty, and to 0.06 for a while with 0.1. A model that knows the question can have a larger weight.",
        "To put verdicts beside another method, give it `own-verdicts` of `curate` and the extra term `likelihood` "
        "over `tagged` verdict.",
        "`assay bank vote` lets a policy's verdicts weigh the votes of a sample bank.",
        "In compact wording the verdicts are + and -.",
    ),
)
