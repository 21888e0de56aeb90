"""One policy asks questions about pages and answers them by search; only what the pages answer is paid and asked."""

from assay.ask import AsRole
from assay.credit import GroupRelative, Score
from assay.curate import WithoutTag
from assay.methods.exploration.ssp.adversarial import Adversarial
from assay.methods.exploration.ssp.keep_valid import KeepValid
from assay.methods.exploration.ssp.pose_drawn import PoseDrawn
from assay.methods.exploration.ssp.solve_valid import CHECK, SolveValid
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule
from assay.reward import Outcome
from assay.scale import Model, Scale

OBJECTIVE = Objective(
    gate=Clip(low=0.2, high=0.285), aggregate=TokenMean(), regularise=(KL(weight=0.01, estimator="k3"),)
)

SSP = Recipe(
    name="ssp",
    title="Search Self-play: Pushing the Frontier of Agent Capability without Supervision",
    paper="2510.18821",
    claim="a policy that poses and answers its own search questions, checked by their pages, improves on all search "
    "benchmarks without supervision, from scratch and as continued training",
    missing="a proposer that searches for its pages itself, in up to ten turns, and a judge of answers in words",
    tasks=("search-small", "search"),
    mechanism=Mechanism(
        source=PoseDrawn(),
        ask=(AsRole("proposer"),),
        expand=(SolveValid(checks=1, answers=5),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(WithoutTag(CHECK),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=OBJECTIVE,
        remember=(KeepValid(cleared=10),),
        rules=(Rule("proposer", reward=(Adversarial(invalid=0.0),), credit=Score(), objective=OBJECTIVE),),
    ),
    scale=Scale(
        num_prompts=256,
        group_size=1,
        max_new=8192,
        learning_rate=1e-6,
        warmup_steps=5,
        num_steps=200,
        num_minibatches=2,
    ),
    models={"policy": Model()},
    roles={"policy": "policy", "proposer": "policy"},
    notes=(
        "256 questions a step, each answered five times, two updates, upper clip 0.285, KL loss 0.01, 8192 tokens, the "
        "rate and its warm-up, four pages of noise, a pool that is emptied after ten steps, 1 - s for a question that "
        "stands and 0 for any other are those of the released script; 200 steps are ours.",
        "A proposer's group is one text: its advantage is its reward, as in the release. `--mechanism.rules.0.credit "
        "cell-relative` compares it with the others of the step.",
        "The proposer is shown an answer and the pages on a walk to it, which the task draws, where the paper lets it "
        "search. Its question is a name and the letters of a path in compact wording, else ten words or more; neither "
        "may contain the answer.",
        "Nothing but the check protects from questions without an answer: one that nobody solves earns the most. The "
        "check is an answer of the policy itself, with the pages in view.",
        "A question of the validation or test split is neither answered nor paid.",
    ),
    deviations=(
        "The release makes two updates from one step, of the proposer first, and then takes the probabilities of the "
        "solver's answers anew. Here both roles are in each update, behind probabilities of the sampler's weights.",
        "A question of an earlier step that fills a place earns its proposer nothing in this one; in the release the "
        "proposer of that place is paid for it.",
    ),
)
