"""Which pages a search goes over: those of the universe in short or in sentences, or those of a file."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.errors import DataError
from assay.rng import digest
from assay.worlds.search.pages import Page, read, short_pages, told_pages
from assay.worlds.search.universe import VERSION, universe


@dataclass(frozen=True)
class Corpus:
    """Pages, and a digest of what decides them: pages of another digest are other pages.

    made("short").digest
    """

    name: str
    digest: str
    pages: Callable[[], Iterator[Page]]


@functools.cache
def made(kind: Literal["short", "told"], seed: int = 0) -> Corpus:
    """The 20,000 pages of a universe, in a few characters (`short`) or in sentences (`told`)."""
    write = {"short": short_pages, "told": told_pages}[kind]
    return Corpus(kind, digest("search", VERSION, seed, kind), lambda: write(universe(seed)))


def of_file(path: Path) -> Corpus:
    """The pages of a JSONL file with a `title` and a `text` in each line. A file that has changed is another corpus."""
    try:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Expected a file of pages.") from error
    return Corpus(path.stem, content[:16], lambda: read(path))
