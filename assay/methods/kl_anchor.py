"""What the KL term is measured from decides what it means: near to the start, small steps, or something in between."""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.memory import Follow
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale
from assay.stages import Plateau

KL_REFERENCE = Like(
    "grpo",
    name="kl-reference",
    changes={"mechanism.objective.regularise": (KL(weight=0.04, estimator="weighted-k3", anchor="reference"),)},
    title="On a few pitfalls in KL divergence gradient estimation for RL",
    paper="2506.09477",
    claim="GRPO's term does not have the gradient of the KL that it reports; weighted by the ratio it has, off policy "
    "too",
    notes=(
        "GRPO with all its values and another estimator: the default of `kl`. The others are there by name, k2 is "
        "right on policy, k3 is GRPO's.",
        "Where the reference is fixed the optimum is ref exp(R / weight) / Z: the odds of a right answer rise by at "
        "most exp(1 / weight).",
    ),
    deviations=(
        "TRL, verl: k3 without the ratio by default. Its gradient is that of KL(reference, policy).",
        "verl holds k3 in [-10, 10] and OpenRLHF every estimator: beyond, the gradient is 0 where the pull is needed "
        "most.",
        "NeMo-RL multiplies by exp(log pi - sg[log pi]), the ratio of a policy that has not moved.",
    ),
)

KL_OLD = Like(
    "grpo",
    name="kl-old",
    title="Proximal Policy Optimization Algorithms (the penalty)",
    paper="1707.06347",
    claim="a penalty on the step in place of a clip: it says how far a step goes, and remembers no start",
    changes={
        "mechanism.objective": Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=TokenMean(),
            regularise=(KL(weight=1.0, estimator="weighted-k3", anchor="old"),),
        ),
        "scale.num_minibatches": 4,
    },
    notes=(
        "The divergence from the policy before the step, for each token. Weight 1 is the middle of the paper's fixed "
        "ones (0.3, 1, 3); beside it GRPO's clip stays. Four mini-batches and the token mean are ours.",
        "It has no gradient at the first of the updates.",
    ),
)

KL_EMA = Like(
    "grpo",
    name="kl-ema",
    title="Learn Your Reference Model for Real Good Alignment",
    paper="2404.09656",
    claim="a reference that follows the policy step by step over-optimises less than a fixed one",
    changes={
        "mechanism.objective.regularise": (KL(weight=0.04, estimator="weighted-k3", anchor="reference"),),
        "mechanism.remember": (Follow(every=64, rate=0.6),),
        "models": {"policy": Model(), "reference": Model(trained=False, follows="policy")},
    },
    notes=(
        "The reference moves 0.6 of the way to the policy every 64 steps: the paper's soft update, TRL's share, and "
        "every 512 steps there, which longer runs have.",
        "--mechanism.remember.0.rate 1 takes the policy over: the hard update.",
    ),
)
KL_RESET = Recipe(
    name="kl-reset",
    title="ProRL: Prolonged Reinforcement Learning Expands Reasoning Boundaries in Large Language Models",
    paper="2505.24864",
    claim="a KL term whose reference is the policy anew whenever progress ends, the optimiser with it: thousands of "
    "steps, and problems solved that the base model never solves",
    mechanism=Mechanism(
        expand=(Refill(max_rounds=10),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(MixedGroups(by="accuracy"), FirstGroups()),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.4),
            aggregate=TokenMean(),
            regularise=(KL(weight=1e-4, estimator="k3", anchor="reference"),),
        ),
    ),
    scale=Scale(
        num_prompts=256,
        group_size=16,
        max_new=8192,
        learning_rate=2e-6,
        num_steps=2000,
        oversample=2,
        num_minibatches=4,
        temperature=1.2,
    ),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    stages=(
        Stage("run 1", share=1.0),
        *(Stage(f"run {i}", 1.0, when=Plateau(gain=0.0, window=50), optimiser="reset") for i in range(2, 9)),
    ),
    notes=(
        "Clip, prompts, answers, mini-batches, temperature, rate and lengths are the report's (3.2), which gives no "
        "weight of the KL: 1e-4 is ours, and so is oversample. More than 2000 steps are the report's.",
        "There reference and optimiser begin anew, by hand, when validation stands still or falls: eight runs, of "
        "which it names the resets of the second, sixth and seventh. Here a run ends when the accuracy of the training "
        "batches has not risen for 50 steps, and at the latest with its eighth of all steps.",
        "The report punishes answers that do not stop in its fourth and fifth run, has 32 answers in the sixth and "
        "seventh and 16k tokens in the last; not here.",
    ),
    deviations=("NVIDIA's account of ProRL v2 keeps the optimiser's state at a reset; the report starts it anew.",),
)
