"""`rank1-dynamics`: directions and paths by hand, partial least squares written again, lines and walks judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import GRADED, Shell, make_model, train_line

from assay.lab.analyses import rank1_dynamics, rebuilt
from assay.lab.analyses.changes import changes, energy
from assay.lab.analyses.measure import Lacking, Reading
from assay.lab.analyses.pair import Pair, Side
from assay.lab.analyses.rank1_dynamics import ONE, RANDOM, models, take
from assay.lab.analyses.rank_one import (
    aligned,
    energy_share,
    explained,
    linear,
    log_odds,
    matched,
    random_direction,
    second,
    steps_of,
    straightness,
    truncated,
    turning,
)
from assay.rng import Key

NAMES = [f"model.layers.{layer}.mlp.{kind}_proj.weight" for layer in range(2) for kind in ("gate", "up")]
SIDE = (16, 12)
STEPS = list(range(5, 65, 5))
Weights = dict[str, np.ndarray]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_directions_by_hand() -> None:
    """diag(4, 3): energy 25, of which 16 in the first direction; matched to norm 5."""
    delta = np.diag([4.0, 3.0])
    np.testing.assert_allclose(truncated(delta), np.diag([4.0, 0.0]), atol=1e-12)
    np.testing.assert_allclose(matched(delta), np.diag([5.0, 0.0]), atol=1e-12)
    np.testing.assert_allclose(second(delta), np.diag([0.0, 5.0]), atol=1e-12)
    assert energy_share(delta) == pytest.approx(16 / 25)
    np.testing.assert_array_equal(second(np.diag([4.0, 0.0])), np.zeros((2, 2)))


@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 99))
def test_every_control_has_rank_one_and_the_norm_of_the_change(m: int, n: int, seed: int) -> None:
    delta = np.random.default_rng(seed).normal(size=(m, n))
    for made in (matched(delta), second(delta), random_direction(delta, Key(seed))):
        sizes = np.linalg.svd(made, compute_uv=False)
        assert sizes[0] == pytest.approx(energy(delta) ** 0.5) and sizes[1] < 1e-9 * sizes[0]
    np.testing.assert_allclose(matched(delta) * energy_share(delta) ** 0.5, truncated(delta), atol=1e-9)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=8), st.integers(0, 99))
def test_signs_are_walked_back_from_the_last(flips: list[int], seed: int) -> None:
    """Directions near one another, some turned round: all are turned to the last one."""
    random = np.random.default_rng(seed)
    common = np.ones(5)
    found = [(-1) ** flip * (common + 0.1 * random.normal(size=5)) for flip in flips]
    signs = aligned(found)
    assert signs[-1] == 1
    assert signs == [(-1) ** (flip - flips[-1]) for flip in flips]


def test_paths_by_hand() -> None:
    """(0, 0), (1, 0), (1, 1): as long as 2, as far as sqrt 2, with a right angle. On a line all is one."""
    corner = steps_of([np.array(point, dtype=float) for point in ((0, 0), (1, 0), (1, 1))])
    np.testing.assert_array_equal(corner, np.eye(2))
    assert straightness(corner) == pytest.approx(2**-0.5) and turning(corner) == 0
    line = steps_of([t * np.array([3.0, 4.0]) for t in (0, 1, 3, 7)])
    assert straightness(line) == pytest.approx(1) and turning(line) == pytest.approx(1)


@given(st.integers(4, 9), st.integers(1, 6), st.integers(0, 99))
def test_partial_least_squares_over_products_is_that_over_vectors(count: int, side: int, seed: int) -> None:
    """Written again with vectors: w = sum y' z' over the fitted, tau = <z - mean z, w>, and the ratio of squares."""
    random = np.random.default_rng(seed)
    z, y, fitted = random.normal(size=(count, side)), random.normal(size=count), 3
    middle, level = z[:fitted].mean(0), y[:fitted].mean()
    tau = (z - middle) @ ((y[:fitted] - level) @ (z[:fitted] - middle))
    told = level + tau * (tau[:fitted] @ (y[:fitted] - level)) / (tau[:fitted] @ tau[:fitted])
    if count - fitted > 1:
        rest = y[fitted:]
        wanted = 1 - ((rest - told[fitted:]) ** 2).sum() / ((rest - rest.mean()) ** 2).sum()
        assert float(explained(steps_of(list(z)), y, fitted)) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    turned = np.linalg.qr(random.normal(size=(side, side)))[0]
    moved = steps_of(list(3 * z @ turned + random.normal(size=side)))
    whole = float(explained(steps_of(list(z)), y, count))
    assert float(explained(moved, y, count)) == pytest.approx(whole, rel=1e-6, abs=1e-6) and whole <= 1 + 1e-9


def test_a_line_is_told_from_random_walks() -> None:
    random, y = np.random.default_rng(0), np.arange(12.0)
    paths = [steps_of([t * u + 0.05 * random.normal(size=30) for t in y]) for u in random.normal(size=(5, 30))]
    found = linear(paths, y, Key(0))
    assert found.holds and found.later > 0.95 > found.chance_later


def test_random_walks_are_seldom_called_lines() -> None:
    """Walks of one, three and two hundred dimensions: 5 of 100 are the rule, and none is when signs change nothing."""
    random, y = np.random.default_rng(1), np.arange(12.0)
    for side in (1, 3, 200):
        held = 0
        for number in range(60):
            walks = [steps_of(list(np.cumsum(random.normal(size=(12, side)), axis=0))) for _ in range(3)]
            held += linear(walks, y, Key(number)).holds
        assert held <= 8, side


def test_all_fitted_tells_nothing() -> None:
    """Why later checkpoints are judged: a walk of many dimensions is told with R^2 near one where all are fitted."""
    random, y = np.random.default_rng(2), np.arange(12.0)
    found = linear([steps_of(list(np.cumsum(random.normal(size=(12, 500)), axis=0)))], y, Key(0))
    assert found.whole > 0.8 and found.chance_whole > 0.8 and not found.holds


def test_orthogonal_steps_stand_in_the_middle() -> None:
    found = linear([np.eye(11)], np.arange(12.0), Key(0))
    assert found.percentile == pytest.approx(0.5) and found.later == pytest.approx(found.chance_later)


def test_log_odds_by_hand() -> None:
    """3 of 4: log(3.5 / 1.5); none of 4: log(0.5 / 4.5)."""
    assert log_odds(0.75, 4) == pytest.approx(np.log(3.5 / 1.5))
    assert log_odds(0.0, 4) == pytest.approx(np.log(0.5 / 4.5))


def start() -> Weights:
    random = np.random.default_rng(0)
    return {name: random.normal(size=SIDE) for name in NAMES}


def along_a_line() -> list[Weights]:
    """W_t = W_0 + t u v^T / 100, with a little noise of full rank."""
    random, base = np.random.default_rng(1), start()
    steps = {name: np.outer(random.normal(size=SIDE[0]), random.normal(size=SIDE[1])) / 100 for name in base}
    return [
        {name: base[name] + t * steps[name] + 1e-3 * random.normal(size=SIDE) for name in base}
        for t in range(1, len(STEPS) + 1)
    ]


def walking() -> list[Weights]:
    """W_t = W_{t-1} + noise of full rank."""
    random, later = np.random.default_rng(1), [start()]
    for _ in STEPS:
        later.append({name: array + 1e-2 * random.normal(size=SIDE) for name, array in later[-1].items()})
    return later[1:]


def take_of(later: Sequence[Weights], monkeypatch: pytest.MonkeyPatch) -> Reading:
    """The reading of a run with these checkpoints, in whose exam a model is as right as its change agrees with the
    child's: <D, Delta> / ||Delta||^2 of the way.
    """
    base, child = start(), later[-1]

    def ask(weights: Mapping[str, np.ndarray]) -> np.ndarray:
        agrees = sum(float(np.vdot(weights[name] - base[name], child[name] - base[name])) for name in NAMES)
        return np.linspace(0.1, 0.2, 40) + 0.5 * agrees / sum(energy(child[name] - base[name]) for name in NAMES)

    kept = dict(zip(STEPS, later, strict=True))
    pair = Pair(Side("base"), Side("child"))
    pair.__dict__["weights"] = (base, child)
    monkeypatch.setattr(rebuilt, "examiner", lambda pair: ask)
    monkeypatch.setattr(rank1_dynamics, "_checkpoints", lambda pair: [(step, Path(str(step))) for step in STEPS])
    monkeypatch.setattr(rank1_dynamics, "_weights", lambda path: kept[int(path.name)])
    monkeypatch.setattr(rank1_dynamics, "_told_by", lambda run, steps: {"step": [float(step) for step in steps]})
    return take(pair)


def test_a_run_along_one_direction_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = take_of(along_a_line(), monkeypatch)
    shares: Any = reading.figures["exam"]["recovery"]
    assert reading.figures["energy_share"] > 0.95
    assert shares[ONE]["mean"] == pytest.approx(1, abs=0.02) and abs(shares[RANDOM]["mean"]) < 0.3
    assert shares["the whole change, twice"]["mean"] == pytest.approx(2)
    assert shares["first directions, from 25 to 60"]["mean"] == pytest.approx(1, abs=0.05)
    assert shares["checkpoint 25"]["mean"] == pytest.approx(25 / 60, abs=0.05)
    assert reading.figures["linear"]["step"]["holds"] and "It moves along a line" in reading.says


def test_a_walk_of_full_rank_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first direction, with norms matched, has sigma_1 / ||Delta|| of the way: far from all."""
    reading = take_of(walking(), monkeypatch)
    share = reading.figures["exam"]["recovery"][ONE]["mean"]
    assert share == pytest.approx(reading.figures["energy_share"] ** 0.5, abs=0.05) and share < 0.8
    assert not reading.figures["linear"]["step"]["holds"]
    assert "no more along a line than random walks" in reading.says


def test_rebuilt_models_leave_all_but_matrices_at_the_base() -> None:
    before = start() | {"model.embed_tokens.weight": np.ones((3, 3)), "model.norm.weight": np.ones(3)}
    after = {name: array + np.random.default_rng(3).normal(size=array.shape) for name, array in before.items()}
    made = models(changes(before, after), before)
    for name, weights in made.items():
        assert np.array_equal(weights["model.norm.weight"], np.ones(3)) == (name != "the whole change, twice")
    np.testing.assert_allclose(made["all of the matrices"][NAMES[0]], after[NAMES[0]])


def test_a_pair_without_checkpoints_is_refused() -> None:
    pair = Pair(Side("base"), Side("child"))
    pair.__dict__["weights"] = (start(), along_a_line()[-1])
    with pytest.raises(Lacking, match=r"child has 0 checkpoints after base, and 8 are the least: train with"):
        take(pair)


@pytest.mark.slow
def test_a_run_is_read_from_its_folder(shell: Shell, tmp_path: Path) -> None:
    """The learning rate, the step and the run's own exams tell the path; a model that knows nothing gains nothing, and
    its exams have no spread to tell.
    """
    bare, run = make_model(tmp_path / "model"), tmp_path / "run"
    (tmp_path / "rewards.py").write_text(GRADED)
    reward = ("--only-reward", f"{tmp_path / 'rewards.py'}:graded", "--trust-code")
    line = train_line(bare, run, *reward, saving_keep=20, evaluation_every=1)
    line[line.index("--steps") + 1] = "9"
    assert shell(*line).code == 0
    reply = shell("analyse", bare, run, "--only", "rank1-dynamics", "--into", tmp_path / "told", "--json", "--quiet")
    assert reply.code == 0, reply.err
    found = reply.document["measures"]["rank1-dynamics"]
    assert found["steps"][-1] == 9 and len(found["steps"]) >= 8
    assert {"learning rate spent", "step"} <= set(found["linear"])
    assert found["exam"]["recovery"] is None and 0 < found["energy_share"] <= 1
