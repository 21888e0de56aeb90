"""Two stages for a policy that is to search: first a search in the right form is paid, then the answer alone."""

from assay.ask import LimitCalls
from assay.credit import GroupRelative
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import AnswerF1, Called, TurnForm
from assay.scale import Scale

SEARCH = ("search", "s")  # what the tool is called with language models, and with small ones


def searching(*reward: AnswerF1 | Called | TurnForm) -> Mechanism:
    return Mechanism(
        ask=(LimitCalls(most=8, tools=SEARCH),),
        reward=reward,
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean()),
    )


INVOKE = searching(Called(tools=SEARCH, right=0.5, wrong=0.0), TurnForm(right=0.5, wrong=0.0))
ANSWER = searching(AnswerF1(words="bag"), TurnForm(right=0.0, wrong=-2.0, longest=10))

R1_SEARCHER = Recipe(
    name="r1-searcher",
    title="R1-Searcher: Incentivizing the Search Capability in LLMs via Reinforcement Learning",
    paper="2503.05592",
    claim="outcome rewards alone teach a base model to search, if a first stage pays for calling the search in the "
    "right form: up to 48.22 % above strong retrieval baselines on HotpotQA and 21.72 % on 2Wiki",
    missing="Wikipedia and online search, and a first stage on questions of which a base model solves some",
    tasks=("search-small", "search"),
    mechanism=ANSWER,
    scale=Scale(
        num_prompts=64, group_size=16, max_new=29000, learning_rate=2e-6, num_steps=133, num_minibatches=4, top_p=0.95
    ),
    stages=(
        Stage("invoke", share=350, mechanism=INVOKE),
        Stage("answer", share=8148, optimiser="reset"),
    ),
    notes=(
        "Rewards of both stages, 16 answers, the rate, no KL and 29000 tokens are those of the released scripts for "
        "Qwen; the shares are the questions of the stages, 350 and 8148, seen once. 64 prompts, four updates a step, "
        "the mean over answers and eight searches at most are ours.",
        "A stage begins with a fresh optimiser, as the second run of the release does.",
        "Replies are masked in the loss, as everywhere here. The markers of replies cannot be written by the policy, "
        "so that the release's count of its document marks has nothing to count; its marks of thoughts and Chinese "
        "characters do not count either: the form is one call in each turn, and one answer of ten words at most.",
        "Each task says what its search is called. A task whose world has no search is refused.",
    ),
    deviations=(
        "The paper names REINFORCE++; the released scripts divide by the deviation of the group, as here.",
        "The released server for Llama pays 1 or -1 for the answer in the first stage too, and takes off 1, not 2.",
        "An answer that the verifier calls right has F1 = 1, however it is worded.",
    ),
)
