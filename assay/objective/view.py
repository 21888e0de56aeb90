"""Views: the tokens that the parts of an objective see. A view holds whole rows of a chunk or of a step as tensors."""

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


ROUNDING = 2**-4  # nats by which two forward passes of the same weights may differ in bf16


@dataclass(frozen=True, eq=False)
class View:
    """M response tokens of B whole rows. Sums and means go over the trained tokens of a row.

    Example:
        (view.logp - view.old).exp()  # [M] the ratio of each token
        view.mean(view.entropy)  # [B] the mean entropy of each row
    """

    logp: Tensor  # [M] log-probs under the current weights
    entropy: Tensor | None  # [M] entropies of the current weights, if a part wants them
    top_logp: Tensor | None  # [M, K] log-probs of the asked-for ids, if a part wants them
    streams: Mapping[str, Tensor]  # [M] the streams of the batch; floats are zero for tokens that are not trained
    row: Tensor  # int64[M] the row of each token
    batch: Batch  # the same rows as arrays of the host
    counted: int  # number of rows in the denominator of the optimiser step
    key: Key  # the source of random numbers of this optimiser step
    mean_logp: Tensor | None = None  # [M] mean log-prob over the vocabulary, if a part wants it; without a graph
    version: int | None = None  # the version of the current weights; None if no engine holds them
    term_weights: Mapping[str, Tensor] = field(default_factory=dict)  # [M] weights of further loss terms
    constants: Mapping[Stream, Tensor] = field(default_factory=dict)  # [M], or [B] for streams per row

    @property
    def mask(self) -> Tensor:
        """[M] 1 for tokens that are trained, 0 for the others."""
        return self.streams["mask"].to(self.logp.dtype)

    @property
    def old(self) -> Tensor:
        """[M] log-probs before the first update of the step. They are the current ones if the batch has no others."""
        return self.streams.get("old", self.logp.detach())

    @property
    def still(self) -> Tensor:
        """bool[M] tokens that are on-policy up to rounding: the current weights wrote them, in the context of training,
        and their log-probs differ from those before the first update by no more than `ROUNDING`.
        """
        wrote = self.streams.get("version")
        if wrote is None or self.version is None:
            return self.logp.new_zeros(len(self.logp)).bool()
        same = (self.logp.detach() - self.old).abs() < ROUNDING
        return (wrote == self.version) & ~self.of_rows(self.batch.moved) & same

    @property
    def mu(self) -> Tensor:
        """[M] log-probs under the distribution that tokens were sampled from; `old` for tokens that nobody sampled."""
        mu = self.streams["mu"]
        return mu.where(mu.isfinite(), self.old)

    @property
    def outcome(self) -> Tensor:
        """[B] rewards of the rows; NaN for a row without one."""
        assert self.batch.outcome is not None
        return self.logp.new_tensor(self.batch.outcome)

    @property
    def right(self) -> Tensor:
        """bool[B] rows whose answer the verifier found right."""
        assert self.batch.right is not None
        return self.logp.new_tensor(self.batch.right).bool()

    @property
    def group(self) -> Tensor:
        """int64[B] numbers of the rows' groups, in order of appearance."""
        return self.row.new_tensor(self.batch.group.numbers)

    def constant(self, stream: Stream) -> Tensor:
        """A constant that one part computed for another: [M] for a stream per token, [B] or [B, K] for one per row."""
        if (found := self.constants.get(stream)) is None:
            reads = f"a part of the objective reads '{stream.name}', which no row has"
            raise ConfigError(f"{reads}: put {stream.filled_by} into the recipe.")
        return found

    @property
    def share(self) -> float:
        """The weight of one row in a mean over the rows of the optimiser step."""
        return 1.0 / max(1, self.counted)

    def sum(self, x: Tensor) -> Tensor:
        """[B] the sum over the trained tokens of each row."""
        return x.new_zeros(len(self.batch)).index_add(0, self.row, (x * self.mask).to(x.dtype))

    def mean(self, x: Tensor) -> Tensor:
        """[B] the mean over the trained tokens of each row; 0 for a row without any."""
        return self.sum(x) / self.length.clamp(min=1)

    @property
    def length(self) -> Tensor:
        """[B] the number of trained tokens of each row."""
        return self.sum(self.logp.new_ones(self.logp.shape))

    @property
    def mean_entropy(self) -> Tensor:
        """[B] the mean entropy over the trained tokens of each row, without a graph."""
        assert self.entropy is not None
        return self.mean(self.entropy.detach())

    def spread(self, per_row: Tensor) -> Tensor:
        """[M] the number of each row, repeated for all of its tokens."""
        return per_row[self.row]

    def in_group(self, per_row: Tensor) -> Tensor:
        """[B] for each row the sum over its group, the row included. Only a view of a whole step has whole groups."""
        group = self.group
        return per_row.new_zeros(int(group.max()) + 1 if len(group) else 0).index_add(0, group, per_row)[group]

    def of_rows(self, values: np.ndarray | list[bool]) -> Tensor:
        """bool[M] a flag of each row, repeated for all of its tokens."""
        return self.row.new_tensor(values).bool()[self.row]

    def detached(self) -> View:
        """The same view without a graph."""
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
    """The view of a whole batch, on the host. Without log-probs it serves parts that read only data."""
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
    """The same tensors with zeros for tokens that are not trained. Their numbers may be NaN, and NaN times a weight of
    zero is still NaN.
    """
    masked = ~streams["mask"]

    def silent(x: Tensor) -> Tensor:
        return x.masked_fill(masked.view(-1, *[1] * (x.ndim - 1)), 0.0) if x.is_floating_point() else x

    return {
        "streams": {name: silent(x) for name, x in streams.items()},
        "term_weights": {name: silent(x) for name, x in term_weights.items()},
        "constants": {stream: silent(x) if stream.per == "token" else x for stream, x in constants.items()},
    }
