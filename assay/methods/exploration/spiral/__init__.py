"""Self-play with one policy on both seats of a game; each role has a moving mean as its baseline, without groups."""

from assay.methods.exploration.spiral.baseline import RoleBaseline, RoleMeans
from assay.objective import Clip, FixedLength, Objective
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SPIRAL = Recipe(
    name="spiral",
    title="SPIRAL: Self-Play on Zero-Sum Games Incentivizes Reasoning via Multi-Agent Multi-Turn Reinforcement "
    "Learning",
    paper="2506.24119",
    claim="self-play on zero-sum games, with a baseline for each role, raises reasoning on tasks that were never "
    "trained; without the baselines policies stop to reason",
    missing="tic-tac-toe, negotiation and the other games of TextArena as listed tasks (`textarena:NAME` reaches them),"
    " and the benchmarks of reasoning",
    tasks=("game:kuhn", "game:nim"),
    mechanism=Mechanism(
        credit=RoleBaseline(keep=0.95),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=FixedLength()),
        remember=(RoleMeans(keep=0.95),),
    ),
    scale=Scale(
        num_prompts=64, group_size=1, max_new=4096, learning_rate=1e-6, num_steps=400, num_epochs=2, schedule="constant"
    ),
    notes=(
        "Values are those of the authors' script for Kuhn's poker: means that keep 0.95 and start at 0, each read "
        "before the reward is added to it; no discount, no KL penalty, 2 passes, a constant rate of 1e-6, answers of "
        "4096 tokens, temperature 1. Its 128 turns a step are 64 games here, and its 51,200 turns 400 steps.",
        "The clip of 0.2 and sums over tokens divided by the limit of an answer are the defaults of the trainer below.",
        "Where no game is played a role is the role of the recipe, and this is REINFORCE with a moving mean, clipped.",
    ),
    deviations=(
        "In the published code each of eight actors has means of its own, an answer with an advantage of exactly 0 is "
        "left out of the loss, and a step takes 128 turns by chance out of all that were played. Here all games of a "
        "step have one mean a role, and every turn trains.",
        "In the published code an illegal move costs its player 1. Here it costs more than any legal move can.",
    ),
)
