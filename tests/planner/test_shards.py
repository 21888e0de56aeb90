"""The planner's numbers of a rank are FSDP2's own, at 2 to 512 ranks, under a process group that only pretends."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from assay.engine.sharded.network import PackedNetwork, shard
from assay.planner.shapes import PUBLISHED
from assay.planner.shards import held, most, numbers, padded, rows_of, units
from assay.policy.config import PolicyConfig, parameters
from assay.policy.transformer import Transformer


@given(count=st.integers(1, 5000), shards=st.integers(1, 600))
def test_ranks_hold_every_row_once(count: int, shards: int) -> None:
    rows = [rows_of(count, shards, rank) for rank in range(shards)]
    assert sum(rows) == count and rows == sorted(rows, reverse=True)
    assert [len(one) for one in torch.arange(count).chunk(shards)] == [n for n in rows if n]


@pytest.mark.parametrize("name", PUBLISHED)
def test_units_have_all_parameters(name: str) -> None:
    c = PUBLISHED[name]
    assert sum(math.prod(shape) for unit in units(c) for shape in unit) == parameters(c)
    assert most(c, 1) == parameters(c) == sum(map(numbers, units(c)))


def test_published_sizes() -> None:
    """In billions of parameters, as their cards say."""
    told = {"Qwen/Qwen2.5-0.5B": 0.494, "Qwen/Qwen2.5-7B": 7.62, "Qwen/Qwen2.5-32B": 32.8, "Qwen/Qwen3-8B": 8.19}
    told |= {"meta-llama/Llama-3.1-8B": 8.03, "meta-llama/Llama-3.2-1B": 1.24, "Qwen/Qwen3-0.6B": 0.596}
    for name, billions in told.items():
        assert parameters(PUBLISHED[name]) / 1e9 == pytest.approx(billions, rel=5e-3), name


@pytest.fixture
def pretended(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """(ranks, the rank that this process pretends to be)"""
    world, rank = request.param
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    yield world, rank
    dist.destroy_process_group()


def few_layers(name: str) -> PolicyConfig:
    return dataclasses.replace(PUBLISHED[name], layers=2)


CASES = [(2, 0), (2, 1), (3, 2), (7, 6), (8, 3), (64, 63), (512, 0), (512, 511)]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("pretended", CASES, indirect=True, ids=lambda case: f"{case[1]} of {case[0]}")
@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B"])
def test_numbers_of_a_rank_are_those_of_fsdp(pretended: tuple[int, int], name: str) -> None:
    same_as_fsdp(few_layers(name), *pretended)


@pytest.mark.deep
@pytest.mark.parametrize("pretended", [(64, 17)], indirect=True)
def test_numbers_of_a_rank_of_a_real_model(pretended: tuple[int, int]) -> None:
    same_as_fsdp(PUBLISHED["Qwen/Qwen2.5-7B"], *pretended)


def same_as_fsdp(c: PolicyConfig, world: int, rank: int) -> None:
    mesh = init_device_mesh("cpu", (1, world), mesh_dim_names=("replicate", "shard"))
    with torch.device("meta"):
        net = Transformer(c)
    root = PackedNetwork(net, vocab=c.vocab, compute=torch.bfloat16, checkpointing="auto")
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        shard(root, mesh, torch.device("cpu"), wide=torch.float32)
        kept = [parameter.to_local() for parameter in root.parameters()]  # type: ignore[operator]
        allocated = [
            group_param._sharded_param_data.numel()
            for module in root.modules()
            if (state := getattr(module, "_get_fsdp_state", None)) is not None
            and (group := state()._fsdp_param_group) is not None
            for group_param in group.fsdp_params
        ]
    assert sum(tensor.numel() for tensor in kept) == sum(held(unit, world, rank) for unit in units(c))
    assert sum(allocated) == sum(padded(unit, world) for unit in units(c)) == most(c, world)
