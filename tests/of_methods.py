"""What tests over all parts know of those of methods: each says it in `tests/methods/GROUP/NAME/parts.py`, as data.

    SMALL = {"ask:first-steps": {"width": 2, "depth": 2}}     values at which a part works in a run of a few rows
    ALONG = {"expand:search": ("ask:first-steps",)}           what a part has nothing to work on without
    IDLE = {"ask:probe": {"num": 0}}                    values at which it changes nothing, in groups of four
    BUSY = ("curate:no-training",)                          it has no such values: it is what the method is
    LAST = {"ask:first-steps": "why"}                       it is asked behind all other parts of its slot
    OWN_MODELS = {"forwards:critic": "which"}               the recipe must have models for it
    KEEPS = {"remember:harvest": "harvest"}                 its store, as checkpoints of earlier versions name it
    FEWER = {"curate:no-training": "why"}                   behind the choice of groups other groups train than these
    GOES_ON = {"expand:study": "why"}                       it needs solutions, and runs where posed problems have none
    LATE = {"credit:score": (2, "the words")}               so many parts make rewards that it may refuse in these words
    HELPED = {"ask:hinted": True}                           it changes questions, and whether that helps
    BARE = {"remember:examined": {}}                        values at which it keeps something of answers without a hint
    SMALLER = {"rlad": "why"}                               not every group has as many answers as a group has
    CHOOSES = {"dapo": "groups"}                            it leaves out such groups of four, or rows of groups
    FOUR = {"psr": [1.0, None, 0.0, 0.0]}                   rewards of four answers of which the first trains
    ROUNDS = {"cure": {"group_size": 8}}                    later rounds of a step go on from answers of the first
    ANEW = {"guide": "why"}                                 later rounds do not
    FREE = {"role": "what it names"}                        a field whose text is a name of something, not one of a list
    OF_ITS_OWN = {"reward:score": "what it reads"}          it reads of other episodes no judgement that a role wrote
    JUDGED = {"reward:x": ("answers", "judge", "2")}        such pairs are compared, by this role; the worst text
    ENDPOINTS = {"reward:judge-single": {}}                 it asks a judge behind an endpoint, with these values
    COLUMNS = {"rules": ["It is a tree."]}                  of a row of data that such a reward reads
    FINE = {"gspo": "why"}                                  which tokens have a gradient is decided by rounding

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
