"""The policy also learns to judge its own answers, by Yes or No; its verdicts weigh the vote of several answers."""

from assay.methods.rl_v.verdicts import VERDICT, OwnVerdicts, VoteByVerdicts
from assay.objective import Likelihood, Tagged
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
        "mechanism.objective.regularise": (),
        "mechanism.objective.extra": (Likelihood(weight=1.0, over=Tagged(VERDICT), mean="own"),),
    },
    notes=(
        "L = L_GRPO - lambda mean log pi(z | v(x, y)): z is the true verdict, one token, and v the question whether "
        "the answer y is right. The answer is read there and not trained. Both terms are of one update.",
        "lambda = 1, as many right answers as wrong ones, one pass over the verdicts and no KL penalty are ours: the "
        "paper says little of them. The scale is that of `grpo`.",
        "To put verdicts beside another method, give it `own-verdicts` of `curate` and the extra term `likelihood` "
        "over `tagged` verdict.",
        "`assay bank vote` lets a policy's verdicts weigh the votes of a sample bank.",
        "In compact wording the verdicts are + and -.",
    ),
)
