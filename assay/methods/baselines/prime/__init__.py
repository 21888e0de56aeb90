"""A process model, which learns from outcomes while the policy trains, gives every token a reward."""

from assay.collect import Refill
from assay.credit import Whiten
from assay.curate import BandFirst
from assay.methods.baselines.prime.credit import ProcessLeaveOneOut
from assay.methods.baselines.prime.implicit import ImplicitProcess
from assay.objective import Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

PRIME = Recipe(
    name="prime",
    title="Process Reinforcement through Implicit Rewards",
    paper="2502.01456",
    claim="a process model that learns online from outcomes alone: 2.5 times the sample efficiency of outcome "
    "rewards, and 15.1 points over the SFT model with 7B",
    mechanism=Mechanism(
        expand=(Refill(max_rounds=4),),
        curate=(BandFirst(low=0.2, high=0.8, cut=False),),
        forwards=(
            ImplicitProcess(model="process", reference="process-reference", beta=0.05, rate=2.0, clip_norm=10.0),
        ),
        credit=ProcessLeaveOneOut(outcome=5.0, process=5.0),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(Entropy(weight=0.001),)),
    ),
    scale=Scale(num_prompts=64, group_size=4, max_new=3072, learning_rate=5e-7, num_steps=500),
    models={
        "policy": Model(),
        "process": Model(learns_first=True),
        "process-reference": Model(trained=False),
    },
    notes=(
        "Values are those of the script that the authors released in verl; num_steps is ours.",
        "Groups with a pass rate from 0.2 to 0.8 and no cut answer come first; other groups fill the step. Problems "
        "are drawn until enough groups are mixed (of four answers, those within the band), at most four times.",
        "beta applies to each token, and the cross entropy uses the sum over an answer. Where answers are a hundred "
        "times shorter, beta is a hundred times larger. With beta 0.05 and 16 tokens, the process model would have to "
        "move 10 nats a token to be sure of an outcome; it moves on tokens that are never sampled, and the policy "
        "follows it there.",
        "The process model is updated before it gives its rewards; learns_first=no is the cheaper order.",
        "Process rewards are divided by the largest return (sum of the rewards to come). Whitening removes all scales "
        "afterwards, so that only the relation of the two coefficients matters.",
        "For token rewards the baseline is not exactly leave-one-out, because the mean of the answer itself counts in "
        "it.",
        "The paper starts from a model fine-tuned on traces: take a base whose tasks are those of the pool.",
    ),
    deviations=(
        "The release samples four times the prompts at once, and throws away those beyond the batch.",
        "The script names a KL of 0.001 in the reward, but its trainer adds only process and outcome rewards, so "
        "there is none. The release's configuration has the entropy bonus of 0.001.",
    ),
)
