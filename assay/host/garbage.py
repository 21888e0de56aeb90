"""The garbage collector of Python during a run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 10_000  # new objects between two collections; a step of a thousand answers makes tens of thousands


@contextmanager
def few_collections() -> Iterator[None]:
    """Inside the block, the collector leaves alone what exists already, and looks for garbage less often.

    Modules and models live as long as the run, and the records of a step live until its end. Nearly all of them are
    freed by their reference counts; to walk them again and again costs a tenth of what the loop itself costs.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:  # else a caller froze something, and only everything can be let go
            gc.unfreeze()
