"""An agent on inspect-ai: a task of one sample with a tool, whose score is the reward."""
# pyright: reportMissingImports=false

import json
import sys
import tempfile

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import Score, Target, accuracy, scorer
from inspect_ai.solver import TaskState
from inspect_ai.tool import Tool, tool


@tool
def calculate() -> Tool:
    async def run(sum: str) -> str:
        """The value of a sum.

        Args:
            sum: a sum of numbers, such as 1+2
        """
        return "3" if sum == "1+2" else "no sum"

    return run


@scorer(metrics=[accuracy()])
def short():
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(len(state.output.completion) < 16))

    return score


def main() -> None:
    problem = json.loads(sys.stdin.readline())
    model = get_model("openai/policy", responses_api=False, config=GenerateConfig(max_tokens=20))
    task = Task(
        dataset=[Sample(input=problem["prompt"], target="")],
        solver=react(tools=[calculate()]),
        scorer=short(),
        message_limit=5,
    )
    with tempfile.TemporaryDirectory() as logs:
        (log,) = eval(task, model=model, display="none", log_dir=logs)
        if log.status != "success":
            sys.exit(f"{log.error}"[-400:])
        print(json.dumps({"reward": log.samples[0].scores["short"].value}))


main()
