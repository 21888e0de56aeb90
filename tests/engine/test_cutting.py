"""How a batch is cut for several ranks: every row once, in as few waves as one rank's chunks need, of even chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from engine_cases import batch_of, rows_of
from hypothesis import example, given
from hypothesis import strategies as st

from assay.engine.cutting import cut, evenly
from assay.types import Batch


def inputs(batch: Batch, parts: Sequence[np.ndarray]) -> list[int]:
    """How many tokens each chunk runs: every context once, and all but the last token of every answer."""
    found = []
    for rows in parts:
        contexts = {batch.context[batch.context_at[r] : batch.context_at[r + 1]].tobytes(): r for r in rows}
        shared = sum(int(batch.context_at[r + 1] - batch.context_at[r]) for r in contexts.values())
        found.append(shared + sum(int(batch.lengths[r]) - 1 for r in rows))
    return found


@given(st.lists(st.integers(1, 30), min_size=1, max_size=16), st.integers(1, 4), st.integers(1, 80), st.integers(1, 4))
@example([1], 1, 1, 4)
def test_waves_are_no_more_than_needed_and_their_chunks_no_larger(
    lengths: list[int], groups: int, tokens: int, ranks: int
) -> None:
    batch = batch_of(*rows_of(lengths, groups=groups))
    plain, even = cut(batch, tokens=tokens), evenly(cut, batch, tokens=tokens, ranks=ranks)
    assert sorted(int(r) for rows in even for r in rows) == list(range(len(lengths)))
    assert -(-len(even) // ranks) == -(-len(plain) // ranks)
    assert max(inputs(batch, even)) <= max(inputs(batch, plain))


def test_rows_of_one_length_are_shared_out_evenly() -> None:
    """Nine rows of 14 inputs where a chunk has room for four: chunks of 4, 4 and 1, whose second wave has one row for
    one rank and none for the other. Two waves for two ranks need no more than three rows a chunk.
    """
    contexts = [np.array([i + 1, 2, 3, 4], np.int32) for i in range(9)]
    batch = batch_of(contexts, [np.ones(11, np.int32)] * 9)
    assert inputs(batch, cut(batch, tokens=60)) == [56, 56, 14]
    assert inputs(batch, evenly(cut, batch, tokens=60, ranks=2)) == [42, 42, 42]
    assert inputs(batch, evenly(cut, batch, tokens=60, ranks=1)) == [42, 42, 42]
    assert inputs(batch, evenly(cut, batch, tokens=60, ranks=5)) == [28, 28, 28, 28, 14]
