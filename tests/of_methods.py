"""What tests over all parts know of those of methods: each says it in `tests/methods/GROUP/NAME/parts.py`, as data.

    SMALL = {"ask:first-steps": {"width": 2}}             values at which a part works in a run of a few rows
    ALONG = {"expand:step-search": ("ask:first-steps",)}  what a part has nothing to work on without
    IDLE = {"expand:fork": {"places": 0}}                 values at which it changes nothing, in groups of four
    BUSY = ("curate:no-training",)                        it has no such values: it is what the method is
    LAST = {"ask:first-steps": "why"}                     it is asked behind all other parts of its slot
    OWN_MODELS = {"forwards:critic": "which"}             the recipe must have models for it
    KEEPS = {"remember:harvest": "harvest"}               its store, as checkpoints of earlier versions name it
    FEWER = {"curate:pairs": "why"}                       behind a choice of groups others train than the chosen ones
    GOES_ON = {"ask:demonstrate": "why"}                  it needs solutions; where posed problems lack them, it runs
    LATE = {"credit:score": (2, "the words")}             so many parts make rewards that it may refuse in these words
    HELPED = {"ask:hinted": True}                         it changes questions, and whether that helps
    BARE = {"remember:keep-examined": {}}                 values at which it keeps answers, but none that had a hint
    OF_ITS_OWN = {"reward:learnt-score": "what"}          it reads of other episodes no judgement that a role wrote
    JUDGED = {"reward:a": ("answers", "judge", "2")}      what this role compares for it, and the worst judgement
    ENDPOINTS = {"reward:judge-pairs": {}}                values at which it asks a judge behind an endpoint
    COLUMNS = {"rules": ["It is a tree."]}                of a row of data, for such a reward
    FREE = {"role": "what it names"}                      field whose text is a name of something, not one of a list

    SMALLER = {"grpo": "why"}                             of a recipe: not every group has as many answers as a group
    CHOOSES = {"dapo": "groups"}                          of four answers it leaves out the group, or rows
    FOUR = {"grpo": [1.0, None, 0.0, 0.0]}                rewards of four answers of which the first trains
    ROUNDS = {"grpo": {"group_size": 8}}                  later rounds of a step go on from what earlier ones wrote
    ANEW = {"grpo": "why"}                                later rounds do not
    FINE = {"gspo": "why"}                                rounding decides which tokens have a gradient

A part without a line is as it is by default, alone, and no hook. `oracle.py` there says what its paper says of a step
(tests/oracles.py).
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assay.known import METHOD_OF, SLOTS
from assay.part import Part

FOLDER = Path(__file__).parent / "methods"
SAID = sorted(path for name in ("parts", "oracle", "learning") for path in FOLDER.glob(f"*/*/{name}.py"))


@cache
def _all() -> tuple[dict[str, Any], ...]:
    return tuple(runpy.run_path(str(path)) for path in SAID)


def said(table: str) -> dict[str, Any]:
    """Of all methods, what one table says: by `slot:name`, or by recipe."""
    return {place: value for one in _all() for place, value in dict(one.get(table, {})).items()}


def folder_of(recipe: str) -> Path:
    """Where the tests of its method stand."""
    return FOLDER / METHOD_OF[recipe].removeprefix("assay.methods.").replace(".", "/")


def busy() -> set[str]:
    return {place for one in _all() for place in one.get("BUSY", ())}


def make(place: str, **values: Any) -> Any:
    """The part `slot:name` with these values, the others being its defaults."""
    slot, _, name = place.partition(":")
    return SLOTS[slot][name](**values)


def made(table: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Part]]:
    """Each part of a table with its slot."""
    return [(place.partition(":")[0], make(place, **values)) for place, values in table.items()]
