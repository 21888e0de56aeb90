"""Weights beyond the last checkpoint: the line by hand, exact cases, and folders that are refused or written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell
from torch import Tensor

from assay.lab.extrapolate import directions, extrapolate, extrapolated, matrices, predicted
from assay.lab.trial import small_model
from assay.policy import load_policy, save_policy

NAME = "model.layers.0.mlp.up_proj.weight"


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_a_line_by_hand() -> None:
    """a = (1, 0), (2, 1), (3, 2) at scores 1, 2, 3: at 5 it is (5, 4), and at the mean the mean."""
    series = [vector(1, 0), vector(2, 1), vector(3, 2)]
    torch.testing.assert_close(predicted(series, [1, 2, 3], 5.0), vector(5, 4))
    torch.testing.assert_close(predicted(series, [1, 2, 3], 2.0), vector(2, 1))
    torch.testing.assert_close(predicted([vector(1, 1)] * 3, [1, 2, 3], 9.0), vector(1, 1))


def test_one_component_by_hand() -> None:
    """a' = (-1, 1), (0, -2), (1, 1), y' = -1, 0, 1: w = (2, 0), tau = -2, 0, 2, p = (1/2, 0), q = 1/2: the second
    coordinate does not go with the score.
    """
    series = [vector(0, 3), vector(1, 0), vector(2, 3)]
    torch.testing.assert_close(predicted(series, [1, 2, 3], 4.0), vector(3, 2))


def test_signs_are_turned_to_those_of_the_checkpoint_before() -> None:
    u, v = vector(0.6, 0.8), vector(1, 0, 0)
    series, side = directions([torch.outer(size * u, v) for size in (1.0, 2.0, 3.0)])
    sign = 1.0 if torch.dot(series[0], u) > 0 else -1.0
    for size, found in zip((1.0, 2.0, 3.0), series, strict=True):
        torch.testing.assert_close(found, sign * size * u)
    torch.testing.assert_close(side, sign * v)


@given(st.integers(2, 6), st.floats(1, 3), st.integers(0, 99))
def test_a_run_that_moves_along_one_direction_is_followed_exactly(count: int, beyond: float, seed: int) -> None:
    """W_t = W_0 + t u v^T: at t* the weights are W_0 + t* u v^T, whatever the signs of the decomposition."""
    random = np.random.default_rng(seed)
    start = torch.from_numpy(random.normal(size=(4, 3)))
    step = torch.outer(torch.from_numpy(random.normal(size=4)), torch.from_numpy(random.normal(size=3)))
    later = [{NAME: start + t * step} for t in range(1, count + 1)]
    goal = beyond * count
    found, told = extrapolated({NAME: start}, later, [float(t) for t in range(1, count + 1)], goal)
    torch.testing.assert_close(found[NAME], start + goal * step, rtol=1e-6, atol=1e-8)
    assert told["rank_1_energy"] == pytest.approx(1) and told["reach"] == pytest.approx(beyond)


def test_what_would_go_too_far_is_shortened_and_counted() -> None:
    start = torch.zeros(2, 2, dtype=torch.float64)
    step = torch.outer(vector(1, 0), vector(0, 1))
    found, told = extrapolated({NAME: start}, [{NAME: step}, {NAME: 2 * step}], [1.0, 2.0], 50.0)
    torch.testing.assert_close(found[NAME], 8 * step)
    assert told["shortened"] == 1 and told["reach"] == pytest.approx(4)


# Folders


def models(folder: Path) -> list[str]:
    """An untrained model, and three whose matrices have moved by 1, 2 and 3 steps of one direction; biases too."""
    place = small_model(folder / "start")
    policy = load_policy(place)
    state = policy.network.state_dict()
    generator = torch.Generator().manual_seed(1)
    moves = {
        name: torch.outer(*(0.1 * torch.randn(size, generator=generator) for size in state[name].shape))
        for name in matrices(state)
    }
    made = [str(place)]
    for t in (1, 2, 3):
        changed = {
            n: w + t * moves[n] if n in moves else w + (0.5 if n.endswith("bias") else 0) for n, w in state.items()
        }
        save_policy(policy, folder / f"step-{t}", weights=changed)
        made.append(str(folder / f"step-{t}"))
    return made


def test_a_folder_is_written_that_opens_as_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start, *later = models(tmp_path)
    shell = Shell(capsys)
    reply = shell("extrapolate", start, *later, "--into", tmp_path / "out", "--to", "6", "--json")
    assert reply.code == 0 and reply.document["matrices"] == 7 and reply.document["reach"] == pytest.approx(2, rel=1e-4)
    one, last, found = (load_policy(place).network.state_dict() for place in (start, later[-1], tmp_path / "out"))
    for name in one:
        wanted = one[name] + 2 * (last[name] - one[name]) if name in matrices(one) else one[name]
        torch.testing.assert_close(found[name], wanted, rtol=1e-4, atol=1e-5)
    assert json.loads((tmp_path / "out" / "extrapolation.json").read_text())["scores"] == [1.0, 2.0, 3.0]
    assert shell("sample", tmp_path / "out", "C 1,2", "--max-new", "2").code == 0
    assert "2.00 times as far" in shell("extrapolate", start, *later, "--into", tmp_path / "b", "--to", "6").out


def test_the_score_of_the_last_checkpoint_gives_its_matrices(tmp_path: Path) -> None:
    start, *later = models(tmp_path)
    extrapolate(start, later, tmp_path / "out", to=0.4, scores=[0.2, 0.3, 0.4])
    last, found = (load_policy(place).network.state_dict() for place in (later[-1], tmp_path / "out"))
    for name in matrices(last):
        torch.testing.assert_close(found[name], last[name], rtol=1e-4, atol=1e-5)


def test_what_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start, *later = models(tmp_path)
    shell, into = Shell(capsys), ("--into", tmp_path / "out", "--to", "5")
    for arguments, code, told in [
        ((start, later[0]), 2, "a line needs two checkpoints or more beside the start, and 1 came"),
        ((start, *later, "--scores", "1", "2"), 2, "2 numbers came for 3 checkpoints"),
        ((start, *later, "--scores", "1", "1", "1"), 2, "the same score"),
        ((start, start, start), 2, "no matrix of attention or MLP differs"),
        ((start, later[0], _wider(tmp_path)), 78, "are unlike models: 'lm_head.weight' is"),
    ]:
        reply = shell("extrapolate", *arguments, *into)
        assert reply.code == code and told in reply.err, reply.err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    reply = shell("extrapolate", start, *later, "--into", tmp_path / "full", "--to", "5")
    assert reply.code == 2 and "exists already" in reply.err


def _wider(folder: Path) -> str:
    from assay.policy import PolicyConfig, character_tokenizer, fresh_policy
    from assay.rng import Key
    from assay.tasks import ALPHABET

    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 32, 1, 2, 2, 8, 32, 128, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key(0)), folder / "wider")
    return str(folder / "wider")
