"""Shifted logits: by hand, bit for bit without a shift, by dense networks, and models that do not fit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from engine_cases import model_of
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell

from assay.engine.interface import Span
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.shifted import ShiftedSampler, shift
from assay.lab.transfer import recovered, transfer
from assay.lab.trial import small_model
from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, save_policy
from assay.rng import Key
from assay.source import Pool, Share
from assay.types import Problem, Request

END = frozenset({0})


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def engine(family: str = "qwen2", seed: int = 0, precision: str = "fp32") -> TorchEngine:
    model = model_of(family)
    with torch.no_grad():
        noise = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.add_(0.3 * seed * torch.randn(parameter.shape, generator=noise))
    return TorchEngine(model, end_ids=END, precision=precision, optimiser=None)  # type: ignore[arg-type]


def requests(count: int = 12) -> list[Request]:
    """Prompts of several lengths, some of them equal."""
    problem = Problem("countdown", "?", {}, "?")
    return [
        Request(problem, np.arange(1, 2 + i % 4, dtype=np.int32), "0:0", 4 + i % 7, sample=i, temperature=0.5 + i % 3)
        for i in range(count)
    ]


def test_the_sum_by_hand() -> None:
    large, tuned, untuned = (torch.tensor(z) for z in ([1.0, 2.0], [0.5, 4.0], [1.5, 3.0]))
    assert shift(large, tuned, untuned, 1.0).tolist() == [0.0, 3.0]
    assert shift(large, tuned, untuned, 0.5).tolist() == [0.5, 2.5]


def test_without_a_shift_samples_are_those_of_the_large_model_to_the_bit() -> None:
    large = engine()
    shifted = ShiftedSampler(large, engine("grouped", 1), engine("grouped", 2), times=0.0)
    plain, made = large.generate(requests(), Key(5)), shifted.generate(requests(), Key(5))
    for one, other in zip(plain, made, strict=True):
        assert one.finish == other.finish and np.array_equal(one.segment.ids, other.segment.ids)
        for name in ("old", "mu", "entropy"):
            assert np.array_equal(getattr(one.segment, name), getattr(other.segment, name)), name


def test_a_pair_without_a_difference_shifts_nothing() -> None:
    large, small = engine(), engine("grouped", 1)
    shifted = ShiftedSampler(large, small, engine("grouped", 1), times=3.0)
    plain, made = large.generate(requests(), Key(5)), shifted.generate(requests(), Key(5))
    assert all(np.array_equal(a.segment.ids, b.segment.ids) for a, b in zip(plain, made, strict=True))


@pytest.mark.parametrize("times", [1.0, -0.5])
def test_log_probs_are_those_of_the_sum_of_logits_of_each_network_alone(times: float) -> None:
    """log softmax(z + c) = log softmax(z) for every c, so that log-probs of single tokens say what the sum must be."""
    networks = [engine("qwen2", 0, "fp64"), engine("grouped", 1, "fp64"), engine("grouped", 2, "fp64")]
    asked = requests()
    vocab = networks[0].vocab
    for request, made in zip(asked, ShiftedSampler(*networks, times=times).generate(asked, Key(2)), strict=True):
        ids = made.segment.ids
        said = []  # [3, T, V]: each network's log-prob of every token at every place, one span for each
        for network in networks:
            spans = [
                Span(np.append(request.context, ids[:t]).astype(np.int32), np.array([v], np.int32))
                for t in range(len(ids))
                for v in range(vocab)
            ]
            found = np.array([one.logp[0] for one in network.score(spans)])
            said.append(torch.from_numpy(found.reshape(len(ids), vocab)).double())
        z = said[0] + times * (said[1] - said[2])
        wanted = torch.log_softmax(z / request.temperature, -1)[range(len(ids)), ids]
        assert made.segment.old is not None
        np.testing.assert_allclose(made.segment.old, wanted, rtol=2e-5, atol=2e-5)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_recovered_share(plain: float, oracle: float, share: float) -> None:
    found = recovered(plain + share * (oracle - plain), plain, oracle)
    if oracle <= plain:
        assert found is None
    elif oracle - plain > 1e-6:
        assert found == pytest.approx(share, abs=1e-6)


POOL = Pool((Share("countdown", (3,)),))


def test_arms_oracle_and_shares(tmp_path: Path) -> None:
    large, tuned = str(small_model(tmp_path / "large")), str(small_model(tmp_path / "tuned"))
    found = transfer(large, tuned, tuned, POOL, times=(1.0, 2.0), oracle=large, problems=4, samples=2, max_new=6)
    assert [arm["times"] for arm in found["arms"]] == [0.0, 1.0, 2.0]
    assert found["of_oracle"]["pass"] == found["arms"][0]["pass"] == found["arms"][2]["pass"]
    assert all(arm["recovered"] is None for arm in found["arms"])  # the oracle gained nothing


def test_models_that_read_other_tokens_are_refused(tmp_path: Path, shell: Shell) -> None:
    one = small_model(tmp_path / "one")
    tokenizer = character_tokenizer("".join(reversed([chr(i) for i in range(32, 127)])))
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 128, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("other")), tmp_path / "other")
    reply = shell("transfer", one, tmp_path / "other", one, "--task", "countdown:3", "--problems", "4", "--n", "2")
    assert reply.code == 78 and "do not read the same tokens: the token" in reply.err
    fewer = character_tokenizer("0123456789")
    save_policy(fresh_policy(dataclasses.replace(shape, vocab=fewer.vocab), fewer, key=Key("few")), tmp_path / "fewer")
    reply = shell("transfer", one, one, tmp_path / "fewer", "--task", "countdown:3", "--problems", "4", "--n", "2")
    assert reply.code == 78 and "missing in the other" in reply.err


def test_the_command(tmp_path: Path, shell: Shell) -> None:
    one, other = small_model(tmp_path / "one"), small_model(tmp_path / "other")
    asked = ("--task", "countdown:3", "--problems", "4", "--n", "2", "--max-new", "6", "--by", "0.5", "1")
    reply = shell("transfer", one, other, one, *asked, "--oracle", other)
    assert reply.code == 0, reply.err
    assert [line.split("  ")[0] for line in reply.out.splitlines()[:5]] == [
        "logits",
        "large",
        "large + 0.5 (tuned - untuned)",
        "large + 1 (tuned - untuned)",
        "trained large",
    ]
