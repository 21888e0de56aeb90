"""Long searches by policies of several versions; what was read is forgotten, and the form multiplies the reward."""

from assay.ask import ForgetReplies, LimitCalls
from assay.collect import Lagged, Refill
from assay.credit import GroupRelative, Whiten
from assay.curate import FirstGroups, MixedGroups
from assay.memory import Follow
from assay.objective import Clip, Drop, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import AnswerF1, Product, TurnForm
from assay.scale import Scale, behind

STALENESS = 4

ASEARCHER = Recipe(
    name="asearcher",
    title="Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with Large-Scale Asynchronous RL",
    paper="2508.07976",
    claim="asynchronous training without a low limit of turns teaches searches of more than 40 calls: +46.7 % on "
    "xBench and +20.8 % on GAIA for an agent of 32B parameters",
    missing="web pages; generation that runs beside training (as in `areal`); the thought behind each page that takes "
    "its place; a judge in place of F1; instructions that a question may be invalid; the agent that writes questions",
    tasks=("search-small", "search"),
    mechanism=Mechanism(
        ask=(LimitCalls(most=32, tools=("search", "s")), ForgetReplies(keep=25)),
        collect=(Lagged(model="behaviour"),),
        expand=(Refill(max_rounds=10),),
        reward=(Product(of=(AnswerF1(words="set"), TurnForm(right=1.0, wrong=0.0)), name="f1-in-form"),),
        curate=(MixedGroups(by="reward"), FirstGroups()),
        credit=GroupRelative(scale="none"),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.4, high=0.4), correct=(Drop(low=0.0, high=5.0),), aggregate=TokenMean()),
        remember=(Follow(every=1),),
    ),
    scale=Scale(num_prompts=128, group_size=16, max_new=32768, learning_rate=5e-6, num_steps=200),
    models=behind(STALENESS),
    notes=(
        "32 turns, 128 groups of 16, no division by the deviation, groups of equal rewards left out, clip 0.4, "
        "importance weights of 5 at most, a staleness of 4 versions, the rate, no KL and one update a step are those "
        "of the released configuration for 7B. Whitening takes the place of its map 10 (A - 1/2), whose shift must not "
        "stay in an advantage; 200 steps are ours.",
        "Of a page the release remembers 100 characters, about 25 tokens. An answer is one training row for each "
        "context that it was read under, and its tokens count once.",
        "The lag is constant: answers are written by the policy of exactly four steps ago.",
    ),
    deviations=(
        "In the release a page is read whole in the turn in which a thought about it is written, and search results "
        "are kept whole; here every reply is read whole until the next one comes.",
        "An answer that the verifier calls right has F1 = 1, however it is worded.",
    ),
)
