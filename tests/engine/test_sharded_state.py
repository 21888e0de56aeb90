"""The state of a learner over ranks: files in Hugging Face's names, by all ranks, for any number of ranks."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_cases import Default, batch_of, engine_of, model_of, rows_of
from rank_groups import shared_ranks

from assay.engine.interface import Want
from assay.engine.local import LocalEngine
from assay.engine.sharded.engine import ShardedLearner
from assay.engine.sharded.ranks import RankLayout, RankLost, Ranks
from assay.errors import StorageError
from assay.policy.adapted import attach
from assay.policy.lora import Lora
from assay.record import disk
from assay.record.checkpoint import Store
from assay.rng import Key

pytestmark = [pytest.mark.slow, pytest.mark.turns(3)]
BATCH = batch_of(*rows_of([5, 1, 9, 3, 7]))
STEPPED: dict[
    str, dict[str, Any]
] = {  # how far weights may be apart after AdamW, which divides small gradients by their size
    "torch": {"rtol": 1e-9, "atol": 1e-11},
    "adapter": {"rtol": 1e-5, "atol": 1e-6},  # `transformers` turns by angles in fp32, also in a network of fp64
}
WRITE = partial(disk.write_new, point="checkpoint")


@pytest.fixture(scope="module")
def two() -> Ranks:
    return shared_ranks(2)


def step(engine: Any, *, moments: str = "") -> None:
    for chunk in engine.chunks(BATCH, tokens=20):
        out = engine.forward(chunk, Want())
        (chunk.streams["advantage"] * out.logp).sum().backward()
        engine.backward(chunk, out)
    engine.step(lr=1e-2, clip=1.0, moments=moments)


def kept(folder: Path, learner: Any) -> Path:
    store = Store(folder, {"run": "test"})
    folder.mkdir(exist_ok=True)
    return store.save(1, states=[learner.stored("policy")], tensors={})


def alike(learner: ShardedLearner, engine: LocalEngine) -> None:
    state = engine.state()
    found = {f"parameter/{name}": tensor for name, tensor in learner.tensors()}
    assert all(torch.equal(tensor, state[name]) for name, tensor in found.items())
    assert found.keys() == {name for name in state if name.startswith("parameter/")}
    assert learner.version == engine.version


@pytest.mark.parametrize("kind", ["torch", "adapter"])
def test_a_checkpoint_of_two_ranks_opens_on_one_and_on_three(
    two: Ranks, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Default, "kind", kind)
    learner = ShardedLearner(two, f"two {kind}", engine_of("grouped").model, precision="fp64")
    step(learner)
    step(learner, moments="teacher")
    folder = kept(tmp_path / "two", learner)
    names = {path.name for path in (folder / "policy").iterdir()}
    assert names == {f"model-0000{i}-of-00002.safetensors" for i in (1, 2)} | {"model.safetensors.index.json"}
    one = engine_of("grouped", seed=9, precision="fp64")
    one.restore(folder, "policy", learner.version)
    alike(learner, one)
    three = ShardedLearner(shared_ranks(3), f"three {kind}", engine_of("grouped", seed=8).model, precision="fp64")
    three.restore(folder, "policy", learner.version)
    alike(three, one)
    again = kept(tmp_path / "three", three)
    back = engine_of("grouped", seed=7, precision="fp64")
    back.restore(again, "policy", 2)
    for name, value in one.state().items():
        assert torch.equal(value, back.state()[name]) if isinstance(value, torch.Tensor) else True, name
    for engine in (learner, three, one):
        step(engine)
        step(engine, moments="teacher")
    ours, theirs = dict(learner.tensors()), dict(three.tensors())
    for name, tensor in one.state().items():
        if name.startswith("parameter/"):
            bare = name.removeprefix("parameter/")
            torch.testing.assert_close(ours[bare], tensor, **STEPPED[kind])
            torch.testing.assert_close(theirs[bare], tensor, **STEPPED[kind])


def test_the_checkpoint_of_one_process_opens_on_two_ranks(two: Ranks, tmp_path: Path) -> None:
    one = engine_of("grouped")
    step(one)
    folder = kept(tmp_path / "one", one)
    learner = ShardedLearner(two, "from one", model_of("grouped", seed=4), precision="fp32")
    learner.restore(folder, "policy", one.version)
    alike(learner, one)
    index = json.loads((kept(tmp_path / "two", learner) / "optimiser/policy.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == {
        name.removeprefix("optimiser/") for name in one.state() if name.startswith("optimiser/")
    }


def test_an_adapter_is_one_file_that_peft_reads(two: Ranks, tmp_path: Path) -> None:
    model = attach(model_of("grouped"), Lora(rank=2, alpha=4.0), key=Key("lora"))
    learner = ShardedLearner(two, "adapter", model, precision="fp32")
    step(learner)
    folder = kept(tmp_path / "adapter", learner)
    assert [path.name for path in (folder / "policy").iterdir()] == ["adapter_model.safetensors"]


def test_a_state_of_another_model_is_refused_and_the_ranks_live_on(two: Ranks, tmp_path: Path) -> None:
    folder = kept(tmp_path / "other", engine_of("llama"))
    learner = ShardedLearner(two, "refuses", model_of("grouped"), precision="fp32")
    with pytest.raises(StorageError, match=r"another model|shape"):
        learner.restore(folder, "policy", 1)
    step(learner)


def test_a_disk_that_fails_on_a_rank_fails_the_save_and_nothing_else(two: Ranks, tmp_path: Path) -> None:
    learner = ShardedLearner(two, "full", model_of("grouped"), precision="fp32")
    step(learner)
    state = learner.stored("policy")
    with pytest.raises(OSError, match="policy"):
        state.write(tmp_path / "nowhere", WRITE)
    step(learner)
    assert kept(tmp_path / "there", learner).is_dir()


@pytest.mark.parametrize("point", ["before_write", "after_write:kill:3", "before_fsync", "after_fsync:kill:2"])
def test_a_rank_that_is_killed_in_a_save_leaves_no_half_checkpoint(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, rest = point.partition(":")
    monkeypatch.setenv("ASSAY_FAILPOINT", f"checkpoint.{name}:{rest or 'kill'}")  # read by the ranks, which start now
    with Ranks(RankLayout(size=2, deadline=60)) as group:
        monkeypatch.delenv("ASSAY_FAILPOINT")
        learner = ShardedLearner(group, "killed", model_of("grouped"), precision="fp32")
        with pytest.raises(RankLost, match="SIGKILL"):
            kept(tmp_path / "store", learner)
        assert list((tmp_path / "store").iterdir()) == []
        with pytest.raises(RankLost, match="SIGKILL"):
            learner.forget()


def test_ranks_hold_their_share_of_a_model_of_300_megabytes() -> None:
    """Read in the ranks and seen in their resident size: weights, gradients and two moments, 16 bytes a parameter."""
    shape = {"hidden": 1024, "ffn": 2816, "layers": 6, "heads": 8, "kv_heads": 8, "head_dim": 128}
    model = model_of("qwen2", **shape)
    count = sum(p.numel() for p in model.parameters())
    assert 4 * count > 300e6
    with Ranks(RankLayout(size=2, deadline=120)) as group:
        pids = [facts["pid"] for facts in group.facts]
        before = [resident(pid) for pid in pids]
        learner = ShardedLearner(group, "large", model, precision="fp32")
        step(learner)
        grown = [resident(pid) - was for pid, was in zip(pids, before, strict=True)]
        held = group.call("do", "large", "held_numbers")
    assert sum(one["parameters"] for one in held) == count
    assert all(abs(one["parameters"] - count / 2) < 0.01 * count for one in held)
    assert all(one["moments"] == 2 * one["parameters"] for one in held)
    assert max(grown) < 0.8 * 16 * count, "whole, they would take 16 bytes a parameter and the layers' activations"


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
