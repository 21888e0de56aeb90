"""First broad data with short and few answers, then the hardest problems with many answers, fewer in each phase."""

from assay.ask import Fewer, Shorter
from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.methods.exploration.drive.hardest import Hardest, StageRates
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Scale
from assay.source import Examine
from assay.stages import Threshold

POOL = 175  # problems of the second stage; 72, 50 and 25 of them are left in its phases
GOAL = Objective(gate=Clip(low=0.2, high=0.28), aggregate=TokenMean())
BROAD = Mechanism(
    ask=(Fewer(share=8 / 64), Shorter(share=24 / 32)),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=GOAL,
)
EXAMINE = Mechanism(
    source=Examine(size=POOL, most=1.0),
    ask=(Fewer(share=8 / 64),),
    curate=(Untrained(role="policy"),),
    remember=(StageRates(),),
)
EXAMINED = Threshold("reward/accuracy", least=0.0, window=1)  # met after one step, whatever the accuracy


def hard(kept: int, of: int) -> Mechanism:
    """The mechanism of a phase that keeps so many of the problems of the phase before."""
    return Mechanism(
        source=Hardest(size=POOL, share=kept / of),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=GOAL,
        remember=(StageRates(),),
    )


DRIVE = Recipe(
    name="drive",
    title="DRIVE: Data Curation Best Practices for Reinforcement Learning with Verifiable Reward in Competitive Code "
    "Generation",
    paper="2511.06307",
    claim="broad data first, then few hard problems with 64 answers each: with 32B, LiveCodeBench V5 from 59.4 to 62.7 "
    "and 69.7, Codeforces weekly from 11.5 to 11.2 and 18.2",
    missing="the fine-tuning before RL, with hard problems twice, and the large mixture-of-experts run",
    mechanism=BROAD,
    scale=Scale(num_prompts=72, group_size=64, max_new=32768, learning_rate=1e-6, num_steps=161),
    stages=(
        Stage("broad", share=32),
        Stage("examine", share=8, mechanism=EXAMINE),
        Stage("72 hardest", share=57, mechanism=hard(72, POOL), when=EXAMINED),
        Stage("50 hardest", share=32, mechanism=hard(50, 72)),
        Stage("25 hardest", share=32, mechanism=hard(25, 50)),
    ),
    notes=(
        "Steps, answers (8, then 64), lengths (24K, then 32K) and the 72, 50 and 25 of 175 problems are the paper's. "
        "Its 24K and 32K hold prompt and answer together.",
        "In the paper the first stage has some 9,000 problems of even difficulty; here it draws from the pool, 72 a "
        "step. The second stage has a set of its own, which one step examines with 8 answers a problem: that step "
        "teaches nothing and is ours, because the paper does not say where its first pass rates come from.",
        "The step that examines is the first of a stage of eight; the phase after it begins at once and has 64 steps. "
        "In a run so short that this stage has no step, the phase draws from the whole set.",
        "Clip, KL penalty and rate are DAPO's, a reward of 1 needs all tests, and problems are ranked by the mean over "
        "the phase before, ties by the first visit: all ours. A step of a phase has all of its problems, as far as "
        "num_prompts goes.",
        "Problems that no answer solves stay, and teach nothing until one does. A few dozen problems for many epochs "
        "are memorised: examine other problems.",
        "A group has two answers at least. With groups of 8 (laptop) the first stage has 2.",
    ),
)
