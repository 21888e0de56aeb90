"""A verifier learns by reinforcement to say whether a solver is right; its verdicts choose among several answers."""

from assay.credit import GAE, Constant, Whiten
from assay.curate import Untrained
from assay.methods.shaping.heimdall.verifier import AskVerdicts, ShowVerdicts, VerdictAgrees
from assay.objective import Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Like, Mechanism, Rule, Stage
from assay.scale import Model

SHOW = Mechanism(
    expand=(ShowVerdicts(role="policy", verifier="verifier", most=2),),
    curate=(Untrained(role="policy"),),
    rules=(
        Rule(
            "verifier",
            verified=False,
            reward=(VerdictAgrees(right=1.0, wrong=-1.0),),
            credit=Constant(value=1.0),
            objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
        ),
    ),
)

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
        "stages": (Stage("show", share=0.2, mechanism=SHOW), Stage("verify", share=0.8)),
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
        "The first stage, which is ours, shows the verifier in which form verdicts are given: by a coin, so that it "
        "learns nothing of the answers. Without it a small base never gives a verdict, and every reply earns -1. A "
        "model that follows instructions does not need it (`--stages.0.share 0`).",
        "The verdict is one token, + or - in compact wording. With `--mechanism.expand.0.length` the verifier may "
        "reason before it; its reply must end with the verdict.",
        "`assay bank vote` chooses among the answers of a sample bank by these verdicts: by their mean, less "
        "alpha ln(V) / (V_a + 1) for an answer that V_a of all V verdicts are on (pessimistic).",
    ),
)
