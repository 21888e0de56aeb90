"""Learning with foreign programs as judges: a small form of each proof, and the queue and table of `bench.learning`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import Shell

from assay.engine.interface import Span
from assay.engine.torch.engine import TorchEngine
from assay.policy import character_tokenizer, fresh_policy, load_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.record.folder import RunFolder
from assay.rng import Key
from assay.run import bases
from assay.tasks import ALPHABET, TASKS
from bench import learning

GROUP, STEPS = 4, 6
LEVELS = {"linear-program": 1, "sql": 2, "programs": 1, "metamath": 1, "verilog": 1, "coq": 5}


def beginner(folder: Path) -> Path:
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 128, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("beginner")), folder)
    return folder


def likelihood(model: Path, task: str) -> float:
    """Of the worked solutions of some problems, per token."""
    policy = load_policy(model)
    problems = [TASKS[task].problem(Key("held out", n), level=LEVELS[task], split="test") for n in range(8)]
    read = policy.tokenizer
    spans = [Span(read.render(p.prompt), np.asarray(read.encode(p.solution or ""), np.int32)) for p in problems]
    scores = TorchEngine(policy.transformer, end_ids=policy.end_ids, precision="fp32").score(spans)
    return float(np.mean(np.concatenate([score.logp for score in scores])))


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [pytest.param(n, marks=[pytest.mark.external(e) for e in TASKS[n].externals]) for n in learning.PROOFS]
)
def test_an_external_judges_what_a_model_learns_from(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One answer of each group is a worked solution, all others are the noise of a model that knows nothing.

    So the external accepts one answer in each group, and no other; what it accepted becomes more likely.
    """
    model, run = beginner(tmp_path / "model"), tmp_path / "run"
    settings = {
        "task": f"{task}:{LEVELS[task]}",
        "steps": STEPS,
        "scale.num-prompts": 4,
        "scale.group-size": GROUP,
        "scale.learning-rate": 0.01,
        "scale.warmup-steps": 0,
        "evaluation.every": 0,
        "evaluation.final-problems": 2,
        "evaluation.final-samples": 2,
        "machine.threads": 1,
    }
    line = [part for name, value in settings.items() for part in (f"--{name}", value)]
    reply = Shell(capsys)("train", "luffy", "--model", model, "--run", run, *line)
    assert reply.code == 0, reply.err
    folder = RunFolder.read_only(run)
    assert sorted(folder.document["externals"]) == sorted(TASKS[task].externals)
    steps = folder.read("metrics")
    assert [step["reward/mean"] for step in steps] == [1 / GROUP] * STEPS
    assert [step["reward/verifier_failed"] for step in steps] == [0] * STEPS
    checkpoint = folder.load()
    assert checkpoint is not None
    assert likelihood(checkpoint.path / "policy", task) > likelihood(model, task) + 0.1


def done(gain: float, seed: int, proxy: Any, arm: str) -> dict[str, Any]:
    score = {"1": 0.2 + gain, str(proxy.final_samples): 0.9}
    return {
        "key": proxy.key(arm, seed),
        "code": "0",
        "arm": arm,
        "seed": seed,
        "before": {**score, "1": 0.2},
        "after": score,
        "diagnostic": 0.5,
        "seconds": 60.0,
        "machine": "m",
        "measured": "2026-01-01",
    }


@pytest.mark.slow
def test_a_stopped_queue_goes_on_with_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, int]] = []

    def run(proxy: Any, arm: str, seed: int) -> dict[str, Any]:
        if len(asked) == 4:
            raise KeyboardInterrupt
        asked.append((proxy.method, arm, seed))
        return done(0.3 if arm == proxy.method else 0.0, seed, proxy, arm)

    monkeypatch.setattr(learning, "RESULTS", tmp_path)
    monkeypatch.setattr("bench.proxy.run", run)
    with pytest.raises(KeyboardInterrupt):
        learning.run(["sql"])
    first, asked = asked, []
    learning.run(["sql"])
    wanted = [("sql", arm, seed) for seed in (0, 1, 2) for arm in ("sql", "shuffled")]
    assert [*first, *asked] == wanted
    learning.run(["sql"])
    assert len(asked) == 2, "what is done is not run again"
    page = learning.render()
    assert "| sql 2,3 | 0.200, 0.900 (k = 8) | 0.500, 0.900 | +0.300 [+0.300, +0.300] |" in page
    assert "| 0.200, 0.900 | +0.000 [+0.000, +0.000] | 60 s | met |" in page


@pytest.mark.parametrize(
    ("true", "shuffled", "said"),
    [
        ([0.20, 0.21, 0.22], [0.01, -0.02, 0.00], "met"),
        ([0.08, 0.09, 0.09], [0.01, -0.02, 0.00], "gain missed"),
        ([0.30, 0.00, 0.10], [0.01, -0.02, 0.00], "gain missed"),  # 0.133 in the mean, and 0 lies in the interval
        ([0.20, 0.21, 0.22], [0.05, 0.06, 0.05], "shuffled verdicts gain too"),
        ([0.20, 0.21], [0.01, -0.02, 0.00], "open"),
    ],
)
def test_a_goal_is_met_by_all_seeds_together(true: list[float], shuffled: list[float], said: str) -> None:
    assert learning.verdict(true, shuffled) == said


def test_every_task_with_a_program_as_judge_has_a_proof_a_base_and_a_second_oracle() -> None:
    assert set(learning.PROOFS) == {"linear-program", "sql", "programs", "metamath", "verilog", "coq"}
    for name in learning.PROOFS:
        made = bases.base(name)
        assert TASKS[name].externals and TASKS[name].second is not None
        assert made.pool == learning.PROOFS[name].pool, "the model learns what its base began with"
        shape = made.shape
        weights = shape.layers * (4 * shape.hidden**2 + 3 * shape.hidden * shape.ffn) + shape.vocab * shape.hidden
        assert 1_000_000 < weights < 10_000_000
