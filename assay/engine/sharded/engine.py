"""A parameter set over several ranks, as the loop and the objective see it: one learner, whose chunks are waves.

A wave is one chunk for each rank, and to the objective it is simply a larger chunk. Log-probs come to the driver,
coefficients go back, and nothing else crosses a process border; ranks sum their gradients.
"""

from __future__ import annotations

import copy
import itertools
import time
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from assay.engine.cutting import cut, evenly, score_parts, tensors_of
from assay.engine.interface import Chunk, Outputs, Scores, Span, Want, WriteFile, without_attention
from assay.engine.optimiser import AdamW
from assay.engine.precision import Precision, choose, name_of
from assay.engine.sharded.ranks import Ranks
from assay.engine.sharded.shard import FILLER, LEAVES, Piece, Spec, buckets
from assay.engine.state import index_of, shards_of
from assay.engine.torch.kernels.interface import KernelWish
from assay.engine.transformers.padded import cut_rectangles
from assay.errors import ConfigError, DataError, UsageError
from assay.policy.foreign import Foreign
from assay.policy.lora import WEIGHTS
from assay.policy.network import Network
from assay.types import Batch

BUCKET = 256 << 20  # the most bytes of weights that are whole at a time, or one larger tensor


@dataclass(frozen=True, eq=False)
class Wave(Chunk):
    """The rows that all ranks compute at once: those of rank 0 first."""

    pieces: Sequence[Piece]


class ShardedLearner:
    """A parameter set whose tensors are spread over the ranks of a group.

    learner = ShardedLearner(ranks, "policy", policy.network, optimiser=AdamW())
    for wave in learner.chunks(batch, tokens=4096): ...
    """

    exact = False

    def __init__(
        self,
        ranks: Ranks,
        name: str,
        model: Network,
        *,
        vocab: int | None = None,
        precision: Precision = "auto",
        optimiser: AdamW | None = AdamW(),
        checkpointing: str = "auto",
        kernels: KernelWish = "auto",
        speaks: bool = False,
    ) -> None:
        """`speaks` says whether a network with a value head is also asked for tokens."""
        if optimiser is not None and optimiser.bits == 8:
            raise ConfigError("machine.optimiser_bits is 8, which one learner alone can have: with more it must be 32.")
        self.ranks, self.name, self.lora = ranks, name, model.lora
        self.device = torch.device("cpu")
        self.compute, _ = choose(precision, torch.device(ranks.group.device))
        self.wide = torch.promote_types(self.compute, torch.float32)
        self.context = model.config.context
        self.vocab = min(model.config.vocab, vocab or model.config.vocab)
        self.trains, self.version = optimiser is not None, 0
        self.values = "value_head" in dict(model.named_children())
        self.speaks = speaks or not self.values
        self._cut = cut_rectangles if isinstance(model, Foreign) else cut
        self._numbers = itertools.count()
        self._held: weakref.WeakKeyDictionary[Outputs, int] = weakref.WeakKeyDictionary()
        self._started = False
        spec = Spec(skeleton_of(model), self.vocab, self.compute, optimiser, checkpointing, kernels)
        ranks.call("build", name, spec)
        for path, tensor in model.named_parameters():
            self._do("fill", path, tensor.detach().to(self.wide).cpu())

    def _do(self, what: str, *arguments: Any, **named: Any) -> list[Any]:
        return self.ranks.call("do", self.name, what, *arguments, **named)

    @property
    def place(self) -> str:
        return f"{self.ranks.group.device} fsdp, {self.ranks.place}"

    @property
    def kernels(self) -> str:
        """Whose kernels compute the output layer on the ranks, and why, each sentence once."""
        return "; ".join(dict.fromkeys(filter(None, self._do("kernels"))))

    @property
    def precision(self) -> Precision:
        return name_of(self.compute)

    # Scoring

    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        raise without_attention("sharded")

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        results: dict[int, Scores] = {}
        for wave in _by(list(score_parts(spans)), self.ranks.group.size):
            pieces = [self._spans([spans[i] for i in part]) for part in wave]
            pieces += [FILLER] * (self.ranks.group.size - len(pieces))
            found = self.ranks.each("do", [(self.name, "score", piece, entropy) for piece in pieces])
            for part, numbers in zip(wave, found, strict=False):
                at = np.cumsum([0, *(len(spans[i].ids) for i in part)])
                for j, i in enumerate(part):
                    own = {key: array[at[j] : at[j + 1]].astype(np.float32) for key, array in numbers.items()}
                    results[i] = Scores(own["logp"], own.get("entropy"))
        return [results[i] for i in range(len(spans))]

    def _spans(self, spans: Sequence[Span]) -> Piece:
        return self._piece([s.context for s in spans], [s.ids for s in spans], [s.temperature for s in spans])

    def _piece(self, contexts: Sequence[Any], responses: Sequence[Any], temperature: Any, **more: Any) -> Piece:
        longest = max((len(c) + len(r) for c, r in zip(contexts, responses, strict=True)), default=0)
        if longest > self.context:
            raise DataError(f"a row of {longest} tokens exceeds the model's context of {self.context}")
        heat = np.asarray(temperature, dtype=np.float64)
        return Piece(contexts, responses, np.where(heat == 0, 1.0, heat), **more)

    # Learning

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Wave]:
        """Waves of one chunk of at most `tokens` inputs for each rank."""
        size = self.ranks.group.size
        for parts in _by(evenly(self._cut, batch, tokens=tokens, ranks=size), size):
            yield self._wave(batch, parts)

    def _wave(self, batch: Batch, parts: Sequence[np.ndarray]) -> Wave:
        rows = np.concatenate(parts)
        some = batch.select(rows)
        starts = np.cumsum([0, *map(len, parts)])
        return Wave(
            batch=some,
            rows=rows,
            row=torch.from_numpy(np.repeat(np.arange(len(rows)), some.lengths)),
            pieces=[self._rows(some, a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)],
            **tensors_of(some, self._stream),
        )

    def _rows(self, some: Batch, first: int, last: int) -> Piece:
        c, a = some.context_at, some.at
        at = slice(int(a[first]), int(a[last]))
        ids, share = some.blend_ids, some.blend_share
        return self._piece(
            [some.context[c[i] : c[i + 1]] for i in range(first, last)],
            [some.ids[a[i] : a[i + 1]] for i in range(first, last)],
            some.temperature[first:last],
            top_ids=None if some.top_ids is None else some.top_ids[at].astype(np.int64),
            blend=None if ids is None or share is None else (ids[at], share[at]),
        )

    def _stream(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.to(self.wide) if tensor.is_floating_point() else tensor

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, Wave)
        self._refuse(chunk, want)
        learns, number = torch.is_grad_enabled() and self.trains, next(self._numbers)
        fillers = self.ranks.group.size - len(chunk.pieces)
        asked = [(self.name, "forward", number, piece, want) for piece in chunk.pieces]
        asked += [(self.name, "forward", number, _filler(chunk, want), want)] * fillers
        results = self.ranks.each("do", asked, learns=learns)[: len(chunk.pieces)]
        joined = {key: torch.from_numpy(np.concatenate([result[key] for result in results])) for key in results[0]}
        if learns:
            joined = {key: x.requires_grad_(True) if key in LEAVES else x for key, x in joined.items()}
        joined.setdefault("logp", torch.zeros(len(chunk.batch.ids), dtype=self.wide))  # a critic has none
        outputs = Outputs(**joined)
        if learns:
            self._held[outputs] = number
        return outputs

    def _refuse(self, chunk: Chunk, want: Want) -> None:
        if want.value and not self.values:
            raise ConfigError("this parameter set has no value head")
        if not want.value and not self.speaks:
            raise ConfigError("a critic gives values alone")
        if want.likeliest > self.vocab:
            raise UsageError(f"the {want.likeliest} likeliest of a vocabulary of {self.vocab} tokens were asked for")
        if want.top_ids and chunk.streams.get("top_ids") is None:
            raise UsageError("further log-probs were asked for, but the batch has no `top_ids`")

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        assert isinstance(chunk, Wave)
        number = self._held.pop(outputs, None)
        if number is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        leaves = {key: tensor for key in LEAVES if (tensor := getattr(outputs, key)) is not None}
        grads = {key: x.grad for key, x in leaves.items() if x.requires_grad and x.grad is not None}
        if not grads:
            self._do("drop", [number])
            return
        sizes = [sum(piece.lengths) for piece in chunk.pieces]
        split = {key: [part.numpy() for part in grad.split(sizes)] for key, grad in grads.items()}
        shares = [{key: parts[rank] for key, parts in split.items()} for rank in range(len(sizes))]
        nothing = {key: grad.new_zeros(1, *grad.shape[1:]).numpy() for key, grad in grads.items()}
        shares += [nothing] * (self.ranks.group.size - len(sizes))
        self.ranks.each("do", [(self.name, "backward", number, share) for share in shares])

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        if not self.trains:
            raise UsageError("a frozen parameter set takes no steps")
        stats = self._do("step", lr, clip, moments)[0]
        if not stats["skipped"]:
            self.version += 1
        return stats

    # Weights

    def take(self, other: Self, rate: float = 1.0) -> None:
        self.ranks.call("take", self.name, other.name, rate)
        if rate == 1:
            self.version = other.version

    def mark_start(self) -> None:
        self._started = True
        self._do("mark_start")

    def return_to_start(self) -> None:
        if not self._started:
            raise UsageError("no start was kept: call `mark_start` before the first step")
        self._do("return_to_start")

    def forget(self) -> None:
        self._do("forget")

    def tensors(self, *, merged: bool = False) -> Iterator[tuple[str, Tensor]]:
        """The weights by their names in checkpoints, whole, in buckets: at most `BUCKET` bytes of them at a time. With
        an adapter its own, or those into which the ranks have `merged` it.
        """
        entries = self._do("weights", merged)[0]
        for bucket in buckets(entries, BUCKET):
            asked = [(self.name, bucket, merged, rank == 0) for rank in range(self.ranks.group.size)]
            yield from self.ranks.each("whole", asked)[0].items()

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """Inside the block every tensor of the weights is changed."""
        self._do("disturb")
        try:
            yield
        finally:
            self._do("calm")

    def gradient(self, name: str) -> Tensor | None:
        """The whole gradient of a parameter, by its name in the network."""
        return self._do("gradient", name)[0]

    def _entries(self) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        return self._do("entries")[0]

    # State

    @property
    def weights_file(self) -> str:
        return "model.safetensors" if self.lora is None else WEIGHTS

    def stored(self, name: str) -> RankState:
        many = self.ranks.group.size if self.lora is None else 1  # PEFT reads an adapter from one file
        entries = self._entries()
        groups = {
            f"{name}/{self.weights_file}": ("parameter/", many),
            f"optimiser/{name}.safetensors": ("optimiser/", self.ranks.group.size),
        }
        return RankState(self, entries, groups)

    def restore(self, folder: Path, name: str, version: int) -> None:
        files: dict[str, Path] = {}
        names: dict[str, str] = {}
        for prefix, path in (
            ("parameter/", folder / name / self.weights_file),
            ("optimiser/", folder / "optimiser" / f"{name}.safetensors"),
        ):
            for tensor, home in shards_of(path).items():
                files[prefix + tensor], names[prefix + tensor] = home, tensor
        self._do("read", files, names)
        self.version = version


Named = list[tuple[str, dict[str, str]]]
"""Files, each with its tensors' names and their keys in the state."""
LOOK = 0.2  # seconds between two looks at whether ranks have written what they keep


@dataclass(frozen=True)
class RankState:
    """The state of a sharded parameter set: files that ranks write together, each some whole tensors."""

    learner: ShardedLearner
    entries: Mapping[str, tuple[tuple[int, ...], torch.dtype]]
    groups: Mapping[str, tuple[str, int]]  # file -> (prefix of its tensors' keys, over how many files it is spread)

    @property
    def nbytes(self) -> int:
        return sum(int(np.prod(shape)) * dtype.itemsize for shape, dtype in self.entries.values())

    @property
    def folders(self) -> list[str]:
        return sorted({name.rpartition("/")[0] for name in self.groups})

    def broken(self) -> str | None:
        return next((found for found in self.learner._do("broken") if found is not None), None)

    def has_room(self, size: int) -> bool:
        """Each rank keeps its part, so that a machine holds as many parts as it has ranks."""
        most = max(Counter(self.learner._do("node")).values())
        return all(self.learner._do("has_room", size * most // self.learner.ranks.group.size))

    def kept(self) -> KeptState:
        self.learner._do("keep", list(self.named().values()))
        return KeptState(self)

    def write(self, folder: Path, write: WriteFile) -> dict[str, tuple[int, str]]:
        written: dict[str, tuple[int, str]] = {}
        for named in self.named().values():
            for found in self.learner._do("write", named, folder, write):
                written |= found
        return written | self.write_indices(folder, write)

    def named(self) -> dict[str, Named]:
        """The files of each group, by the group's name."""
        found: dict[str, Named] = {}
        for name, (prefix, many) in self.groups.items():
            keys = [key for key in self.entries if key.startswith(prefix)]
            files = self._spread(name, keys, many)
            found[name] = [(file, {key.removeprefix(prefix): key for key in some}) for file, some in files.items()]
        return found

    def write_indices(self, folder: Path, write: WriteFile) -> dict[str, tuple[int, str]]:
        written = {}
        for name, files in self.named().items():
            if len(files) > 1:
                size = sum(self._size(key) for _, content in files for key in content.values())
                index = index_of({n: file for file, content in files for n in content}, size)
                written[f"{name}.index.json"] = write(folder / f"{name}.index.json", [index])
        return written

    def _spread(self, name: str, keys: Sequence[str], many: int) -> dict[str, list[str]]:
        """The tensors of each file: the next largest tensor goes to the file that has the fewest bytes."""
        stem = name.removesuffix(".safetensors")
        many = max(1, min(many, len(keys)))
        if many == 1:
            return {name: list(keys)}
        content: list[list[str]] = [[] for _ in range(many)]
        filled = [0] * many
        for key in sorted(keys, key=lambda key: (-self._size(key), key)):
            least = filled.index(min(filled))
            content[least].append(key)
            filled[least] += self._size(key)
        return {f"{stem}-{i + 1:05}-of-{many:05}.safetensors": some for i, some in enumerate(content)}

    def _size(self, key: str) -> int:
        shape, dtype = self.entries[key]
        return int(np.prod(shape)) * dtype.itemsize


@dataclass(frozen=True)
class KeptState:
    """A state that the ranks hold in memory as it was, each its files, and write while they go on."""

    state: RankState

    @property
    def nbytes(self) -> int:
        return self.state.nbytes

    @property
    def folders(self) -> list[str]:
        return self.state.folders

    def broken(self) -> str | None:
        return None  # it was asked before the state was kept

    def has_room(self, size: int) -> bool:
        return True

    def kept(self) -> KeptState:
        return self

    def write(self, folder: Path, write: WriteFile) -> dict[str, tuple[int, str]]:
        self.state.learner._do("begin_writing", folder, write)
        ended: dict[int, Any] = {}
        while len(ended) < self.state.learner.ranks.group.size:
            time.sleep(LOOK)
            for rank, found in enumerate(self.state.learner._do("ended_writing")):
                if found is not None:
                    ended.setdefault(rank, found)
        written: dict[str, tuple[int, str]] = {}
        for found in ended.values():
            if isinstance(found, OSError):
                raise found
            written |= found
        return written | self.state.write_indices(folder, write)


def skeleton_of(model: Network) -> Network:
    """The same network with parameters that have shapes and no memory."""
    bare = {
        id(p): nn.Parameter(torch.empty_like(p, device="meta"), requires_grad=p.requires_grad)
        for p in model.parameters()
    }
    return copy.deepcopy(model, bare)  # type: ignore[arg-type]


def _filler(chunk: Wave, want: Want) -> Piece:
    """One row for a rank that has none, with what the others are asked for."""
    if not want.top_ids or chunk.batch.top_ids is None:
        return FILLER
    top = np.zeros((1, chunk.batch.top_ids.shape[1]), np.int64)
    return Piece(FILLER.contexts, FILLER.responses, FILLER.temperature, top_ids=top)


def _by(items: Sequence[Any], count: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), count):
        yield items[start : start + count]
