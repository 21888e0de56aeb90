"""Bases of these studies that are not shipped: they stand at chance on some tasks, or have not been examined."""

from __future__ import annotations

from assay.ask.hints import Hinted
from assay.run.bases import BASES, Base, imitation, small_shape
from assay.source import Pool, Share

UNFINISHED = (
    Base(
        name="mod-chain-7",
        summary="chains of two to six operations modulo 7, some with a hint in the prompt",
        shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=128),
        pool=Pool((Share("mod-chain-7", (2, 3, 4, 5, 6)),)),
        scale=imitation(num_steps=260, learning_rate=2e-3),
        ask=(Hinted(share=0.3),),
    ),
    Base(
        name="lookup",
        summary="pointers followed by look-ups, some of which fail; for methods that use tools",
        shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=128),
        pool=Pool((Share("lookup-tool", (3, 4, 5)), Share("lookup-faulty", (3, 4, 5)))),
        scale=imitation(num_steps=150),
    ),
    Base(
        name="lookup-strict",
        summary="pointers followed by look-ups, half of them misspelled at first; for methods that mind avoidable "
        "errors",
        shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=128),
        pool=Pool((Share("lookup-strict", (3, 4, 5)),)),
        scale=imitation(num_steps=150),
    ),
    Base(
        name="search-little",
        summary="a few searches in pages of a few characters; for methods that teach to search",
        shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=256),
        pool=Pool((Share("search-small", (1, 2)),)),
        scale=imitation(num_steps=60),
    ),
    Base(
        name="search-posed",
        summary="a few searches, questions over short pages, and answers with pages in view; for self-play",
        shape=small_shape(hidden=128, layers=4, heads=4, ffn=384, context=384),
        pool=Pool(
            (
                Share("search-small", (1, 2)),
                Share("pose:search-small", (1, 2, 3), 0.5),
                Share("given:search-small", (1, 2, 3), 0.5),
            )
        ),
        scale=imitation(num_steps=250),
    ),
    Base(
        name="dsl",
        summary="programs of a stack machine, short ones, some with a message, and how to pose such problems; for "
        "self-play",
        shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=128),
        pool=Pool(
            (
                *(Share(f"dsl-{kind}", (1, 2, 3)) for kind in ("deduction", "abduction")),
                Share("dsl-induction", (2, 3)),
                *(Share(f"pose:dsl-{kind}", (2, 3), 0.25) for kind in ("deduction", "abduction", "induction")),
            )
        ),
        scale=imitation(num_steps=500),
    ),
)
BASES.update({base.name: base for base in UNFINISHED})
