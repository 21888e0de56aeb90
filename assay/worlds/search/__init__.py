"""A world of pages: a search that ranks them by BM25, and a tool that opens one by its title.

The pages tell of people, towns, works and companies that are invented, and refer to each other. What a question asks
stands in pages alone. Pages of your own take their place from a file.
"""

from __future__ import annotations

from assay.worlds.search.corpus import Corpus, made, of_file
from assay.worlds.search.index import Index, opened
from assay.worlds.search.pages import Page
from assay.worlds.search.reading import SHORT, TOLD, Manner, called, page_tools, searching
from assay.worlds.search.universe import Universe, universe

__all__ = [
    "SHORT",
    "TOLD",
    "Corpus",
    "Index",
    "Manner",
    "Page",
    "Universe",
    "called",
    "made",
    "of_file",
    "opened",
    "page_tools",
    "searching",
    "universe",
]
