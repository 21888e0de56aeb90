"""Rounds of DPO, each with the policy of the round before as reference, and with the likelihood of the winner."""

from assay.curate import Pairs, TrainAt
from assay.objective.preference import FROM_VERDICTS
from assay.recipe import Like, Stage
from assay.scale import Model, Scale

ITER_DPO = Like(
    "dpo",
    name="iter-dpo",
    title="Iterative Reasoning Preference Optimization",
    paper="2404.19733",
    claim="rounds of pairs from verdicts with the winner's likelihood: GSM8K from 55.6 to 81.6 with Llama-2-70B-chat",
    missing="worked solutions among the winners, a temperature of 1.3 after two rounds, and rounds whose length is "
    "chosen",
    changes={
        "mechanism.objective.whole.likelihood": 1.0,
        "mechanism.curate": (TrainAt(temperature=1.0), Pairs(most=10)),
        "scale": Scale(
            num_prompts=16,
            group_size=30,
            max_new=1024,
            learning_rate=7e-7,
            num_steps=400,
            num_minibatches=10,
            temperature=0.8,
        ),
        "models": {"policy": Model(), "reference": Model(trained=False, start="policy")},
        "stages": tuple(Stage(f"round {number}", optimiser="reset") for number in (1, 2, 3, 4)),
    },
    notes=(
        *FROM_VERDICTS,
        "A stage is a round: the policy at its beginning is the reference and the sampler of the whole round.",
        "30 answers, 10 pairs, beta, the weight of the likelihood, four rounds, the rate and the 16 pairs of an "
        "update are the paper's for GSM8K (3.1). The paper also raises the temperature to 1.3 after two rounds, has "
        "worked solutions among the winners and chooses the length of each round, up to 5000 updates. num_steps and "
        "rounds of equal length are ours.",
        "The likelihood term is the winner's log-prob divided by its length, averaged over pairs.",
    ),
    deviations=("TRL's likelihood term is a mean over the tokens of the batch, so that long winners weigh more.",),
)
