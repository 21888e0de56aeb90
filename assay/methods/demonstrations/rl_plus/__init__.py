"""LUFFY with an importance ratio to a mixture of policies, and larger gradients for unlikely tokens."""

from assay.methods.demonstrations.rl_plus.policy import Focal, MixedBehaviour
from assay.objective import Case, Written
from assay.recipe import Like

RL_PLUS = Like(
    "luffy",
    name="rl-plus",
    title="RL-PLUS: Countering Capability Boundary Collapse of LLMs in Reinforcement Learning with Hybrid-policy "
    "Optimization",
    paper="2508.00222",
    claim="the ratio of an external trace to a mixture of policies, and more weight for right but unlikely tokens: "
    "53.4 on average with Qwen2.5-Math-7B, LUFFY 50.1, SFT and GRPO 48.2, and pass@k curves stay above the base "
    "model's",
    changes={
        "mechanism.objective.cases": (Case(over=Written("injected"), ratio=MixedBehaviour(), gate=Focal(gamma=0.5)),),
    },
    notes=(
        "Values are those of the published code; num_steps is ours.",
        "The second half of the estimate of the trace's author gives probability 1 to the author's own token, not 1 / "
        "V, as in the code.",
        "pi_old is constant; only the numerator of the ratio moves. At pi = pi_old the ratio is at most 1.",
    ),
    deviations=("The paper divides the advantage of the trace by the group's standard deviation; its code does not.",),
)
