"""PPO with an interpreter: programs run while the answer is written, and only the final answer is paid."""

from assay.ask import LimitCalls
from assay.credit import GAE, Whiten
from assay.forwards import Critic
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Model, Scale

RETOOL = Recipe(
    name="retool",
    title="ReTool: Reinforcement Learning for Strategic Tool Use in LLMs",
    paper="2504.11536",
    claim="a policy that has seen programs in worked solutions learns from outcomes alone when to compute: 67.0 on "
    "AIME24 after 400 steps, where text alone comes to 40.0 after 1080",
    missing="the cold start on curated solutions with programs: here it is the warm start of a base model",
    tasks=("interpreter",),
    mechanism=Mechanism(
        ask=(LimitCalls(most=8, tools=("python",)),),
        reward=(Outcome(right=1.0, wrong=-1.0),),
        forwards=(Critic(model="critic", gamma=1.0, lam=1.0, clip=0.5, rate=2.0, aggregate=TokenMean()),),
        credit=GAE(gamma=1.0, lam=1.0),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=1024, group_size=1, max_new=16384, learning_rate=1e-6, num_steps=400, num_minibatches=2),
    models={"policy": Model(), "critic": Model(output="value")},
    notes=(
        "Rewards 1 and -1, no KL, the rate, 16384 tokens, updates of 512 answers and 400 steps are the paper's, from "
        "memory of it; 8 turns, 1024 prompts, gamma and lambda 1, clip 0.2 and 0.28 with 10 for the dual, and a "
        "critic that learns at 2e-6 are those of the published recipe for verl. The value clip is verl's default.",
        "What the interpreter replies has neither loss nor advantage nor value target: GAE goes from the last token "
        "of a program to the first token behind the reply.",
        "Programs of one answer share a session, so that what one defines is there for the next.",
    ),
    deviations=(
        "The published recipe for verl pays wrong answers for their turns, min(-0.6, -1 + 0.05 (turns - 2)); the "
        "paper pays for the outcome alone, as here.",
        "That recipe wraps `print` around a last line without it; here the value of a last line is part of the reply.",
    ),
)
