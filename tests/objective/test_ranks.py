"""Two ranks of `torch.distributed` with half of the rows each sum up to the gradient of the whole optimiser step."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from awkward import batch_for_all as batch
from awkward import engine, recipe
from distinct import OBJECTIVES
from tiny import loss_and_gradient
from torch import Tensor, distributed

RANKS = 2


def learn(rank: int, folder: str, names: tuple[str, ...]) -> None:
    """A rank: the gradients of its own rows, all-reduced; the first of them writes down loss and gradient."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=RANKS,
        timeout=datetime.timedelta(seconds=300),
    )
    found = {}
    for name in names:
        mine = np.random.default_rng(0).permutation(len(batch(name)))[rank::RANKS]
        loss, gradient = loss_and_gradient(engine("fp64"), batch(name), recipe(name), rows=mine)
        sent = torch.cat([torch.tensor([loss, float(gradient.norm() > 0)], dtype=torch.float64), gradient])
        distributed.all_reduce(sent)
        found[name] = sent
    if rank == 0:
        torch.save(found, f"{folder}/found.pt")
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.mark.turns(3)
@pytest.mark.slow
def test_two_ranks_give_the_gradient_of_the_whole(tmp_path: Path, drawn_recipes: tuple[str, ...]) -> None:
    names = tuple(name for name in drawn_recipes if name in OBJECTIVES)
    torch.multiprocessing.spawn(learn, (str(tmp_path), names), nprocs=RANKS)  # pyright: ignore[reportPrivateImportUsage]
    found: dict[str, Tensor] = torch.load(tmp_path / "found.pt")
    assert names and tuple(found) == names
    wrong = {}
    for name, (loss, moved, *_) in found.items():
        expected, whole = loss_and_gradient(engine("fp64"), batch(name), recipe(name))
        far = (found[name][2:] - whole).norm() / whole.norm()
        alike = far <= 1e-10 and float(loss) == pytest.approx(expected, rel=1e-10)
        if not alike or moved != RANKS or whole.norm() < 1e-3:
            wrong[name] = float(far), float(loss), expected, float(moved)
    assert not wrong
