"""What the parts of an objective see: some whole rows as tensors, of one chunk or of a whole optimiser step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engine.cutting import tensors_of
from assay.errors import ConfigError
from assay.rng import Key
from assay.streams import Stream
from assay.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Outputs


ROUNDING = 2**-4  # nats by which passes of one set of weights may differ, in bf16


@dataclass(frozen=True, eq=False)
class View:
    """M response tokens of B whole rows. Sums and means are over the tokens of a row that train."""

    logp: Tensor  # [M] of the current weights
    entropy: Tensor | None  # [M] likewise, where a part wants it
    top_logp: Tensor | None  # [M, K] likewise
    streams: Mapping[str, Tensor]  # [M] those of the batch; numbers are zero where a token is masked
    row: Tensor  # int64[M] the row of each token
    batch: Batch  # the host's copy
    counted: int  # rows in the denominator of the optimiser step
    key: Key  # of the optimiser step
    mean_logp: Tensor | None = None  # [M] over the vocabulary, where a part wants it; has no graph
    version: int | None = None  # of the current weights, where they are those of an engine
    term_weights: Mapping[str, Tensor] = field(default_factory=dict)  # [M] likewise
    constants: Mapping[Stream, Tensor] = field(default_factory=dict)  # [M] likewise, or [B]

    @property
    def mask(self) -> Tensor:
        """[M] 1 where a token trains."""
        return self.streams["mask"].to(self.logp.dtype)

    @property
    def old(self) -> Tensor:
        """[M] log-probs before the first update of the step; those of now where that is what they are."""
        return self.streams.get("old", self.logp.detach())

    @property
    def still(self) -> Tensor:
        """bool[M] tokens that the current weights wrote, in the context that they train in, and whose log-probs differ
        from those before the first update, which are of the same weights, by no more than rounding.
        """
        wrote = self.streams.get("version")
        if wrote is None or self.version is None:
            return self.logp.new_zeros(len(self.logp)).bool()
        same = (self.logp.detach() - self.old).abs() < ROUNDING
        return (wrote == self.version) & ~self.of_rows(self.batch.moved) & same

    @property
    def mu(self) -> Tensor:
        """[M] log-probs under the distribution that was sampled from; those of old where nobody sampled."""
        mu = self.streams["mu"]
        return mu.where(mu.isfinite(), self.old)

    @property
    def outcome(self) -> Tensor:
        """[B] rewards of the rows; NaN where there is none."""
        assert self.batch.outcome is not None
        return self.logp.new_tensor(self.batch.outcome)

    @property
    def right(self) -> Tensor:
        """bool[B] rows that were judged, and found right."""
        assert self.batch.right is not None
        return self.logp.new_tensor(self.batch.right).bool()

    @property
    def group(self) -> Tensor:
        """int64[B] numbers of the rows' groups, in order of appearance."""
        names: dict[str, int] = {}
        numbers = [names.setdefault(name, len(names)) for name in self.batch.group]
        return self.row.new_tensor(numbers)

    def constant(self, stream: Stream) -> Tensor:
        """What a part found out for another one: [M] of a stream per token, [B] or [B, K] of one per row."""
        if (found := self.constants.get(stream)) is None:
            reads = f"a part of the objective reads '{stream.name}', which no row has"
            raise ConfigError(f"{reads}: put {stream.filled_by} into the recipe.")
        return found

    @property
    def share(self) -> float:
        """Weight of a row in the mean over the rows of the optimiser step."""
        return 1.0 / max(1, self.counted)

    def sum(self, x: Tensor) -> Tensor:
        """[B] sum over the tokens of each row that train."""
        return x.new_zeros(len(self.batch)).index_add(0, self.row, (x * self.mask).to(x.dtype))

    def mean(self, x: Tensor) -> Tensor:
        """[B] mean over the tokens of each row that train; 0 for a row without any."""
        return self.sum(x) / self.length.clamp(min=1)

    @property
    def length(self) -> Tensor:
        """[B] tokens of each row that train."""
        return self.sum(self.logp.new_ones(self.logp.shape))

    @property
    def mean_entropy(self) -> Tensor:
        """[B] mean entropy over the tokens of each row that train, without a graph."""
        assert self.entropy is not None
        return self.mean(self.entropy.detach())

    def spread(self, per_row: Tensor) -> Tensor:
        """[M] each row's number on all its tokens."""
        return per_row[self.row]

    def in_group(self, per_row: Tensor) -> Tensor:
        """[B] for each row the sum over its group, itself included. Groups are whole in views of the step alone."""
        group = self.group
        return per_row.new_zeros(int(group.max()) + 1 if len(group) else 0).index_add(0, group, per_row)[group]

    def of_rows(self, values: np.ndarray | list[bool]) -> Tensor:
        """bool[M] whether the row of each token is one of these."""
        return self.row.new_tensor(values).bool()[self.row]

    def detached(self) -> View:
        """The same without a graph."""
        entropy = None if self.entropy is None else self.entropy.detach()
        top = None if self.top_logp is None else self.top_logp.detach()
        return dataclasses.replace(self, logp=self.logp.detach(), entropy=entropy, top_logp=top)


def view_of(out: Outputs, chunk: Chunk, *, counted: int, key: Key, version: int | None = None) -> View:
    """The view of a chunk, with the graph of its outputs."""
    tensors = silenced(chunk.streams, chunk.term_weights, chunk.constants)
    more = {"mean_logp": out.mean_logp, "version": version, **tensors}
    return View(out.logp, out.entropy, out.top_logp, row=chunk.row, batch=chunk.batch, counted=counted, key=key, **more)


def view_of_batch(
    batch: Batch,
    *,
    key: Key,
    logp: Tensor | None = None,
    entropy: Tensor | None = None,
    top_logp: Tensor | None = None,
) -> View:
    """The view of a whole batch, on the host; without log-probs it is for parts that read data alone."""
    import torch

    tensors = silenced(**tensors_of(batch, lambda array: torch.from_numpy(np.ascontiguousarray(array))))
    masked = ~tensors["streams"]["mask"]
    logp = torch.full((len(batch.ids),), torch.nan) if logp is None else logp.masked_fill(masked, 0.0)
    row = torch.from_numpy(np.repeat(np.arange(len(batch)), batch.lengths))
    counted = int(np.count_nonzero(batch.counted_rows))
    return View(logp, entropy, top_logp, row=row, batch=batch, counted=counted, key=key, **tensors)


def silenced(
    streams: Mapping[str, Tensor], term_weights: Mapping[str, Tensor], constants: Mapping[Stream, Tensor]
) -> dict[str, Any]:
    """Zeros where a token is masked: what stands there may not be a number, and no weight of zero silences that."""
    masked = ~streams["mask"]

    def silent(x: Tensor) -> Tensor:
        return x.masked_fill(masked.view(-1, *[1] * (x.ndim - 1)), 0.0) if x.is_floating_point() else x

    return {
        "streams": {name: silent(x) for name, x in streams.items()},
        "term_weights": {name: silent(x) for name, x in term_weights.items()},
        "constants": {stream: silent(x) if stream.per == "token" else x for stream, x in constants.items()},
    }
