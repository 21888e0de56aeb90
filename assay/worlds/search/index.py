"""The index of a corpus: made once with bm25s, kept in the cache, and read from there by every process at once.

A page scores for each word w of a query that it has, f times in all its l words, over N pages of which n have w

    ln(1 + (N - n + 1/2) / (n + 1/2)) * f / (f + k1 * (1 - b + b * l / mean l))

which is BM25 as Lucene has it. Title and text count alike. The arrays are mapped into memory and never written.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import mmap
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, StorageError
from assay.host.cache import cache_folder, locked
from assay.rng import digest
from assay.worlds.search.corpus import Corpus
from assay.worlds.search.pages import Page

FORMAT = 1
"""Of the folder of an index."""
K1, B = 1.5, 0.75
_DIGITS = 10_000  # scores that differ by less are equal, so that no rounding of a processor decides a rank
_PAGES, _ENDS, _TITLES, _ABOUT = "pages.jsonl", "ends.npy", "titles.json", "index.json"


def words(text: str) -> list[str]:
    """The words of a text, as the index has them."""
    return re.findall(r"\w+", text.casefold())


class Index:
    """An index that is open. Its searches change nothing, so that any number of plays share it."""

    def __init__(self, folder: Path) -> None:
        library = _library()
        about = json.loads((folder / _ABOUT).read_text())
        self.sha256: str = about["sha256"]  # of all pages
        self.titles: list[str] = json.loads((folder / _TITLES).read_text())
        self._ends = np.load(folder / _ENDS, mmap_mode="r")
        with (folder / _PAGES).open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if not len(self.titles) == len(self._ends) == about["pages"] or len(self._lines) != self._ends[-1]:
            raise ValueError("its files do not fit together")
        self._ranks = library.BM25.load(folder, mmap=True, auto_compile=False, show_progress=False)
        self._numbers = {title: number for number, title in reversed(list(enumerate(self.titles)))}

    def __len__(self) -> int:
        return len(self.titles)

    def page(self, number: int) -> Page:
        first = int(self._ends[number - 1]) if number else 0
        return Page(**json.loads(self._lines[first : int(self._ends[number])]))

    def titled(self, title: str) -> int | None:
        """The number of the page of this title; None if there is none."""
        return self._numbers.get(title.strip())

    def search(self, query: str, most: int) -> list[tuple[int, float]]:
        """(page, score) for the pages that fit a query best, the best first; of equal ones the earlier page first.

        A page that has no word of the query is not among them.
        """
        asked = self._ranks.get_tokens_ids(list(dict.fromkeys(words(query))))
        if not asked:
            return []
        scores = self._ranks.get_scores_from_ids(asked)
        some = np.flatnonzero(scores > 0)
        order = some - np.rint(scores[some] * _DIGITS).astype(np.int64) * len(self)
        if len(some) > most:
            some = some[np.argpartition(order, most)[:most]]
            order = some - np.rint(scores[some] * _DIGITS).astype(np.int64) * len(self)
        return [(number, float(scores[number])) for number in some[np.argsort(order)].tolist()]


def opened(corpus: Corpus) -> Index:
    """The index of a corpus. It is made where the cache has none, and opened once in a process."""
    _library()
    folder = folder_of(corpus)
    if not folder.exists():
        with locked(folder):
            if not folder.exists():
                _make(corpus, folder)
    return _opened(folder, corpus.digest)


def folder_of(corpus: Corpus) -> Path:
    """Where the cache has the index of a corpus."""
    version = importlib.metadata.version("bm25s")
    return cache_folder() / "search" / f"{corpus.name}-{digest(FORMAT, version, K1, B, corpus.digest)}"


@functools.lru_cache(maxsize=8)
def _opened(folder: Path, corpus: str) -> Index:
    again = f"Delete {folder}, and the next run makes it anew."
    try:
        about = json.loads((folder / _ABOUT).read_text())
        if about["format"] != FORMAT:
            raise ConfigError(f"this index has format {about['format']}, and Assay reads {FORMAT}. {again}")
        if about["corpus"] != corpus:
            raise ConfigError(f"this index is of other pages, {about['corpus']}, and not of {corpus}. {again}")
        return Index(folder)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise StorageError(f"the index cannot be read: {type(error).__name__}: {error}. {again}") from error


def _make(corpus: Corpus, folder: Path) -> None:
    """Writes the index beside its place, and moves it there whole."""
    half = folder.with_name(f".{folder.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    try:
        half.mkdir(parents=True)
        pages = list(corpus.pages())
        lines = [f"{page.line}\n".encode() for page in pages]
        (half / _PAGES).write_bytes(b"".join(lines))
        np.save(half / _ENDS, np.cumsum([len(line) for line in lines]))
        (half / _TITLES).write_text(json.dumps([page.title for page in pages]))
        ranks = _library().BM25(k1=K1, b=B, method="lucene", auto_compile=False)
        ranks.index([words(f"{page.title} {page.text}") for page in pages], show_progress=False)
        ranks.save(half, show_progress=False)
        sha256 = hashlib.sha256(b"".join(lines)).hexdigest()
        about = {"format": FORMAT, "corpus": corpus.digest, "pages": len(pages), "sha256": sha256}
        (half / _ABOUT).write_text(json.dumps(about))
        half.rename(folder)
    except OSError as error:
        raise StorageError(f"the index of {corpus.name} cannot be written to {folder.parent}: {error}") from error


def _library() -> Any:
    """The module bm25s. It is imported where a search begins, and nowhere before."""
    if importlib.util.find_spec("bm25s") is None:
        raise ConfigError("a search over pages needs the package bm25s: run `pip install 'assay-rl[search]'`.")
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it tells of each index that it makes
    return bm25s
