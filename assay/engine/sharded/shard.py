"""A rank's share of a parameter set, and its work on it when the driver says so. All ranks do the same at once."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from assay.engine.head import NUMBERS
from assay.engine.interface import Want, WriteFile
from assay.engine.layout import lay
from assay.engine.optimiser import AdamW
from assay.engine.sharded.kept import Kept, Written
from assay.engine.sharded.network import Ask, PackedNetwork, PaddedNetwork, shard
from assay.engine.sharded.optimiser import ShardedAdamW, local
from assay.engine.state import disturb
from assay.engine.torch.kernels.choose import choose, sizes_of
from assay.engine.torch.kernels.interface import KernelWish
from assay.errors import StorageError
from assay.host import tensors
from assay.host.space import holds_twice
from assay.policy.adapted import mergeable, own, stored
from assay.policy.foreign import Foreign
from assay.policy.safetensors_folder import opened
from assay.types import Ids

LEAVES = ("logp", "entropy", "top_logp", "value")


@dataclass(frozen=True, eq=False)
class Piece:
    """A rank's part of a wave: whole rows, with the arrays of them that the network reads."""

    contexts: Sequence[Ids]
    responses: Sequence[Ids]
    temperature: np.ndarray  # float64[B], 1 for greedy rows
    top_ids: np.ndarray | None = None  # int64[M, K]
    blend: tuple[np.ndarray, np.ndarray] | None = None  # (ids, shares) [M] of the tokens that are blended in

    @property
    def lengths(self) -> list[int]:
        return [len(response) for response in self.responses]


FILLER = Piece([np.zeros(1, np.int32)], [np.zeros(1, np.int32)], np.ones(1))
"""The rows of a rank that has none of its own in a wave: the collectives of a wave need every rank."""


@dataclass(frozen=True)
class Spec:
    """A parameter set as a rank builds it."""

    skeleton: Any  # the network with its parameters on the meta device
    vocab: int
    compute: torch.dtype
    optimiser: AdamW | None
    checkpointing: str = "auto"
    kernels: KernelWish = "auto"


class Shard:
    """A rank's share of a parameter set.

    shard = Shard(spec, mesh, device)
    shard.fill("lm_head.weight", weight)          # each rank keeps its rows
    shard.forward(7, piece, Want(), learns=True)  # {"logp": ...}
    shard.backward(7, {"logp": coefficients})
    shard.step(1e-6, 1.0, "")
    """

    def __init__(self, spec: Spec, mesh: DeviceMesh, device: torch.device) -> None:
        self.mesh, self.device = mesh, device
        self.wide = torch.promote_types(spec.compute, torch.float32)
        model = self.model = spec.skeleton
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(spec.optimiser is not None and name not in model.base_names)
        about: dict[str, Any] = {"vocab": spec.vocab, "compute": spec.compute}
        self.told_kernels = ""
        if isinstance(model, Foreign):
            root: Any = PaddedNetwork(model, **about)
        else:
            chosen = choose(spec.kernels, device, spec.compute, sizes_of(model.config))
            about |= {"checkpointing": spec.checkpointing, "kernels": chosen.kernels}
            root, self.told_kernels = PackedNetwork(model, **about), chosen.reason
        self.network = shard(root, mesh, device, wide=self.wide)
        group = mesh["shard"].get_group()
        self.optimiser = None if spec.optimiser is None else ShardedAdamW(own(model), spec.optimiser, group)
        self.held: dict[int, dict[str, Tensor]] = {}  # the leaves of each forward pass that waits for its backward pass
        self.start: dict[str, Tensor] | None = None
        self.plain: dict[str, Tensor] = {}  # the weights before they were disturbed
        self.kept = Kept()

    # Learning

    def forward(self, number: int, piece: Piece, want: Want, *, learns: bool) -> dict[str, np.ndarray]:
        with torch.set_grad_enabled(learns and self.optimiser is not None):
            out = self._run(piece, want)
        if learns:
            self.held[number] = {name: out[name] for name in LEAVES if name in out}
        else:
            self._settle()
        return {name: tensor.detach().cpu().numpy() for name, tensor in out.items()}

    def _run(self, piece: Piece, want: Want) -> dict[str, Tensor]:
        layout = lay(piece.contexts, piece.responses)
        if piece.blend is not None:
            layout = layout.blended(*piece.blend)
        tau = torch.from_numpy(np.repeat(piece.temperature, piece.lengths)).to(self.device, self.wide)
        ids = torch.from_numpy(np.concatenate(piece.responses).astype(np.int64)).to(self.device)
        top = None if piece.top_ids is None else torch.from_numpy(piece.top_ids).to(self.device)
        return self.network(self.network.inputs(layout, self.device), Ask(ids, tau, want, top))

    def backward(self, number: int, gradients: Mapping[str, np.ndarray]) -> None:
        """Every rank takes part: one whose gradients are all zero adds nothing, and reduces what the others add."""
        leaves = self.held.pop(number)
        pulled = {name: torch.from_numpy(grad).to(self.device, self.wide) for name, grad in gradients.items()}
        torch.autograd.backward([leaves[name] for name in pulled], list(pulled.values()))

    def drop(self, numbers: Iterable[int]) -> None:
        """Forgets forward passes that nobody takes back."""
        for number in numbers:
            self.held.pop(number, None)
        if not self.held:
            self._settle()

    def _settle(self) -> None:
        """Lets go of weights that are whole. After a forward pass FSDP2 keeps those of the root for the backward pass.
        If no backward pass follows, they would stay as they are while the shares move.
        """
        for module in self.network.modules():
            if isinstance(module, FSDPModule):
                module.reshard()

    @torch.no_grad()
    def score(self, piece: Piece, entropy: bool) -> dict[str, np.ndarray]:
        out = self._run(piece, Want(entropy=entropy))
        self._settle()
        return {name: tensor.cpu().numpy() for name, tensor in out.items() if name not in NUMBERS}

    def step(self, lr: float, clip: float | None, moments: str) -> dict[str, float]:
        assert self.optimiser is not None
        self.drop(list(self.held))
        return self.optimiser.step(lr=lr, clip=clip, moments=moments)

    def kernels(self) -> str:
        """Whose kernels compute the output layer, and why; "" for a network that gives logits."""
        return self.told_kernels

    def held_numbers(self) -> dict[str, int]:
        """How many numbers this rank holds of the parameters, of their gradients and of their moments."""
        parameters = list(self.model.parameters())
        grads = [local(p.grad).numel() for p in parameters if p.grad is not None]
        sets = [] if self.optimiser is None else self.optimiser.sets.values()
        moments = [share.numel() for held in sets for pair in held.of.values() for share in pair]
        return {
            "parameters": sum(local(p).numel() for p in parameters),
            "gradients": sum(grads),
            "moments": sum(moments),
        }

    def gradient(self, name: str) -> Tensor | None:
        """The whole gradient of a parameter, gathered from all ranks."""
        grad = dict(self.model.named_parameters())[name].grad
        return None if grad is None else grad.full_tensor().cpu()

    # Weights

    def fill(self, name: str, whole: Tensor) -> None:
        """Takes this rank's rows of a parameter, by its name in the network."""
        place = dict(self.model.named_parameters()).get(name)
        if place is None:
            self.model.get_buffer(name).copy_(whole)
            return
        with torch.no_grad():
            first, last = self._rows(place)
            local(place).copy_(whole[first:last])

    def _rows(self, parameter: nn.Parameter | Tensor) -> tuple[int, int]:
        """The rows of dimension 0 that FSDP2 gives this rank: equal pieces, of which the last ones may be short."""
        count = parameter.shape[0]
        piece = -(-count // self.mesh["shard"].size())
        begin = min(count, self.mesh["shard"].get_local_rank() * piece)
        return begin, min(count, begin + piece)

    @torch.no_grad()
    def take(self, other: Shard, rate: float) -> None:
        """w <- rate w_other + (1 - rate) w"""
        self._take({name: _local(tensor) for name, tensor in stored(other.model).items()}, rate)

    def _take(self, weights: Mapping[str, Tensor], rate: float) -> None:
        for name, tensor in stored(self.model).items():
            mine = _local(tensor)
            mine.copy_(weights[name] if rate == 1 else mine + rate * (weights[name] - mine))
        self.forget()

    @torch.no_grad()
    def disturb(self) -> None:
        """Changes every tensor of the weights until `calm`. Each rank draws noise of its own: the caller compares the
        whole tensors that result, and knows no other ones.
        """
        self.plain = {name: _local(tensor).clone() for name, tensor in self.model.tensors().items()}
        for name, tensor in self.model.tensors().items():
            disturb(_local(tensor), f"{name} {self.mesh['shard'].get_local_rank()}")

    @torch.no_grad()
    def calm(self) -> None:
        for name, tensor in self.model.tensors().items():
            _local(tensor).copy_(self.plain[name])
        self.plain = {}

    def mark_start(self) -> None:
        self.start = {name: _local(tensor).detach().clone() for name, tensor in stored(self.model).items()}

    @torch.no_grad()
    def return_to_start(self) -> None:
        assert self.start is not None
        self._take(self.start, 1.0)

    def forget(self) -> None:
        if self.optimiser is not None:
            self.optimiser.forget()

    # State

    def entries(self) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        """The shape and type of each tensor of the state: `parameter/NAME` and `optimiser/...`."""
        return {key: (tuple(tensor.shape), tensor.dtype) for key, tensor in self._state().items()}

    def _state(self) -> dict[str, Tensor]:
        """The state under the names of `LocalEngine.view`; shares are DTensors."""
        state = {f"parameter/{name}": tensor.detach() for name, tensor in stored(self.model).items()}
        if self.optimiser is None:
            return state
        for key, (share, of) in self.optimiser.view().items():
            state[f"optimiser/{key}"] = share if of is None else self._as(self.optimiser.named[of], share)
        return state

    def _as(self, parameter: Any, share: Tensor) -> DTensor:
        about = {"shape": parameter.shape, "stride": parameter.stride(), "run_check": False}
        return DTensor.from_local(share, parameter.device_mesh, parameter.placements, **about)

    def broken(self) -> str | None:
        """The name of a tensor that holds a value that is not finite on this rank."""
        for key, tensor in self._state().items():
            if tensors.first_non_finite({key: _local(tensor)}) is not None:
                return key
        return None

    def weights(self, merged: bool) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        """The shape and type of each tensor of `LocalEngine.tensors`."""
        plain = {name: tensor for name, tensor in self.model.tensors().items() if ".lora_" not in name}
        return {name: (tuple(t.shape), t.dtype) for name, t in (plain if merged else stored(self.model)).items()}

    @torch.no_grad()
    def whole(self, names: Sequence[str], merged: bool) -> dict[str, Tensor]:
        """These of the tensors of `weights`, gathered from all ranks."""
        if merged:
            make = mergeable(self.model)
            return {name: _whole(make[name]()) for name in names}
        found = stored(self.model)
        return {name: _whole(found[name].detach()) for name in names}

    def write(
        self, files: Sequence[tuple[str, Mapping[str, str]]], folder: Path, write: WriteFile
    ) -> dict[str, tuple[int, str]]:
        """Writes this rank's share of `files`: rank r writes every file whose index is r modulo the number of ranks.
        Each of `files` is a file, and its tensors' names with their keys in the state.

        Ranks write at the same time: in each round every file gets one of its tensors, whole only on its writer.
        """
        rounds = _Rounds(self._state(), [[content[n] for n in _order(content, self)] for _, content in files])
        mine = [index for index in range(len(files)) if index % dist.get_world_size() == dist.get_rank()]
        written, failure = {}, None
        for index in mine:
            name, content = files[index]
            promised = {n: _Promise(rounds, index, key) for n, key in content.items()}
            try:
                written[name] = write(folder / name, tensors.encode(promised))
            except OSError as error:
                failure = error
        rounds.finish()
        if failure is not None:
            raise failure
        return written

    def node(self) -> str:
        return platform.node()

    def has_room(self, size: int) -> bool:
        return holds_twice(size)

    def keep(self, groups: Sequence[Sequence[tuple[str, Mapping[str, str]]]]) -> None:
        """Copies the bytes that `write` would write, so that they may be written while the weights go on to change."""
        self.kept.clear()
        for files in groups:
            self.write(files, Path(), self.kept.take)

    def begin_writing(self, folder: Path, write: WriteFile) -> None:
        self.kept.begin(folder, write)

    def ended_writing(self) -> Written | OSError | None:
        return self.kept.ended()

    def read(self, files: Mapping[str, Path], names: Mapping[str, str]) -> None:
        """Loads this rank's shares of a state: key -> the file that has it, and its name there."""
        parameters = {f"parameter/{name}": tensor for name, tensor in stored(self.model).items()}
        missing = [key for key in parameters if key not in files]
        if missing:
            raise StorageError(f"the state has no '{missing[0]}'; is it of another model?")
        handles: dict[Path, Any] = {}
        try:
            for path in dict.fromkeys(files.values()):
                handles[path] = opened(path)
            with _all(handles) as readers:

                def rows(key: str, of: Any) -> Tensor:
                    part = readers[files[key]].get_slice(names[key])
                    if of is None:
                        return torch.as_tensor(readers[files[key]].get_tensor(names[key]))
                    if list(part.get_shape()) != list(of.shape):
                        raise StorageError(f"'{key}' has the shape {part.get_shape()}, expected {list(of.shape)}.")
                    first, last = self._rows(of)
                    return part[first:last]

                with torch.no_grad():
                    for key, parameter in parameters.items():
                        _local(parameter).copy_(rows(key, parameter))
                if self.optimiser is not None:
                    named = self.optimiser.named
                    kept = {k.removeprefix("optimiser/"): k for k in files if k.startswith("optimiser/")}
                    self.optimiser.load(kept, lambda key, of: rows(kept[key], None if of is None else named[of]))
        finally:
            handles.clear()


class _all:
    """Opens several safetensors files together."""

    def __init__(self, handles: Mapping[Path, opened]) -> None:
        self.handles = handles

    def __enter__(self) -> dict[Path, Any]:
        return {path: handle.__enter__() for path, handle in self.handles.items()}

    def __exit__(self, *failure: Any) -> None:
        for handle in self.handles.values():
            handle.__exit__(*failure)


class _Rounds:
    """Tensors gathered in an order that all ranks share: in round k, tensor k of every file."""

    def __init__(self, state: Mapping[str, Tensor], files: Sequence[Sequence[str]]) -> None:
        self.state = state
        most = max((len(keys) for keys in files), default=0)
        self.plan = [(place, keys[k]) for k in range(most) for place, keys in enumerate(files) if k < len(keys)]
        self.at = 0

    def until(self, place: int, key: str) -> Tensor:
        """Takes part in gathering all that comes before this tensor, and returns it."""
        while True:
            found = self.plan[self.at]
            whole = _whole(self.state[found[1]])
            self.at += 1
            if found == (place, key):
                return whole

    def finish(self) -> None:
        while self.at < len(self.plan):
            _whole(self.state[self.plan[self.at][1]])
            self.at += 1


class _Promise:
    """A tensor that is gathered when its bytes are asked for."""

    def __init__(self, rounds: _Rounds, place: int, key: str) -> None:
        tensor = rounds.state[key]
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.nbytes = tensor.numel() * tensor.dtype.itemsize
        self._get: Callable[[], Tensor] = lambda: rounds.until(place, key)

    def detach(self) -> Tensor:
        return self._get()


def _order(content: Mapping[str, str], shard: Shard) -> list[str]:
    """The names of a file in the order in which `tensors.encode` asks for their bytes."""
    state = shard._state()
    return sorted(content, key=lambda name: (-state[content[name]].dtype.itemsize, name))


def _local(tensor: Tensor) -> Tensor:
    return local(tensor) if isinstance(tensor, DTensor) else tensor


def _whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor().cpu() if isinstance(tensor, DTensor) else tensor.cpu()


def buckets(entries: Mapping[str, tuple[tuple[int, ...], torch.dtype]], most: int) -> Iterator[list[str]]:
    """The keys in order, in buckets of at most so many bytes; a larger tensor has a bucket of its own."""
    bucket: list[str] = []
    filled = 0
    for key, (shape, dtype) in entries.items():
        size = int(np.prod(shape)) * dtype.itemsize
        if bucket and filled + size > most:
            yield bucket
            bucket, filled = [], 0
        bucket.append(key)
        filled += size
    if bucket:
        yield bucket
