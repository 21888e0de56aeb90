"""Agents of other people's libraries train at the door, each in an environment of its own: the OpenAI SDK with a tool,
verifiers, inspect-ai. What is recorded is what was sampled.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from missing_externals import VARIABLE

import assay
from assay.collect import Collector, turns
from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, save_policy
from assay.rng import Key
from assay.tasks import ALPHABET
from assay.types import Episode, Origin

pytestmark = pytest.mark.scale

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "tests" / "agents_of"
CALL = '<tool_call>{"name": "calculate", "arguments": {"sum": "1+2"}}</tool_call>'
ROWS = [{"prompt": f"{a}+{b}=", "answer": str(a + b), "solution": CALL} for a in range(1, 10) for b in range(1, 10)]
NO_EXAMS = {"every": 0, "num_problems": 1, "num_samples": 1, "final_problems": 1, "final_samples": 1}
STEPS = 20


def python_of(name: str) -> Path:
    """The interpreter of an agent's environment. Without it the test is skipped, or fails where nothing may lack."""
    python = ROOT / f".venv-{name}" / "bin" / "python"
    if not python.exists():
        why = f"{python} does not exist: `make test-scale` makes it"
        if os.environ.get(VARIABLE) == "all":
            pytest.fail(why)
        pytest.skip(why)
    return python


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small policy that has learnt to write the call of a tool."""
    folder = tmp_path_factory.mktemp("callers")
    tokenizer = character_tokenizer(f"{ALPHABET}\n\N{EM DASH}")  # which prompts of inspect-ai are written with
    shape = PolicyConfig("qwen2", tokenizer.vocab, 64, 2, 4, 4, 16, 128, 4096, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("door")), folder / "fresh")
    scale = {"num_prompts": 16, "max_new": 80, "learning_rate": 3e-3}
    how = {"evaluation": NO_EXAMS, "machine": {"probe": 0}, "quiet": True}
    assay.train("sft", model=folder / "fresh", data=ROWS, steps=150, run=folder / "run", scale=scale, **how)
    return str(folder / "run")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, list[int]], list[Episode]]:
    """(what samplers wrote, by the request of each turn; the episodes that were collected)."""
    sampled: dict[str, list[int]] = {}
    episodes: list[Episode] = []
    written, collected = turns._written, Collector.__call__

    def write(request: Any, made: Any, codec: Any) -> Episode:
        sampled[request.id] = made.segment.ids.tolist()
        return written(request, made, codec)

    @functools.wraps(collected)
    def collect(self: Collector, *arguments: Any) -> Any:
        came = collected(self, *arguments)
        episodes.extend(came[0])
        return came

    monkeypatch.setattr(turns, "_written", write)
    monkeypatch.setattr(Collector, "__call__", collect)
    return sampled, episodes


@pytest.mark.parametrize(("name", "seconds"), [("openai", 60), ("verifiers", 240), ("inspect_ai", 240)])
def test_an_agent_trains(
    name: str, seconds: float, model: str, kept: tuple[dict[str, list[int]], list[Episode]], tmp_path: Path
) -> None:
    command = f"{python_of(name)} {AGENTS / name.removesuffix('_ai')}_agent.py"
    sampled, episodes = kept
    assay.train(
        "grpo",
        model=model,
        data=[{"prompt": row["prompt"], "answer": row["answer"]} for row in ROWS],
        steps=STEPS,
        run=tmp_path / "run",
        agent={"command": command, "reward": "agent"},
        scale={"num_prompts": 1, "group_size": 2, "max_new": 400},
        machine={"probe": 0, "reply_seconds": seconds, "hosts": 2},
        evaluation=NO_EXAMS,
        quiet=True,
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == STEPS and sum(line["world/faults"] for line in lines) == 0
    assert sum(line["budget/generated_tokens"] for line in lines[-1:]) > 0
    assert len(episodes) == 2 * STEPS
    for episode in episodes:
        own = [segment for segment in episode.segments if len(segment) and segment.origin[0] == Origin.POLICY]
        assert own and all(segment.ids.tolist() == sampled[segment.node] for segment in own)
        assert all(np.isfinite(segment.old).all() for segment in own if segment.old is not None)
    if name == "openai":
        assert any((episode.stream("origin") == Origin.ENV).any() for episode in episodes), "a tool has replied"
