"""The base of the study of RLAD: it writes abstractions and reads them."""

from __future__ import annotations

from assay.ask.hints import Hinted
from assay.methods.exploration.rlad.abstract import TeachAbstractions
from assay.run.bases import BASES, Base, imitation, small_shape
from assay.source import Pool, Share

BASES["mod-chain-7-abstractions"] = Base(
    name="mod-chain-7-abstractions",
    summary="the same chains, and for the question with a mark behind it the first steps alone; for two players",
    shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=128),
    pool=Pool((Share("mod-chain-7", (2, 3, 4, 5, 6)),)),
    scale=imitation(num_steps=260, learning_rate=2e-3),
    ask=(Hinted(share=0.3), TeachAbstractions(share=0.3)),
)
