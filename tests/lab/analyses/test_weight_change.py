"""`weight-change`: norms, shares and transplants by hand, what must not change, and constructed truths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import GRADED, Shell, make_model, train_line

from assay.lab.analyses import rebuilt
from assay.lab.analyses.changes import Change, changes, energy, first_direction, gini
from assay.lab.analyses.measure import Lacking
from assay.lab.analyses.pair import Pair, Side
from assay.lab.analyses.rebuilt import Scores, with_changes
from assay.lab.analyses.rebuilt import rebuilt as rebuilt_policy
from assay.lab.analyses.weight_change import by_kind, by_layer, inequality, moved, query_ratios, take, transplants
from assay.policy.plain_folder import fresh_mlp, fresh_table
from assay.rng import Key

Q, K = (f"model.layers.0.self_attn.{name}_proj.weight" for name in "qk")
UP, DOWN = (f"model.layers.0.mlp.{name}_proj.weight" for name in ("up", "down"))
EMBED, NORM = "model.embed_tokens.weight", "model.norm.weight"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def pair_of(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> Pair:
    """A pair whose weights are these arrays."""
    pair = Pair(Side("base"), Side("child"))
    pair.__dict__["weights"] = (before, after)
    return pair


def layers(count: int, side: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The matrices of so many layers, an embedding and a norm, with random numbers."""
    random = np.random.default_rng(seed)
    names = [("self_attn", kind) for kind in "qkvo"] + [("mlp", kind) for kind in ("gate", "up", "down")]
    arrays = {
        f"model.layers.{layer}.{block}.{kind}_proj.weight": random.normal(size=(side, side))
        for layer in range(count)
        for block, kind in names
    }
    return {EMBED: random.normal(size=(2 * side, side)), **arrays, NORM: np.ones(side)}


def test_kinds_and_layers_are_read_from_names() -> None:
    array = np.zeros((2, 2))
    kinds = {name: Change(name, array, array).kind for name in (Q, K, UP, DOWN, EMBED, "lm_head.weight")}
    assert kinds == {Q: "q", K: "k", UP: "up", DOWN: "down", EMBED: "embedding", "lm_head.weight": "embedding"}
    assert Change(Q.replace("weight", "bias"), np.zeros(2), np.zeros(2)).kind == "vector"
    assert Change("layers.3.weight", array, array).kind == "matrix"
    assert Change("layers.3.weight", array, array).layer == 3 and Change(EMBED, array, array).layer is None
    assert not Change(EMBED, array, array).inner and Change(Q, array, array).inner


def test_norms_and_shares_by_hand() -> None:
    """q: 4 numbers move by 1, from norm 4: ||D|| = 2, RMS 1, relative 1/2; up: 12 numbers of which one moves by 2. Both
    have half of the energy; q has a quarter of the numbers.
    """
    before = {Q: np.full((2, 2), 2.0), UP: np.zeros((3, 4))}
    after = {Q: np.full((2, 2), 3.0), UP: np.zeros((3, 4))}
    after[UP][0, 0] = 2.0
    q, up = by_kind(changes(before, after))
    assert (q.name, q.change, q.rms, q.relative) == ("q", 2.0, 1.0, 0.5)
    assert (q.energy_share, q.number_share, q.excess, q.along) == (0.5, 0.25, 0.25, 1.0)
    assert (up.change, up.relative, up.excess, up.along) == (2.0, None, -0.25, 0.0)
    assert up.rms == pytest.approx(2 / 12**0.5)
    (ratio,) = query_ratios(changes(before, after))
    assert ratio == pytest.approx(1 / (4 / 12) ** 0.5)


def test_a_change_along_the_weights_is_told_apart() -> None:
    """W_0 = (3, 4), D = -0.1 W_0 + 0.5 (4, -3)/5: along W_0 0.25 of 0.25 + 0.25."""
    start = np.array([[3.0, 4.0]])
    after = start * 0.9 + 0.5 * np.array([[4.0, -3.0]]) / 5
    (one,) = by_kind(changes({Q: start}, {Q: after}))
    assert one.along == pytest.approx(0.5)


def test_inequality_by_hand() -> None:
    """(1, 3): sum of |differences| over ordered pairs is 4, over 2 n sum x = 16."""
    assert gini([1.0, 3.0]) == pytest.approx(0.25)
    assert gini([2.0, 2.0, 2.0]) == pytest.approx(0.0)
    assert gini([0.0, 0.0, 0.0, 5.0]) == pytest.approx(0.75)
    assert gini([0.0, 0.0]) == 0.0


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.floats(0.1, 10))
def test_inequality_is_the_mean_difference_and_knows_no_unit(values: list[float], unit: float) -> None:
    n, total = len(values), sum(values)
    pairs = sum(abs(a - b) for a in values for b in values)
    assert gini(values) == pytest.approx(pairs / (2 * n * total) if total else 0.0, abs=1e-9)
    assert gini([unit * value for value in values]) == pytest.approx(gini(values), abs=1e-9)


@given(st.integers(1, 3), st.integers(2, 5), st.integers(0, 99))
def test_shares_add_to_one_and_parts_to_the_whole(count: int, side: int, seed: int) -> None:
    before, after = layers(count, side, seed), layers(count, side, seed + 1)
    both = changes(before, after)
    kinds = by_kind(both)
    assert sum(one.energy_share for one in kinds) == pytest.approx(1)
    assert sum(one.number_share for one in kinds) == pytest.approx(1)
    assert sum(one.change**2 for one in kinds) == pytest.approx(moved("all", both, both).change ** 2)
    assert [one.name for one in by_layer(both)] == [str(layer) for layer in range(count)]
    models = transplants(both, before)
    for part in ("attention", "MLP", "all others"):
        alone, without = models[f"{part} alone"], models[f"without {part}"]
        for name in before:
            np.testing.assert_allclose(alone[name] + without[name], before[name] + after[name], atol=1e-12)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_the_first_direction_is_that_of_the_decomposition(m: int, n: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(m, n))
    size, u, v = first_direction(x)
    assert size == pytest.approx(np.linalg.svd(x, compute_uv=False)[0])
    np.testing.assert_allclose(x @ v, size * u, atol=1e-9)
    np.testing.assert_allclose(x.T @ u, size * v, atol=1e-9)


def test_an_update_that_is_as_large_everywhere_is_concentrated_nowhere() -> None:
    before = layers(4, 24)
    noise = {name: np.random.default_rng(1).normal(size=array.shape) * 1e-3 for name, array in before.items()}
    both = changes(before, with_changes(before, noise))
    assert all(abs(one.excess) < 0.01 for one in by_kind(both))
    assert all(0.9 < ratio < 1.1 for ratio in query_ratios(both)) and inequality(both) < 0.05


def test_an_update_of_queries_and_keys_is_found_there() -> None:
    before = layers(4, 16)
    random = np.random.default_rng(1)
    after = {
        name: array + random.normal(size=array.shape) * (3e-3 if ".q_" in name or ".k_" in name else 1e-3)
        for name, array in before.items()
    }
    reading = take(pair_of(before, after))
    assert all(2.7 < ratio < 3.3 for ratio in reading.figures["query_ratios"])
    assert "more than 1.2 times in 4 of 4 layers" in reading.says and "is concentrated" in reading.says
    assert reading.figures["transplants"] is None
    assert any("which problems to ask is not known" in line for line in reading.beware)


def test_the_part_that_carries_the_gain_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model answers rightly as far as its matrices `up` are those of the child: MLP suffices, and is needed."""
    before, after = layers(2, 4), layers(2, 4, 1)

    def ask(weights: dict[str, np.ndarray]) -> np.ndarray:
        there = energy(weights[UP] - before[UP]) / energy(after[UP] - before[UP])
        return np.linspace(0.1, 0.3, 30) + 0.5 * there

    monkeypatch.setattr(rebuilt, "examiner", lambda pair: ask)
    reading = take(pair_of(before, after))
    shares = reading.figures["transplants"]["recovery"]
    assert shares["MLP alone"]["mean"] == pytest.approx(1) and shares["without MLP"]["mean"] == pytest.approx(0)
    assert shares["attention alone"]["mean"] == pytest.approx(0, abs=1e-12)
    assert "MLP alone carries most of the gain: 100%" in reading.says


def test_nothing_is_shared_where_nothing_was_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = layers(1, 4), layers(1, 4, 1)
    draws = np.random.default_rng(0)
    monkeypatch.setattr(rebuilt, "examiner", lambda pair: lambda weights: draws.uniform(size=40))
    reading = take(pair_of(before, after))
    assert reading.figures["transplants"]["recovery"] is None and "of the gain" not in reading.says
    assert any("not shown to be better" in line for line in reading.beware)


def test_recovery_by_hand() -> None:
    """Gains 0.4 and 0.2 of the child, 0.2 and 0.1 of the other: one half, and no luck in it."""
    found = Scores({"base": np.array([0.1, 0.2]), "child": np.array([0.5, 0.4]), "other": np.array([0.3, 0.3])})
    share = found.recovery("other")
    assert (share.mean, share.low, share.high) == pytest.approx((0.5, 0.5, 0.5))
    assert found.resolved and found.figures()["gain"]["mean"] == pytest.approx(0.3)


def test_pairs_without_a_change_are_refused() -> None:
    before = layers(1, 3)
    with pytest.raises(Lacking, match="the same weights"):
        take(pair_of(before, dict(before)))


def test_a_rebuilt_policy_has_the_weights_that_were_given(tmp_path: Path) -> None:
    """A matrix that is embedding and head at once stands under one name, and the policy it came from stays."""
    side = Side("base", model=str(make_model(tmp_path / "model")))
    assert "lm_head.weight" not in side.weights and EMBED in side.weights
    wanted = {name: array + 1 for name, array in side.weights.items()}
    made = rebuilt_policy(side.policy, wanted).weights()
    assert set(made) >= set(wanted)
    for name, array in wanted.items():
        np.testing.assert_allclose(made[name].numpy(), array, rtol=1e-6)
        np.testing.assert_array_equal(side.policy.weights()[name].double().numpy(), side.weights[name])
    np.testing.assert_array_equal(made["lm_head.weight"].numpy(), made[EMBED].numpy())


@pytest.mark.parametrize("kind", ["mlp", "table"])
def test_policies_without_layers_are_measured_by_their_matrices(kind: str) -> None:
    """They have neither attention nor q and k, and nothing is said of these."""
    policy = fresh_mlp("8:4x2", key=Key(0)) if kind == "mlp" else fresh_table("4x2", key=Key(0))
    before = {name: tensor.detach().double().numpy() for name, tensor in policy.network.named_parameters()}
    reading = take(pair_of(before, {name: array + 1 for name, array in before.items()}))
    assert set(reading.figures["kinds"]) <= {"matrix", "vector"} and reading.figures["query_ratios"] == []


@pytest.mark.slow
def test_a_run_is_read_with_its_checkpoints_and_examined(shell: Shell, tmp_path: Path) -> None:
    """A model that knows nothing gains nothing, so that no share of a gain is told; the change at the last checkpoint
    is that of the pair.
    """
    model, run = make_model(tmp_path / "model"), tmp_path / "run"
    (tmp_path / "rewards.py").write_text(GRADED)
    reward = ("--only-reward", f"{tmp_path / 'rewards.py'}:graded", "--trust-code")
    line = train_line(model, run, *reward, saving_keep=9)
    assert shell(*line).code == 0
    reply = shell("analyse", model, run, "--only", "weight-change", "--into", tmp_path / "told", "--json", "--quiet")
    assert reply.code == 0, reply.err
    found = reply.document["measures"]["weight-change"]
    assert found["series"][-1]["q"] == pytest.approx(found["kinds"]["q"]["rms"]) and len(found["series"]) > 2
    exam = found["transplants"]
    assert exam["samples"] == 16 and not exam["resolved"] and set(exam["pass_1"]) >= {"base", "child", "MLP alone"}
    assert (tmp_path / "told" / "analysis.html").stat().st_size > 1000
