"""Losses on pairs and labels that verdicts make of the answers of a frozen policy."""

import dataclasses

from assay.collect import Frozen
from assay.credit import GroupRelative
from assay.methods.preferences.losses import DPO as DPOLoss
from assay.methods.preferences.losses import IPO as IPOLoss
from assay.methods.preferences.losses import KTO as KTOLoss
from assay.methods.preferences.pairs import Mismatch, Pairs, TrainAt
from assay.objective import NoRatio, Objective, Open
from assay.part import Curator, WholeLoss
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale


def _mechanism(whole: WholeLoss, *curate: Curator) -> Mechanism:
    return Mechanism(
        collect=(Frozen(model="reference"),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(TrainAt(temperature=1.0), *curate),
        credit=GroupRelative(scale="none"),
        objective=Objective(whole=whole, ratio=NoRatio(), gate=Open()),
    )


FROM_VERDICTS = (
    "All answers are those of the frozen reference, fresh in every step; a right one is preferred to a wrong one of "
    "its group. Log-probs are those of temperature 1, whatever was sampled at.",
    "The loss reads verdicts; the advantage is shown beside it. The scale is ours but for batch and rate.",
)

DPO = Recipe(
    name="dpo",
    title="Direct Preference Optimization: Your Language Model is Secretly a Reward Model",
    paper="2305.18290",
    claim="preferences are learnt without a reward model or sampling as well as with PPO",
    mechanism=_mechanism(DPOLoss(beta=0.1), Pairs(most=1)),
    scale=Scale(num_prompts=64, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=150, warmup_steps=15),
    models={"policy": Model(), "reference": Model(trained=False)},
    notes=(
        *FROM_VERDICTS,
        "A prompt gives one pair a step, so that 64 prompts are the paper's batch of 64 pairs where all are mixed.",
        "Sums over tokens: beta and what saturates scale with the length. Truncated answers are no losers.",
        "Winners become less likely too, as long as losers fall faster; `iter-dpo` adds their likelihood.",
    ),
)

ITER_DPO = Recipe(
    name="iter-dpo",
    title="Iterative Reasoning Preference Optimization",
    paper="2404.19733",
    claim="rounds of pairs from verdicts with the winner's likelihood: GSM8K from 55.6 to 81.6 with Llama-2-70B-chat",
    mechanism=_mechanism(DPOLoss(beta=0.1, likelihood=1.0), Pairs(most=10)),
    scale=Scale(
        num_prompts=16,
        group_size=30,
        max_new=1024,
        learning_rate=7e-7,
        num_steps=400,
        num_minibatches=10,
        temperature=0.8,
    ),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    stages=tuple(Stage(f"round {number}", optimiser="reset") for number in (1, 2, 3, 4)),
    notes=(
        *FROM_VERDICTS,
        "A stage is a round: it begins with the policy of the round before as reference and as the one that answers.",
        "30 answers, 10 pairs, beta, the likelihood's weight, four rounds, the rate and the 16 pairs of an update are "
        "the paper's for GSM8K (3.1), which goes on with temperature 1.3 after two rounds, has the worked solutions "
        "among the winners and chooses how long a round is, up to 5000 updates. num_steps and rounds of equal length "
        "are ours.",
        "The likelihood is that of the winner by its length, a mean over pairs.",
    ),
    deviations=("TRL's likelihood term is a mean over the tokens of the batch: long winners weigh more.",),
)

IPO = dataclasses.replace(
    DPO,
    name="ipo",
    title="A General Theoretical Paradigm to Understand Learning from Human Preferences",
    paper="2310.12036",
    claim="a margin that is regressed does not run away where preferences are certain",
    mechanism=_mechanism(IPOLoss(tau=0.1), Pairs(most=1)),
    notes=(
        *FROM_VERDICTS,
        "Means over tokens are the form behind the published numbers; the formula prints sums. The margin goes to "
        "1 / (2 tau) = 5 nats a token, far beyond what verdict pairs allow: it never saturates.",
        "What prime-rl calls ipo is a mask by probability difference, another method.",
    ),
)

KTO = dataclasses.replace(
    DPO,
    name="kto",
    title="KTO: Model Alignment as Prospect Theoretic Optimization",
    paper="2402.01306",
    claim="labels without pairs match preferences from 1B to 30B parameters",
    mechanism=_mechanism(KTOLoss(beta=0.1, balance=1.0), Mismatch()),
    notes=(
        *FROM_VERDICTS,
        "Groups that are all wrong or all right teach too.",
        "The level is the mean over all answers put under another question of the step; no such answer is trained.",
        "The paper sets the weights of the two kinds so that their totals are 1 to 4/3 to 1, over its data; here the "
        "kinds are counted in every optimiser step, because their shares are those of verdicts.",
    ),
    deviations=("The level of a batch of one is the row's own reward in some implementations.",),
)
