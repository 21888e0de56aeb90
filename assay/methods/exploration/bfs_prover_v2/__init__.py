"""Rounds of best-first search for proofs, tactic by tactic; tactics of a middle band of surprisal train the prover."""

from assay.credit import Constant
from assay.curate import NoTraining
from assay.methods.exploration.bfs_prover_v2.best_first import BestFirst
from assay.methods.exploration.bfs_prover_v2.first_tactics import FirstTactics
from assay.methods.exploration.bfs_prover_v2.proofs import KeepProofs, RehearseProofs, TacticBand
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Scale
from assay.source import Epochs

CORPUS = Epochs(size=512)
FIT = Mechanism(
    source=CORPUS,
    ask=(RehearseProofs(),),
    curate=(TacticBand(low=0.1, high=0.9),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
)


def searching(*, anew: bool = False) -> Mechanism:
    """A round of search, which trains nothing."""
    return Mechanism(
        source=CORPUS,
        ask=(FirstTactics(width=8),),
        expand=(BestFirst(alpha=0.5, expansions=32),),
        curate=(NoTraining(),),
        remember=(KeepProofs(anew=anew),),
    )


def _round(number: int) -> tuple[Stage, Stage]:
    return (
        Stage(f"search {number}", share=2, mechanism=searching()),
        Stage(f"refine {number}", share=2, mechanism=FIT, optimiser="reset"),
    )


def _anew(number: int) -> tuple[Stage, Stage]:
    return (
        Stage(f"search anew {number}", share=2, mechanism=searching(anew=True)),
        Stage(f"retrain {number}", share=4, mechanism=FIT, start="base", optimiser="reset"),
    )


BFS_PROVER_V2 = Recipe(
    name="bfs-prover-v2",
    title="Scaling up Multi-Turn Off-Policy RL and Multi-Agent Tree Search for LLM Step-Provers",
    paper="2509.06493",
    claim="rounds of search and imitation with tactics of a middle band of perplexity, and retraining from the base "
    "when they stall, give a step-prover that proves 82.4 (7B) and 86.1 percent (32B) of miniF2F, 95.1 with a planner",
    missing="Lean: Coq and Metamath take its place; the planner at test time and its cache of sub-goals",
    tasks=("metamath-steps", "coq-steps", "coq-library-steps"),
    mechanism=FIT,
    scale=Scale(num_prompts=128, group_size=8, max_new=1024, learning_rate=1e-5, num_steps=200, warmup_steps=5),
    stages=(*_round(1), *_round(2), *_anew(1), *_round(3), *_round(4), *_anew(2)),
    notes=(
        "A state is what the policy has read so far: the theorem, its tactics and the replies. In the paper it is the "
        "present tactic state alone. A tactic that the prover refuses leads to no node.",
        "alpha = 1/2, eight tactics a node, 32 expansions of a theorem, the corpus of 512 theorems and the scale are "
        "ours; so are the ends of the band, the 10th and the 90th percentile, which the pages that we read do not "
        "tell.",
        "The surprisal of a tactic is the mean -log pi of its tokens under the prover that found it. It is stored with "
        "the proof, because a later policy would measure other bands.",
        "Tactics outside of the band stay in the proof as what is read, and do not train.",
        "Of a theorem one proof is held, the one with the fewest tactics. Before the policy is retrained from the "
        "base, it proves the whole corpus anew: proofs found now replace older ones, and those of theorems that it "
        "does not prove any more stay.",
        "The paper retrains when the share of proved theorems stalls. Stages of a recipe have a fixed order, so it "
        "is after every two rounds here.",
        "Steps of search write many times what sampling as many answers does: compare at equal tokens.",
    ),
)
