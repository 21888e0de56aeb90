"""Learning with foreign programs as judges: a small form of each proof of `bench/studies/learning-*.toml`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_runs import Shell

from assay.engine.interface import Span
from assay.engine.torch.engine import TorchEngine
from assay.lab.study import read
from assay.policy import character_tokenizer, fresh_policy, load_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.record.folder import RunFolder
from assay.rng import Key
from assay.run import bases
from assay.tasks import ALPHABET, TASKS

STUDIES = Path(__file__).parents[2] / "bench" / "studies"
GROUP, STEPS = 4, 6
LEVELS = {"linear-program": 1, "sql": 2, "programs": 1, "metamath": 1, "verilog": 1, "coq": 5}
PROOFS = tuple(LEVELS)


def beginner(folder: Path) -> Path:
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 128, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("beginner")), folder)
    return folder


def likelihood(model: Path, task: str) -> float:
    """Of the worked solutions of some problems, per token."""
    policy = load_policy(model)
    problems = [TASKS[task].problem(Key("held out", n), level=LEVELS[task], split="test") for n in range(8)]
    read = policy.codec
    spans = [Span(read.render(p.prompt), np.asarray(read.encode(p.solution or ""), np.int32)) for p in problems]
    scores = TorchEngine(policy.network, end_ids=policy.end_ids, precision="fp32").score(spans)
    return float(np.mean(np.concatenate([score.logp for score in scores])))


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [pytest.param(n, marks=[pytest.mark.external(e) for e in TASKS[n].checker.externals]) for n in PROOFS]
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
        "mechanism.ask": "expert",
        "mechanism.credit.scale": "none",
        "mechanism.objective.injected": "train",
        "mechanism.objective.gate": "plain",
        "mechanism.objective.ratio": "probability",
    }
    line = [part for name, value in settings.items() for part in (f"--{name}", value)]
    reply = Shell(capsys)("train", "grpo", "--model", model, "--run", run, *line)
    assert reply.code == 0, reply.err
    folder = RunFolder.read_only(run)
    assert sorted(folder.document["externals"]) == sorted(TASKS[task].checker.externals)
    steps = folder.read("metrics")
    assert [step["reward/mean"] for step in steps] == [1 / GROUP] * STEPS
    assert [step["reward/verifier_failed"] for step in steps] == [0] * STEPS
    checkpoint = folder.load()
    assert checkpoint is not None
    assert likelihood(checkpoint.path / "policy", task) > likelihood(model, task) + 0.1


@pytest.mark.slow
def test_every_task_with_a_program_as_judge_has_a_proof_a_base_and_a_second_oracle() -> None:
    assert set(PROOFS) == {"linear-program", "sql", "programs", "metamath", "verilog", "coq"}
    for name in PROOFS:
        made = bases.base(name)
        assert TASKS[name].checker.externals and TASKS[name].checker.second is not None
        (pool,) = read(STUDIES / f"learning-{name}.toml").tasks.values()
        assert made.pool == pool, "the model learns what its base began with"
        shape = made.shape
        weights = shape.layers * (4 * shape.hidden**2 + 3 * shape.hidden * shape.ffn) + shape.vocab * shape.hidden
        assert 1_000_000 < weights < 10_000_000
