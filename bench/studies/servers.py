"""Two recipes that learn from answers of one step before: written by a follower, or asked for ahead of time."""

from __future__ import annotations

import dataclasses

from assay.collect import Ahead
from assay.known import RECIPES, recipe
from assay.scale import behind

_AREAL = recipe("areal")
RECIPES["followed"] = dataclasses.replace(
    _AREAL,
    name="followed",
    title="AReaL's objective on answers of a follower, one step old",
    models=behind(1),
)
RECIPES["asked-ahead"] = dataclasses.replace(
    _AREAL,
    name="asked-ahead",
    title="AReaL's objective on answers that were asked for one step ahead",
    mechanism=dataclasses.replace(_AREAL.mechanism, collect=(Ahead(lag=1),), remember=()),
    models={"policy": _AREAL.models["policy"]},
)
