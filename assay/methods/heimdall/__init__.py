"""A verifier learns by reinforcement to say whether a solver is right; its verdicts choose among several answers."""

from assay.credit import GAE, Whiten
from assay.curate import Untrained
from assay.methods.heimdall.verifier import AskVerdicts, VerdictAgrees
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Like, Rule
from assay.scale import Model

HEIMDALL = Like(
    "ppo",
    name="heimdall",
    title="Heimdall: test-time scaling on the generative verification",
    paper="2504.10337",
    claim="a verifier with long reasoning, trained by PPO: from 62.5 to 94.5 % right verdicts on problems of "
    "competitions; AIME 2025 with R1-Distill-Qwen-32B from 54.2 to 70.0 % at 16 times the computation",
    missing="a solver other than the weights that the verifier starts from, and the search for flawed problems",
    changes={
        "mechanism.expand": (AskVerdicts(role="policy", verifier="verifier", most=2, length=1),),
        "mechanism.curate": (Untrained(role="policy"),),
        "mechanism.rules": (
            Rule(
                "verifier",
                verified=False,
                reward=(VerdictAgrees(right=1.0, wrong=-1.0),),
                credit=GAE(gamma=1.0, lam=1.0),
                shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
                objective=Objective(gate=Clip(low=0.2, high=0.2, dual=3.0), aggregate=TokenMean()),
            ),
        ),
        "models": {"policy": Model(), "solver": Model(trained=False), "critic": Model(output="value")},
        "roles": {"policy": "solver", "verifier": "policy"},
        "scale.num_prompts": 128,
        "scale.group_size": 8,
    },
    notes=(
        "The reward is 1 for a verdict that is that of the task, and -1 for any other reply. The mean of it, "
        "`reward/verdict-agrees/mean`, is twice the accuracy of verdicts less 1, and they are balanced.",
        "Problems whose answers are all right or all wrong are left out, and of the others as many right answers as "
        "wrong ones are asked about. Both are the paper's; two of each, PPO and the scale are ours.",
        "The weights that are trained and saved are those of the verifier (`policy` in `models`); the answers are "
        "those of the frozen base, `solver`. So `eval/` says what training as a verifier does to the solver in it.",
        "The verdict is one token, + or - in compact wording. With `--mechanism.expand.0.length` the verifier may "
        "reason before it; its reply must end with the verdict.",
        "`assay bank vote` chooses among the answers of a sample bank by these verdicts: by their mean, less "
        "alpha ln(V) / (V_a + 1) for an answer that V_a of all V verdicts are on (pessimistic).",
    ),
)
