"""PPO's update here against that of rsl_rl, on the same steps and from the same weights.

    python -m venv .venv-rsl_rl && .venv-rsl_rl/bin/pip install rsl-rl-lib==5.5.1
    python -m bench.bridges.ppo_of_rsl_rl

Compared are the whitened advantages, the returns that the critic learns, the gradients of the last of several passes,
and the weights behind the update: the largest difference of each, relative to its largest number. The exit status is 1
if one is above the tolerance. Limits within an episode are left out: rsl_rl adds gamma V of the state *before* the last
step to its reward, and here gamma V of the state behind it is added.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch

from assay.credit import Whiten, pack
from assay.credit.gae import gae
from assay.engine.optimiser import AdamW
from assay.engine.spans import span_of
from assay.engine.steps.engine import StepsEngine, StepsValueEngine
from assay.forwards.critic import fit, values_of
from assay.memory import Memory
from assay.objective import Clip, Entropy, Objective, TokenMean
from assay.objective.improve import improve
from assay.part import bind
from assay.policy.plain_folder import fresh_mlp
from assay.rng import Key
from assay.scale import Scale
from assay.types import Episode, Origin, Problem, Request, Reward, Row, Segment

HERE = Path(__file__).parent
STEPS, COUNT, EPOCHS, HIDDEN = 24, 16, 5, (32, 32)
GAMMA, LAM, CLIP, ENTROPY, RATE, NORM = 0.98, 0.9, 0.2, 0.01, 1e-3, 0.5
Numbers = dict[str, np.ndarray]


def engines() -> tuple[StepsEngine, StepsValueEngine]:
    """A policy and a critic with weights of no special kind."""
    draw, made = torch.Generator().manual_seed(0), []
    for kind in (StepsEngine, StepsValueEngine):
        engine = kind(
            fresh_mlp("32x32:4x2", key=Key(0)).network,
            end_ids=frozenset(),
            precision="fp64",
            optimiser=AdamW(),
        )
        with torch.no_grad():
            for parameter in engine.model.parameters():
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=draw, dtype=parameter.dtype))
        made.append(engine)
    return made[0], made[1]


def weights(engine: StepsEngine, head: str) -> dict[str, torch.nn.Parameter]:
    """The parameters in the order of a plain network: body, then this head."""
    named = dict(engine.model.named_parameters())
    return {name: p for name, p in named.items() if name.startswith(("body", f"{head}."))}


def case_of(policy: StepsEngine, critic: StepsEngine) -> Numbers:
    """Random steps: what was seen, done and earned, and where episodes ended."""
    random = np.random.default_rng(0)
    case = {
        "seen": random.normal(size=(STEPS, COUNT, 4)).astype(np.float32),
        "after": random.normal(size=(COUNT, 4)).astype(np.float32),
        "actions": random.integers(0, 2, (STEPS, COUNT)),
        "rewards": random.integers(-4, 5, (STEPS, COUNT)) / 4,
        "dones": (random.random((STEPS, COUNT)) < 0.1).astype(np.int64),
        "hidden": np.array(HIDDEN),
        "epochs": np.array(EPOCHS),
        "clip_norm": np.array(NORM),
    }
    numbers = {"gamma": GAMMA, "lam": LAM, "clip_param": CLIP, "entropy_coef": ENTROPY, "learning_rate": RATE}
    case |= {name: np.array(value) for name, value in numbers.items()}
    for name, engine, head in (("actor", policy, "head"), ("critic", critic, "value_head")):
        for index, parameter in enumerate(weights(engine, head).values()):
            case[f"{name}/{index}"] = parameter.detach().numpy().copy()
    return case


def pieces(case: Numbers) -> list[tuple[int, slice, bool]]:
    """(environment, its steps, whether an episode ended behind them), in the order of environments."""
    found = []
    for place in range(COUNT):
        ends = [*(np.flatnonzero(case["dones"][:, place]) + 1).tolist()]
        for first, last in zip([0, *ends], [*ends, STEPS], strict=True):
            if first < last:
                found.append((place, slice(first, last), last in ends))
    return found


def row_of(case: Numbers, number: int, place: int, steps: slice, ended: bool) -> Row:
    count = steps.stop - steps.start
    problem = Problem("steps", "", {}, str(number))
    segment = Segment(
        case["actions"][steps, place].astype(np.int32),
        np.full(count, Origin.POLICY, np.int8),
        seen=case["seen"][steps, place],
        after=None if ended else case["after"][place],
    )
    paid = Reward("turns", float(case["rewards"][steps, place].sum()), "token", case["rewards"][steps, place])
    request = Request(problem, np.zeros(0, np.int32), str(number), STEPS, draw=number)
    return Row.of(Episode(request, (segment,), "stop" if ended else "length", rewards=(paid,)))


def ours(case: Numbers, policy: StepsEngine, critic: StepsValueEngine) -> Numbers:
    """The same update by our parts."""
    cut = pieces(case)
    rows = [row_of(case, number, *piece) for number, piece in enumerate(cut)]
    scale = Scale(COUNT, 1, STEPS, RATE, 1, num_epochs=EPOCHS, clip_norm=NORM)
    rows = gae(values_of(critic, rows, tokens=1 << 20, beyond=True), gamma=GAMMA, lam=LAM, truncated="bootstrap")
    rows = bind(Whiten(by="batch", ddof=1, epsilon=1e-8))(rows, memory=Memory(0))
    scores = policy.score([span_of(row.episode) for row in rows])
    rows = [row.mark(old=score.logp) for row, score in zip(rows, scores, strict=True)]
    batch = pack(rows)
    found = {name: np.zeros((STEPS, COUNT)) for name in ("advantages", "returns")}
    for row, (place, steps, _) in zip(rows, cut, strict=True):
        found["advantages"][steps, place], found["returns"][steps, place] = row.advantage, row.target
    objective = Objective(gate=Clip(low=CLIP, high=CLIP), aggregate=TokenMean(), regularise=(Entropy(weight=ENTROPY),))
    with watched(policy, "actor", "head", found), watched(critic, "critic", "value_head", found):
        improve(policy, batch, objective=objective, scale=scale, key=Key(0), micro_tokens=1 << 20)
        fit(critic, batch, Key(0), scale, CLIP, 1 << 20, TokenMean())
    return found


@contextlib.contextmanager
def watched(engine: StepsEngine, name: str, head: str, found: Numbers) -> Iterator[None]:
    """Inside, the clipped gradient of each optimiser step is put down, and at the end the weights."""
    step = engine.step

    def stepped(*, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        grads = [parameter.grad.clone() for parameter in weights(engine, head).values() if parameter.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(grads))
        for index, grad in enumerate(grads):
            found[f"gradient of {name}/{index}"] = min(1.0, (clip or norm) / norm) * grad.numpy()
        return step(lr=lr, clip=clip, moments=moments)

    engine.step = stepped  # type: ignore[method-assign]
    yield
    for index, parameter in enumerate(weights(engine, head).values()):
        found[f"{name}/{index}"] = parameter.detach().numpy().copy()


def differences(mine: Numbers, theirs: Numbers) -> dict[str, float]:
    """Name -> the largest difference of what it stands for, relative to its largest number."""
    found: dict[str, float] = {}
    for name, value in theirs.items():
        group = name.split("/")[0]
        apart = float(np.abs(mine[name] - value).max() / np.abs(value).max())
        found[group] = max(found.get(group, 0.0), apart)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=".venv-rsl_rl/bin/python", help="that of rsl_rl's environment")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="the largest relative difference (default 1e-6)")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    policy, critic = engines()
    case = case_of(policy, critic)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "case.npz", Path(folder) / "result.npz"
        np.savez(files[0], **case)  # type: ignore[arg-type]
        subprocess.run([asked.python, HERE / "side_of_rsl_rl.py", *files], check=True)
        theirs = dict(np.load(files[1]))
    apart = differences(ours(case, policy, critic), theirs)
    for name, number in apart.items():
        print(f"{name:22} {number:.1e}")
    worst = max(apart.values())
    print(
        f"{STEPS} steps in {COUNT} environments, {EPOCHS} passes: {'equal' if worst <= asked.tolerance else 'differ'}"
    )
    return int(worst > asked.tolerance)


if __name__ == "__main__":
    sys.exit(main())
