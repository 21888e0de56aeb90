"""Token rewards come from a process model that learns from outcomes while the policy trains."""

from assay.collect import Refill
from assay.credit import Whiten
from assay.curate import BandFirst
from assay.methods.prime.credit import ProcessLeaveOneOut
from assay.methods.prime.implicit import ImplicitProcess
from assay.objective import Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

PRIME = Recipe(
    name="prime",
    title="Process Reinforcement through Implicit Rewards",
    paper="2502.01456",
    claim="a process model that learns online from outcomes alone: 2.5 times the sample efficiency of outcome rewards, "
    "and 15.1 points over the SFT model with 7B",
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
        "Groups with 0.2 to 0.8 right answers, none of them cut, come first; others fill the step. Problems are drawn "
        "anew until enough groups are mixed (of four answers, those within the band), at most four times.",
        "beta is of each token, and what the cross entropy sees is the sum: where answers are a hundred times shorter "
        "it is a hundred times larger. With 0.05 and 16 tokens the model would have to move 10 nats a token to be sure "
        "of an outcome; it takes them where nothing is sampled, and the policy follows it there.",
        "The process model is updated before it says its rewards; learns_first=no is the cheaper order.",
        "Process rewards are divided by the largest sum of those to come; whitening takes all scales away, so that "
        "only the relation of the two coefficients means something.",
        "For token rewards the baseline is not leave-one-out: the own answer's mean is in it.",
        "The paper starts from a model tuned on traces: take a base whose tasks are those of the pool.",
    ),
    deviations=(
        "The release draws four times the prompts at once, and then throws away what is too much.",
        "The script names a KL of 0.001 in the reward, but its trainer adds only the process and the outcome: there is "
        "none. Its configuration has the entropy bonus of 0.001.",
    ),
)
