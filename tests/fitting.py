"""Runs that are planned and models of which only the context is known, to see what fits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from assay.known import recipe
from assay.policy import character_tokenizer
from assay.run import session
from assay.run.experiment import Experiment
from assay.source import Pool, Share
from assay.tasks import ALPHABET, task

CODEC = character_tokenizer(ALPHABET)
MARKS = len(CODEC.render("ab")) - 2
CHAINS = Pool((Share("mod-chain-7", (3,)),))
CHAIN = task("mod-chain-7").pose({"p": 7, "start": 5, "steps": [["+", 3], ["*", 2]]}, level=2)
"""Its prompt is `M7 5+3*2` and its worked solution `5+3=1,1*2=2#2`."""


def planned(name: str, pool: Pool, **settings: Any) -> Experiment:
    made, _ = session.plan(recipe(name), model="a/b", pool=pool, profile="laptop", overrides=settings)
    return made


def policy(context: int) -> Any:
    return SimpleNamespace(config=SimpleNamespace(context=context), codec=CODEC)
