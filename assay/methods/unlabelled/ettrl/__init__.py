"""Votes over trees that fork at tokens of high entropy, and smaller advantages for answers that were sure too soon."""

from assay.ask import Trunks
from assay.collect import Fork
from assay.methods.unlabelled.ettrl.relative_entropy import RelativeEntropy
from assay.recipe import Like

ETTRL = Like(
    "ttrl",
    name="ettrl",
    title="ETTRL: Balancing Exploration and Exploitation in LLM Test-Time Reinforcement Learning Via Entropy Mechanism",
    paper="2508.11356",
    claim="forks at tokens of high entropy and advantages reshaped by entropy: 68% more on AIME 2024 than TTRL with "
    "Llama3.1-8B, with 60% of the tokens",
    missing="the paper's own function of the entropy, and how it grows its trees: forms of ours take their places",
    changes={
        "tasks": ("mod-chain-7",),  # answers of one digit, on which votes agree
        "mechanism.ask": (Trunks(share=0.25),),
        "mechanism.expand": (Fork(places=1, branches=3, rounds=1, by="entropy", among=3, letters=0),),
        "mechanism.curate": (),
        "mechanism.shape": (RelativeEntropy(bound=0.2),),
    },
    notes=(
        "A quarter of the answers are trunks, and each forks once into three branches; whole groups vote and train. "
        "What branches share trains in each of them: `--mechanism.curate own-tokens` trains it once.",
        "f(H) = clip(H_i / mean_g H, 0.8, 1.2), H_i the mean entropy of an answer: the form and all values are ours, "
        "because of the paper only its idea was at hand. The rest is that of ttrl.",
    ),
)
