"""A process group of torch by which a learner sends weights to the processes of one server.

The learner, both kinds of servers and vLLM import this file, which needs torch alone: a vLLM server has an environment
of its own, without Assay.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store

ALIGNED = 16  # bytes: each tensor of a bucket begins at a multiple


@dataclass(frozen=True)
class Joining:
    """The facts that a process needs to join: `Joining("gloo", "10.0.0.4", 40123, "server 0", 2, 60.0, secret)`."""

    backend: str  # gloo or nccl
    host: str  # of the learner
    port: int  # of the gate of its store
    name: str  # of the group, in that store
    size: int  # processes of the group: the learner is the first
    seconds: float  # that joining, and then a bucket, may take
    secret: str  # that the gate asks for


class WeightGroup:
    """The learner is number 0, the processes of the server come after it.

    group = WeightGroup(joining, 1, store_behind(host, port, secret, seconds), torch.device("cpu"))
    weights = unpacked(told, group.receive(told))
    """

    def __init__(self, joining: Joining, number: int, store: Store, device: torch.device) -> None:
        self.device, self.timeout = device, timedelta(seconds=joining.seconds)
        apart = PrefixStore(joining.name, store)
        self.how = dist.BroadcastOptions()
        self.how.rootRank, self.how.rootTensor, self.how.timeout = 0, 0, self.timeout
        self.backend: Any
        if joining.backend == "nccl":
            options = dist.ProcessGroupNCCL.Options()
            options._timeout = self.timeout
            self.backend = dist.ProcessGroupNCCL(apart, number, joining.size, options)
        else:
            options = dist.ProcessGroupGloo._Options()  # pyright: ignore[reportAttributeAccessIssue]
            options._timeout = self.timeout
            options._devices = [dist.ProcessGroupGloo.create_device(hostname=address_towards(joining.host))]
            self.backend = dist.ProcessGroupGloo(apart, number, joining.size, options)

    def send(self, packed: torch.Tensor) -> dist.Work:
        """Begins to send bytes to all others."""
        return self.backend.broadcast([packed.to(self.device)], self.how)

    def receive(self, told: Mapping[str, Any]) -> torch.Tensor:
        """The bytes of the tensors that `told` describes."""
        packed = torch.empty(places(told)[-1], dtype=torch.uint8, device=self.device)
        self.backend.broadcast([packed], self.how).wait(self.timeout)
        return packed


def address_towards(host: str) -> str:
    """This machine's address, as `host` sees it. Gloo would take that of the machine's name, often the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 1))  # sends nothing; the kernel chooses the way
        return str(probe.getsockname()[0])


# A bucket as bytes


def described(bucket: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """The description of these tensors that the other side needs, because they come as bytes."""
    return {
        "names": list(bucket),
        "dtypes": [str(tensor.dtype).removeprefix("torch.") for tensor in bucket.values()],
        "shapes": [list(tensor.shape) for tensor in bucket.values()],
    }


def places(told: Mapping[str, Any]) -> list[int]:
    """The place where the bytes of each tensor begin, and the number of all bytes."""
    found = [0]
    for dtype, shape in zip(told["dtypes"], told["shapes"], strict=True):
        size = _size(dtype, shape)
        found.append(found[-1] + -(-size // ALIGNED) * ALIGNED)
    return found


def packed(bucket: Mapping[str, torch.Tensor]) -> torch.Tensor:
    told = described(bucket)
    at = places(told)
    whole = torch.zeros(at[-1], dtype=torch.uint8)
    for tensor, first in zip(bucket.values(), at):
        part = whole[first : first + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
        part.copy_(tensor)
    return whole


def unpacked(told: Mapping[str, Any], whole: torch.Tensor) -> dict[str, torch.Tensor]:
    """The tensors, as views of the bytes."""
    found: dict[str, torch.Tensor] = {}
    for name, dtype, shape, first in zip(told["names"], told["dtypes"], told["shapes"], places(told)):
        part = whole[first : first + _size(dtype, shape)]
        found[name] = part.view(getattr(torch, dtype)).view(shape)
    return found


def _size(dtype: str, shape: Sequence[int]) -> int:
    return getattr(torch, dtype).itemsize * torch.Size(shape).numel()
