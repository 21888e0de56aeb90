"""An agent on verifiers: the rollout of one task of a taskset, whose reward is the reward here."""
# pyright: reportMissingImports=false

import asyncio
import json
import os
import sys
from pathlib import Path

import verifiers.v1 as vf

os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where uv is


class Sums(vf.TaskData):
    answer: str = ""


class SumTask(vf.Task[Sums]):
    @vf.reward
    async def short(self, trace: vf.Trace) -> float:
        """Whether the last answer is short."""
        return float(len(trace.last_reply) < 16)


async def main() -> None:
    problem = json.loads(sys.stdin.readline())
    config = vf.AgentConfig(
        harness={"id": "null"},
        runtime=vf.SubprocessConfig(),
        model="policy",
        client=vf.EvalClientConfig(base_url=os.environ["OPENAI_BASE_URL"], api_key_var="OPENAI_API_KEY"),
        sampling={"max_tokens": 20},
        max_turns=2,
    )
    trace = await vf.make_agent(config).run(SumTask(Sums(idx=0, prompt=problem["prompt"])))
    if trace.errors:
        sys.exit(f"{trace.errors[0]}"[-400:])
    print(json.dumps({"reward": trace.reward}))


asyncio.run(main())
