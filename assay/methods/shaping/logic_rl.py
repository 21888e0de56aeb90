"""Knights and knaves with a strict format: the answer counts only in exactly the right format."""

from assay.ask import Templated
from assay.credit import GroupRelative
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Gated, Graded, Sum, WellFormed
from assay.scale import Scale

LOGIC_RL = Recipe(
    name="logic-rl",
    title="Logic-RL: Unleashing LLM Reasoning with Rule-Based Reinforcement Learning",
    paper="2502.14768",
    claim="5,000 logic puzzles and a strict format raise a 7B model from 0.19 to 0.89 on puzzles of 2 to 8 people, and "
    "by 125% on AIME and 38% on AMC, which it never saw",
    missing="puzzles of two to four people: those of the task have five to eight",
    mechanism=Mechanism(
        ask=(Templated(),),
        reward=(
            Sum(
                of=(
                    WellFormed(right=1.0, wrong=-1.0),
                    Gated(
                        gate=WellFormed(right=1.0, wrong=0.0),
                        of=Graded(right=2.0, wrong=-1.5, malformed=-2.0),
                        closed=-2.0,
                    ),
                )
            ),
        ),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean(), regularise=(KL(weight=1e-3, estimator="k3"),)
        ),
    ),
    scale=Scale(num_prompts=8, group_size=16, max_new=4096, learning_rate=3e-7, num_steps=3600),
    notes=(
        "The reward is 3 (right), -0.5 (wrong), -1 (no answer to read) or -3 (another format).",
        "The paper names a modified REINFORCE++, and a script of the release runs it; another runs GRPO, which is here "
        "with that script's 16 answers, rate and KL. 8 prompts a step are the paper's.",
        "The curriculum is the mix of levels alone, such as `--task knights:5,6,7`. The paper has 3 to 7 people; the "
        "task has 5 to 8.",
    ),
    deviations=("The script counts the words knight and knave in the answer; here the task's own checker reads it.",),
    tasks=("knights",),
)
